/** `holderbook verify --log`: checks the log against its digests, and against the ledger. */

import type { LogHead } from "../audit/sequence/log-heads.ts";
import { checkKept, type KeptChecked } from "../audit/verify/kept-check.ts";
import { type Kept, readKept } from "../audit/verify/kept-files.ts";
import { checkSignatures, type KeptSigned } from "../audit/verify/kept-signatures.ts";
import { checkAgainstSource, isGone, type SourceChecked } from "../audit/verify/source-check.ts";
import type { SourceFault } from "../audit/verify/source-compare.ts";
import { MOST_FAULTS, type VerifiedLog, verifyLog } from "../audit/verify/verify-log.ts";
import type { Database } from "../database/connect.ts";
import { readerAt } from "../ledger/reading/read.ts";
import { isOfSource } from "../ledger/reading/source-trouble.ts";
import type { MendOptions } from "./mend-log.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, notShown, onFaith, printJson, printLines } from "./output.ts";
import type { Runtime } from "./runtime.ts";
import { askedOf, openNamedSource, retried } from "./sources.ts";
import { UsageError } from "./usage.ts";

/** After this long without an answer by the source, faults stay unexplained. */
const SOURCE_MS = 60_000;

type LogOptions = {
  /** Files of heads or entries that were kept elsewhere. */
  readonly head?: readonly string[];
  /** The deployment's public key, base64. */
  readonly key?: string;
  readonly source?: string;
  readonly from?: bigint;
  /** Who mends, and why; undefined: nothing is mended. */
  readonly mend?: Pick<MendOptions, "by" | "because">;
  readonly json?: boolean;
  readonly retryFor: number;
};

/** Findings in the database, and by the source. */
type Findings = {
  readonly report: VerifiedLog;
  readonly faults: readonly SourceFault[];
  /** Null unless the whole source was read. */
  readonly source: SourceChecked | null;
  readonly note: string | null;
  /** Whether everything requested could be checked. */
  readonly isShown: boolean;
};

export const verifyWholeLog = async (options: LogOptions): Promise<void> => {
  if (options.from !== undefined && options.source === undefined) {
    throw new UsageError("with --log, --from needs --source");
  }
  const kept: Kept[] = [];
  for (const path of options.head ?? []) kept.push(...(await readKept(path)));
  const { mend, source, retryFor } = options;
  await using opened = await openDatabase(mend ? { by: "owner" } : { readOnly: true });
  const { write, signal } = opened;
  const mending = mend && (await import("./mend-log.ts"));
  const mended = mend && (await mending?.mendWholeLog(opened, { ...mend, source, retryFor }));
  const found = mended?.found ?? (await verifyLog(write, await askedOf(opened), signal));
  const { sql } = write;
  const compared = await checkKept(sql, kept, signal);
  const signed = await checkSignatures(sql, kept, options.key);
  const about = keptInWords({ kept, compared, signed, head: found.head }, options.key);
  const report: VerifiedLog = {
    ...found,
    faults: [...compared.faults, ...signed.faults, ...found.faults],
  };
  if (options.from !== undefined && options.from > report.through) {
    throw new UsageError(`--from ${options.from}: the log ends with ${report.through}`);
  }
  const findings =
    source === undefined || mended !== undefined
      ? await namedFaults(opened, write, report)
      : await againstSource(opened, write, report, { ...options, source });
  if (options.json) {
    const made = mended && mending?.mendedAsJson(mended);
    printJson({ ...asJson(findings), kept: kept.length, ...about, ...made });
  } else {
    const { keptShown, keptFaith, keptNotShown } = about;
    printLines([
      ...(mended === undefined ? [] : (mending?.mendedInWords(mended) ?? [])),
      ...inWords(findings),
      ...keptShown,
      ...keptFaith.map(onFaith),
      ...keptNotShown.map(notShown),
    ]);
  }
  const isUnshown = !findings.isShown || about.keptNotShown.length > 0;
  endCheck({ isFalse: findings.faults.length > 0, isUnshown });
};

/** Reads every checkpoint of the log again. */
const againstSource = async (
  { config, logger, signal }: Runtime,
  database: Database,
  report: VerifiedLog,
  { source: setting, from, retryFor }: LogOptions,
): Promise<Findings> => {
  const { level } = config.verify;
  let reportedMs = performance.now();
  const faults = report.faults.map((fault): SourceFault => ({ ...fault, facts: NONE }));
  const notCompared = (error: Error): Findings => {
    const note = `not compared with the ledger: --source (${error.message})`;
    return { report, faults, source: null, note, isShown: false };
  };
  const asked = await openNamedSource(config, setting, logger).catch((error: Error) => error);
  // Findings in the database are reported anyway.
  if (asked instanceof Error) return notCompared(asked);
  const source = retried(asked.source, logger, { forMs: retryFor, isFinal: isGone });
  try {
    const [log] = await database.sql<{ chain_id: string | null }[]>`
      select chain_id from log_high_water`;
    const chainId = await source.chainId(signal);
    if (chainId !== null && log !== undefined && log.chain_id !== chainId) {
      const what = `log_high_water has chain ${log.chain_id}, but ${source.description} is of chain ${chainId}`;
      faults.unshift({ checkpoint: report.first, what, facts: NONE });
      return { report, faults, source: null, note: null, isShown: false };
    }
    signal.throwIfAborted();
    const checked = await checkAgainstSource(
      {
        sql: database.sql,
        source,
        readerOf: readerAt(level === "off" ? "links" : level),
        first: from ?? report.first,
        last: report.through,
        mostFaults: MOST_FAULTS,
        onProgress: (through, facts) => {
          if (performance.now() - reportedMs < REPORT_EVERY_MS) return;
          reportedMs = performance.now();
          logger.info(
            { checkpoint: `${through}`, of: `${report.through}`, facts },
            "comparing the log with its source",
          );
        },
      },
      signal,
    );
    const named = new Map(checked.faults.map((fault) => [fault.checkpoint, fault.facts]));
    const known = new Set(faults.map(({ checkpoint }) => checkpoint));
    const all = [
      ...faults.map((fault) => ({ ...fault, facts: named.get(fault.checkpoint) ?? NONE })),
      ...checked.faults.filter(({ checkpoint }) => !known.has(checkpoint)),
    ];
    const isShown = checked.ended && checked.gaps.length === 0 && report.notShown.length === 0;
    return { report, faults: all, source: checked, note: null, isShown };
  } catch (error) {
    if (!isOfSource(error)) throw error;
    return notCompared(error);
  } finally {
    await source.close();
  }
};

const NONE: readonly string[] = [];

/** Whether the source showed every checkpoint of the log, not only those from `--from` on. */
const isAllRead = ({ first, through }: VerifiedLog, source: SourceChecked | null): boolean =>
  source?.ended === true &&
  source.gaps.length === 0 &&
  BigInt(source.checkpoints) > through - first;

const REPORT_EVERY_MS = 10_000;

/** Reads the faulty checkpoints again, if there is a source, to name the facts. */
const namedFaults = async (
  { config, logger, signal }: Runtime,
  database: Database,
  report: VerifiedLog,
): Promise<Findings> => {
  const unnamed = report.faults.map((fault) => ({ ...fault, facts: NONE }));
  const isShown = report.notShown.length === 0;
  const none = { report, faults: unnamed, source: null, note: null, isShown };
  if (unnamed.length === 0) return none;
  try {
    const { source } = await openNamedSource(config, undefined, logger);
    const ending = AbortSignal.any([signal, AbortSignal.timeout(SOURCE_MS)]);
    try {
      const faults: SourceFault[] = [];
      for (const fault of unnamed) {
        const { checkpoint } = fault;
        const named = await checkAgainstSource(
          {
            sql: database.sql,
            source,
            readerOf: readerAt("links"),
            first: checkpoint,
            last: checkpoint,
            mostFaults: 1,
            onProgress: () => {},
          },
          ending,
        );
        ending.throwIfAborted();
        faults.push({ ...fault, facts: named.faults.flatMap(({ facts }) => facts) });
      }
      return { ...none, faults };
    } finally {
      await source.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      ...none,
      note: `the affected facts are not named, because the source could not be read: --source (${why})`,
    };
  }
};

const inWords = ({ report, faults, source, note }: Findings): readonly string[] => {
  const { through, facts, checkpoints, signatures, chainedThrough, head, since } = report;
  const found = faults.flatMap(({ checkpoint, what, facts: wrong }) => [
    `checkpoint ${checkpoint}: ${what}`,
    ...wrong.map((line) => `  ${line}`),
  ]);
  const signed =
    head === null
      ? "no head is signed yet"
      : `head of checkpoint ${head.checkpoint} signed ${head.signedAt} by ${head.keyId}`;
  const chained =
    chainedThrough === null ? "nothing to chain" : `chained through checkpoint ${chainedThrough}`;
  const whole = [
    `${report.notShown.length > 0 ? "nothing false was found in the log" : "the log is intact"} through checkpoint ${through}: ${facts} facts, ${chained}, ${signed}`,
    `times and digests of ${checkpoints} checkpoints fit their chain; ${signatures} signatures of the validators verified`,
    ...(head === null ? [] : [`hash ${head.hash}`, `key ${head.publicKey}`]),
  ];
  const mendable = new Set(
    report.faults.flatMap((fault) => (fault.mendable === undefined ? [] : [fault.checkpoint])),
  ).size;
  return [
    ...(found.length === 0 ? whole : found),
    ...(mendable === 0
      ? []
      : [
          `--mend replaces the damaged rows of ${mendable} checkpoint${mendable === 1 ? "" : "s"} by those of the ledger`,
        ]),
    ...report.notShown.map(notShown),
    ...(source === null ? [] : sourceInWords(source, report.first)),
    ...(source === null
      ? []
      : [onFaith(`what ${source.description} says (verify --from --to proves its bytes)`)]),
    ...(isAllRead(report, source)
      ? []
      : report.faith.map((what) => onFaith(`${what} (--source shows it)`))),
    ...report.beyond.map(onFaith),
    ...(since < 0n
      ? []
      : [
          onFaith(
            `that the log was correctly read again, as entry ${since} of the sequence says: earlier entries about it were not compared (GET /sequence has the reason)`,
          ),
        ]),
    ...(note === null ? [] : [note]),
  ];
};

const sourceInWords = (checked: SourceChecked, first: bigint): readonly string[] => {
  const { description, checkpoints, facts, from, through, gaps, ended } = checked;
  return [
    `compared with ${description}: ${checkpoints} checkpoints, ${facts} facts`,
    ...(from <= first ? [] : [`not compared this time: checkpoints ${first} to ${from - 1n}`]),
    ...gaps.map(({ from, to, why }) => notShown(`checkpoints ${from} to ${to} (${why})`)),
    ...(ended ? [] : [`compared through checkpoint ${through}: --from ${through + 1n} continues`]),
  ];
};

const asJson = ({ report, faults, source, note }: Findings) => {
  const { through, facts, checkpoints, signatures, chainedThrough, head } = report;
  return {
    holds: faults.length === 0,
    ...{ through, facts, checkpoints, signatures, chainedThrough, head, faults },
    notShown: report.notShown,
    faith: [...report.faith, ...report.beyond],
    entriesSince: report.since < 0n ? null : report.since,
    // Listed above, among all.
    source: source && { ...source, faults: undefined },
    ...(note !== null && { note }),
  };
};

type KeptWords = {
  readonly keptShown: readonly string[];
  readonly keptFaith: readonly string[];
  /** Requested, but could not be shown. */
  readonly keptNotShown: readonly string[];
};

/** Most lines, of one per entry. */
const MAX_LINES = 100;

/** @param key the given one, whose signatures were requested */
const keptInWords = (
  found: {
    readonly kept: readonly Kept[];
    readonly compared: KeptChecked;
    readonly signed: KeptSigned;
    readonly head: LogHead | null;
  },
  key: string | undefined,
): KeptWords => {
  const { kept, compared, signed, head } = found;
  const { earlier } = compared;
  const faults = compared.faults.length + signed.faults.length;
  const open = [...signed.open].map(
    ([why, count]) => `who signed ${count} of the kept ones: ${why}`,
  );
  const keyIds = new Set(signed.named.keys());
  if (head !== null && !signed.trusted.has(head.keyId)) keyIds.add(head.keyId);
  const unvouched = [...keyIds].map((keyId) => {
    const count = signed.named.get(keyId) ?? 0;
    const of = count === 0 ? "" : `, which signed ${count} of the kept ones,`;
    return `that ${keyId}${of} is a key of the deployment, as deployment_keys says`;
  });
  const compares = kept.length - earlier.length;
  return {
    keptShown: [
      ...(compares > 0 && faults === 0 ? [`all ${compares} kept heads and entries match`] : []),
      ...(signed.given > 0
        ? [`${signed.given} of the kept ones are signed with the given key`]
        : []),
    ],
    keptFaith: [
      ...(kept.length === 0
        ? ["that the chains and heads were not recomputed (--head FILE shows it)"]
        : []),
      ...(key === undefined ? unvouched.map((what) => `${what} (--key shows it)`) : []),
      ...(key === undefined ? open : []),
    ],
    keptNotShown: [
      ...earlier.slice(0, MAX_LINES),
      ...(earlier.length > MAX_LINES ? [`${earlier.length - MAX_LINES} more about that log`] : []),
      ...(key === undefined
        ? []
        : [...unvouched, ...open, ...(unvouched.length > 0 ? signed.why : [])]),
    ],
  };
};
