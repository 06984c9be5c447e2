/** `holderbook replay --from source`: reads the ledger again, replays the log, and signs a record of what was found. */
import { join } from "node:path";
import { type Act, signedAct } from "../audit/sequence/acts.ts";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import { isGone } from "../audit/verify/source-check.ts";
import { keptReading } from "../audit/verify/source-progress.ts";
import { sourceReading } from "../audit/verify/source-reading.ts";
import { recordOf, resultOf, type SourceReplay } from "../audit/verify/source-record.ts";
import { sourceSignatures } from "../audit/verify/source-signatures.ts";
import { REPLAY_SCHEMA } from "../database/work-schemas.ts";
import { loadBls } from "../ledger/proof/bls.ts";
import type { Committee } from "../ledger/proof/committee.ts";
import { CommitteeError } from "../ledger/proof/proof-errors.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { guidedRanges, partsOf } from "../log/guided.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import { LOG_READ, noteReplay } from "../pipelines/replay/progress.ts";
import type { Comparison } from "../pipelines/replay/replay.ts";
import { dropTables, tableNames } from "../pipelines/replay/tables.ts";
import { NotYetIndexedError, STILL_FILLING } from "../projections/past.ts";
import { readWatermarks } from "../projections/read-watermarks.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { verificationOf } from "../service/ledger-source.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import { makeDataDir } from "../settings/data-dir.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { endCheck, notShown, printJson, printLines, printMessages } from "./output.ts";
import { progressTerminal, redrawnLine } from "./progress-line.ts";
import { lockReplay, progressOf, replayGroup } from "./replay-group.ts";
import { openNamedSource, retried } from "./sources.ts";
import { UsageError } from "./usage.ts";

type FromSource = {
  readonly groups: readonly (readonly Pipeline[])[];
  readonly share: number;
  /** Last checkpoint to read; undefined: as far as the compared rows go. */
  readonly to: bigint | undefined;
  readonly retryFor: number;
  /** Undefined: one JSON document is printed. */
  readonly rowsInWords: ((comparison: Comparison) => readonly string[]) | undefined;
};

const LOG_EVERY_MS = 10_000;

export const replayFromSource = async (options: FromSource): Promise<void> => {
  const { groups, to, retryFor, rowsInWords } = options;
  await using opened = await openDatabase({ by: "owner" });
  const { write, signal, config, logger } = opened;
  // Before hours of reading.
  const key = await configuredKey(config, { existing: true }).open(opened);
  await using _lock = await lockReplay(opened, [LOG_READ]);
  const watermarks = await readWatermarks(write.db, groups.flat());
  if (watermarks.pipelines.some(({ filledThrough }) => filledThrough !== null)) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
  const { first, next, chainId } = await logRange(write.sql);
  const last = to ?? next - 1n;
  if (last < first || last >= next) {
    const range = next > first ? `has checkpoints ${first} to ${next - 1n}` : "is empty";
    throw new UsageError(
      `${to === undefined ? "nothing to read" : `--to ${to}`}: the log ${range}`,
    );
  }
  await using closing = new AsyncDisposableStack();
  const open = async () => {
    const { source: asked, demo } = await openNamedSource(config, undefined, logger);
    const source = retried(asked, logger, { forMs: retryFor, isFinal: isGone });
    closing.defer(() => source.close());
    return { source, demo };
  };
  const { source, demo } = await open();
  const terminal = progressTerminal(config);
  const line = redrawnLine(terminal);
  const own = await source.chainId(signal);
  if (own !== null && own !== chainId) {
    throw new UsageError(
      `${source.description} is of chain ${own}, but the log is of chain ${chainId}: name a LEDGER_SOURCE of the log's chain`,
    );
  }
  const signatures = await signaturesOf(config, source, demo?.source.committee);
  const file = keptFile(config, key.keyId);
  const kept = await keptReading(
    file,
    key,
    {
      ...{ chain: `${chainId}`, first: `${first}`, source: source.description },
      verify: JSON.stringify(config.verify),
    },
    last,
  );
  const { began, resumed } = kept;
  if (resumed !== null) {
    printMessages(
      `reading on after checkpoint ${resumed.found.last}, to which a reading of ${began.toISOString()} came; remove ${file} to begin again`,
    );
  }
  const from = resumed?.found.last ?? first - 1n;
  await using notes = await noteReplay(
    write,
    "source",
    new Map([[LOG_READ, { next: from + 1n, of: last + 1n }]]),
  );
  const shown = progressOf(line.draw, "reading");
  let loggedMs = performance.now();
  const reading = sourceReading({
    ...{ sql: write.sql, signatures, first, resumed, signal, keep: kept.keep },
    onProgress: (next, of) => {
      notes.reached(LOG_READ, { next, of });
      shown({ pipeline: source.description, next, of });
      if (terminal !== undefined || performance.now() - loggedMs < LOG_EVERY_MS) return;
      loggedMs = performance.now();
      logger.info({ next: `${next}`, of: `${of}` }, "reading the ledger again");
    },
  });
  await reading.readTo(last, source);
  line.clear();

  // Rows that a wrong log gives show nothing about the served ones.
  const isRight = reading.found.faults.length === 0;
  const comparisons = isRight ? await comparedRows(opened, options) : [];
  if (to === undefined) {
    // Opened again, a demo knows the transactions that a running one took meanwhile.
    const newest = demo === undefined ? source : (await open()).source;
    await reading.readTo(lastOf(comparisons), newest);
  }
  await notes.enter("compared");
  line.clear();

  const { found } = reading;
  const isVerified = signatures !== null;
  const sources = config.ledgerSources;
  const ranges = await guidedRanges(write);
  const guided = [...partsOf(found, ranges)].filter((part) => part.guided);
  const details = recordOf({ chainId, sources, began, isVerified, found, guided, comparisons });
  const record = await signedAct(write, key, { command: "replay", details, on: "deployment" });
  await kept.end();
  if (rowsInWords === undefined) printJson({ record, log: found, rows: comparisons });
  else printLines([...inWords({ found, comparisons }, source), ...recordInWords(record, key)]);
  const result = resultOf({ found, comparisons });
  endCheck({ isFalse: result === "different", isUnshown: result === "incomplete" });
};

/** Without a folder to write to, a killed reading begins again. */
const keptFile = ({ dataDir }: Config, keyId: string): string | undefined => {
  try {
    makeDataDir(dataDir);
    return join(dataDir, `replay-from-source-${keyId}.json`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printMessages(`${error.message}; without it a killed reading begins again`);
    return undefined;
  }
};

const comparedRows = async (
  opened: OpenDatabase,
  { groups, share, rowsInWords }: FromSource,
): Promise<readonly Comparison[]> => {
  const comparisons: Comparison[] = [];
  for (const pipelines of groups) {
    // What an earlier replay left may not be from this log.
    await dropTables(opened.write.sql, REPLAY_SCHEMA, tableNames(pipelines));
    const onCompared = (compared: Comparison) => {
      comparisons.push(compared);
      if (rowsInWords !== undefined) printLines(rowsInWords(compared));
    };
    const act = { command: "replay" };
    await replayGroup(opened, { pipelines, share, act, swap: "no", onCompared });
  }
  return comparisons;
};

/** @throws CommitteeError (stop) when signatures are asked for, but nothing is trusted */
const signaturesOf = async (config: Config, source: CheckpointSource, own?: Committee) => {
  const { level, trust } = verificationOf(config, own);
  if (level !== "signatures") return null;
  const trusted = await trust?.();
  if (trusted) return sourceSignatures(source, await loadBls(), trusted);
  throw new CommitteeError(
    "VERIFY=signatures needs to know whom to trust: set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
  );
};

/** Last checkpoint of the compared rows; -1 without any. */
const lastOf = (comparisons: readonly Comparison[]): bigint =>
  comparisons
    .flatMap(({ checkpoints }) => Object.values(checkpoints))
    .reduce<bigint>((last, end) => (end !== null && end > last ? end : last), -1n);

const inWords = (
  { found, comparisons }: Pick<SourceReplay, "found" | "comparisons">,
  { description }: Pick<CheckpointSource, "description">,
): readonly string[] => {
  const { first, last, checkpoints, facts, signatures, faults, gaps } = found;
  return [
    `read again from ${description}: ${checkpoints} of checkpoints ${first} to ${last}, ${facts} facts, ${signatures} signatures of the validators verified`,
    ...faults.flatMap(({ checkpoint, what, facts: wrong }) => [
      `checkpoint ${checkpoint}: ${what}`,
      ...wrong.map((each) => `  ${each}`),
    ]),
    ...(comparisons.length > 0
      ? []
      : [notShown("the rows: they were not compared, because the log is wrong")]),
    ...gaps.map(({ from, to, why }) => notShown(`checkpoints ${from} to ${to} (${why})`)),
  ];
};

const recordInWords = (
  { number, details, entry }: Act & { readonly entry: string | null },
  { keyId }: { readonly keyId: string },
): readonly string[] => [
  `${details.result}: recorded as act ${number}, entry ${entry} of the sequence, signed by ${keyId}`,
];
