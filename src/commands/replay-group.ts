/** Replays a group of pipelines for a command: shows the progress, compares, and changes over. */
import {
  assertNoneSince,
  type ContradictedRoots,
  contradictedRoots,
  publishCorrected,
  RootPublishedError,
} from "../audit/reconcile/replayed-roots.ts";
import { recordAct } from "../audit/sequence/acts.ts";
import type { DeploymentKey } from "../audit/sequence/deployment-key.ts";
import {
  type CorrectedBy,
  correctRoots,
  type WrongRoot,
} from "../audit/sequence/root-corrections.ts";
import { blockersInWords } from "../database/brief-locks.ts";
import type { Sql } from "../database/connect.ts";
import { REPLAY_SCHEMA } from "../database/work-schemas.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import { factSource } from "../log/log.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import { type Comparison, type ReplayProgress, replay } from "../pipelines/replay/replay.ts";
import {
  dropTables,
  groupOf,
  leftOnFormer,
  type ReplayPlace,
  tableNames,
} from "../pipelines/replay/tables.ts";
import { duration } from "../values/seconds.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { OpenDatabase } from "./open-database.ts";
import { printMessages } from "./output.ts";
import { progressTerminal, redrawnLine } from "./progress-line.ts";

type Named = readonly Pick<Pipeline, "name">[];

/** Names of pipelines that are replayed and exchanged together. */
export const namesOf = (pipelines: Named): string => pipelines.map(({ name }) => name).join(", ");

/** Groups that hold these pipelines; all of them if none is named. */
export const groupsWith = (names: readonly string[]): readonly (readonly Pipeline[])[] => {
  const chosen = ledgerPipelines.filter(({ name }) => names.length === 0 || names.includes(name));
  return [
    ...new Map(chosen.map((one) => groupOf(one)).map((group) => [namesOf(group), group])).values(),
  ];
};

/**
 * The replayed rows contradict roots that were published, which stay public for ever. The served rows stay. Stop: the
 * message lists the roots; if the replayed rows are right, `--accept` with `--by` and `--why` corrects them.
 */
export class PublishedRootsError extends Error {
  override readonly name = "PublishedRootsError";
  readonly remedy: Remedy = "stop";

  constructor(pipelines: readonly Pipeline[], { lines, others }: ContradictedRoots) {
    const hint =
      others > 0
        ? `${others} of them cannot be corrected: their checkpoint, their decimals or the treasury's supply differ, too`
        : "if the replayed rows are right, give --accept with --by and --why, which are published with the correction";
    super(
      `${namesOf(pipelines)}: the replayed rows contradict published roots, so the former rows stay: ${lines.join("; ")}. ${hint}`,
    );
  }
}

/** Another command replays these pipelines. Nothing was changed. Stop: wait for its end. */
export class ReplayBusyError extends Error {
  override readonly name = "ReplayBusyError";
  readonly remedy: Remedy = "stop";

  constructor(pipelines: Named) {
    super(`another command is replaying ${namesOf(pipelines)}; give this one again afterwards`);
  }
}

/** @throws ReplayBusyError (stop) */
export const lockReplay = (
  { write, signal }: Pick<OpenDatabase, "write" | "signal">,
  pipelines: Named,
): Promise<AsyncDisposable> => {
  const busy = new AbortController();
  return acquireWriterLock(write, `replay ${namesOf(pipelines)}`, {
    signal: AbortSignal.any([signal, busy.signal]),
    onStandby: () => busy.abort(new ReplayBusyError(pipelines)),
  });
};

/** Who corrects published roots, why, and the deployment's key. */
export type Correcting = CorrectedBy & { readonly key: DeploymentKey };

type GroupReplay = {
  readonly pipelines: readonly Pipeline[];
  readonly share: number;
  /** Command and arguments for the act that an exchange records. */
  readonly act: { readonly command: string; readonly [detail: string]: string | boolean };
  /** Whether to exchange the tables: never, where the rows are identical, or where no published root changes. */
  readonly swap: "no" | "identical" | "accepted";
  /** Corrects published roots that change; they are refused otherwise. */
  readonly correct?: Correcting | undefined;
  /** `BEFORE_SCHEMA`: returns to the former rows, without a comparison. */
  readonly place?: ReplayPlace;
  /** Starts from empty tables instead of resuming. */
  readonly fromEmpty?: boolean;
  readonly onCompared?: (comparison: Comparison) => void;
};

/**
 * @returns whether the replayed rows are served now
 * @throws PublishedRootsError (stop)
 */
export const replayGroup = async (
  opened: OpenDatabase,
  {
    pipelines,
    share,
    act,
    swap,
    place = REPLAY_SCHEMA,
    fromEmpty,
    onCompared,
    correct,
  }: GroupReplay,
): Promise<boolean> => {
  const { write, signal, config } = opened;
  await using _lock = await lockReplay(opened, pipelines);
  if (fromEmpty) await dropTables(write.sql, REPLAY_SCHEMA, tableNames(pipelines));
  const line = redrawnLine(progressTerminal(config));
  const onProgress = progressOf(line.draw);
  await using replayed = await replay({
    ...{ pipelines, database: write, log: factSource(write) },
    ...{ share, place, signal, onProgress },
    onBlocked: (blockers) => printMessages(blockersInWords(blockers)),
  });
  line.clear();
  let isIdentical = false;
  if (place === REPLAY_SCHEMA) {
    const compared = await replayed.compare();
    onCompared?.(compared);
    isIdentical = compared.differences.length === 0;
  }
  if (swap === "no" || (swap === "identical" && !isIdentical)) {
    // The next replay may be another version's: it starts from empty tables.
    await dropTables(write.sql, REPLAY_SCHEMA, tableNames(pipelines));
    return false;
  }
  await using session = await write.session();
  const exchange = async (): Promise<readonly WrongRoot[]> => {
    const found =
      isIdentical && correct === undefined
        ? undefined
        : await contradictedRoots(write, { pipelines, place, signal, all: isIdentical });
    if (found !== undefined) {
      const isRefused = found.others > 0 || (found.wrong.length > 0 && correct === undefined);
      if (isRefused) throw new PublishedRootsError(pipelines, found);
    }
    const wrong = found?.wrong ?? [];
    const { command, ...details } = act;
    await replayed.swap(session, async ({ sql }) => {
      if (found !== undefined) await assertNoneSince(sql, found);
      if (correct !== undefined) await correctIn(sql, command, correct, wrong);
      await recordAct(sql, { command, details, on: "deployment" });
    });
    return wrong;
  };
  const corrected = await unlessPublished(exchange);
  if (correct !== undefined) await publishCorrected(write, correct.key, corrected, signal);
  const left = await leftOnFormer(write.sql, pipelines);
  if (left.length > 0) {
    printMessages(
      `${left.join("; ")}: made on the former tables, which they go on with; make them again on the served ones (\`replay drop\` needs them gone)`,
    );
  }
  return true;
};

/** Attempts while a running service publishes roots: after each UTC day one of each token, one by one. */
const ATTEMPTS = 10;

/** Compares the roots again where one was published meanwhile. @throws RootPublishedError (retry) */
const unlessPublished = async <T>(exchange: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await exchange();
    } catch (error) {
      if (!(error instanceof RootPublishedError) || attempt === ATTEMPTS) throw error;
    }
  }
};

/** Appends the corrections, and records each as an act on its token, so that its packs have it. */
const correctIn = async (
  sql: Sql,
  command: string,
  { key, ...who }: Correcting,
  wrong: readonly WrongRoot[],
): Promise<void> => {
  for (const { number, body } of await correctRoots(sql, key, wrong, who)) {
    const checkpoints = [...new Set(body.roots.map(({ checkpoint }) => checkpoint))].join(", ");
    const { by, why } = body;
    const details = { correction: number, checkpoints, by, why };
    await recordAct(sql, { command, details, on: { coinType: body.coinType } });
  }
};

/** Draws checkpoint, rate and time left. */
export const progressOf = (draw: (text: string) => void, doing = "replaying") => {
  const begun = new Map<string, { readonly next: bigint; readonly atMs: number }>();
  return ({ pipeline, next, of }: ReplayProgress): void => {
    const first = begun.get(pipeline) ?? { next, atMs: performance.now() };
    begun.set(pipeline, first);
    const seconds = (performance.now() - first.atMs) / 1_000;
    const rate = seconds > 0 ? Number(next - first.next) / seconds : 0;
    const left = rate > 0 ? duration(Number(of - next) / rate) : "unknown";
    draw(
      `${doing} ${pipeline}: checkpoint ${next - 1n} of ${of - 1n} · ${Math.round(rate).toLocaleString("en")}/s · time left ${left}`,
    );
  };
};
