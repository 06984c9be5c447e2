/**
 * `/health`: whether what is served keeps up with the chain, and who does not.
 *
 * `ok`: everything is at the chain's end. `catching_up`: it is not, or this process cannot tell, and
 * things move: a backfill, never a reason for an alarm. `stalled`: a part has work and does not do
 * it, or its source has not answered for a minute, with the reason beside its name.
 */
import type { Mark } from "../../projections/read-watermarks.ts";
import { shareLooks } from "../shared-look.ts";
import type { Progress, ReaderProgress } from "./progress.ts";
import { isHeard, judgeSource, type SourceHealth, sourceHealth } from "./source-health.ts";
import {
  createStallWatch,
  type Judgement,
  STALL_AFTER_MS,
  type StallWatch,
  type State,
} from "./stall-watch.ts";

/** The last checkpoint that a part dealt with; all null before the first. */
type Standing = {
  /** Last committed checkpoint, decimal. */
  readonly checkpoint: string | null;
  /** Its time, unix seconds, decimal, as in GraphQL. */
  readonly checkpointTimestamp: string | null;
  readonly ageSeconds: number | null;
  /** Checkpoints of work, decimal; null while unknown. */
  readonly lagCheckpoints: string | null;
};

export type PipelineHealth = Standing & {
  readonly pipeline: string;
  /** Last checkpoint up to which tables that an upgrade added are filled in; absent when none is being. */
  readonly historyFilledThrough?: string;
  readonly state: State;
  readonly reason?: string;
};

export type ReaderHealth = Standing & {
  /** Newest checkpoint of the chain; null when this process does not ask the chain. */
  readonly tip: string | null;
  /** `unknown`: nothing was read for a minute, and this process does not know whether the chain has more. */
  readonly state: State | "unknown";
  readonly reason?: string;
  /** What the reader said last of its source, in whatever process it runs; absent before any has. */
  readonly source?: SourceHealth;
};

export type HealthReport = {
  readonly status: State;
  readonly version: string;
  readonly pipelines: readonly PipelineHealth[];
  readonly reader: ReaderHealth;
  /** What other rooms say of themselves, such as `evm` and `callbacks`; absent without any. */
  readonly details?: Readonly<Record<string, unknown>>;
};

/** What another room adds to the report; its state counts like that of a pipeline. */
export type HealthDetail = {
  readonly state: State;
  readonly members: Readonly<Record<string, unknown>>;
};

/** What several rooms add, as one; no two of them name the same member. */
export const detailsOf =
  (...rooms: readonly ((nowMs: number) => Promise<HealthDetail>)[]) =>
  async (nowMs: number): Promise<HealthDetail> => {
    const details = await Promise.all(rooms.map((room) => room(nowMs)));
    return {
      state: worst(details.map(({ state }) => state)),
      members: Object.assign({}, ...details.map(({ members }) => members)),
    };
  };

export type Health = AsyncDisposable & {
  /** The state now; never older than a second. Throws what reading the progress throws. */
  report(): Promise<HealthReport>;
};

export type HealthSettings = {
  readonly progress: () => Promise<Progress>;
  readonly version: string;
  /** Told when an observation in the background fails, such as while the database is away. */
  readonly onError: (error: unknown) => void;
  readonly stallAfterMs?: number;
  /** Milliseconds since the Unix epoch; the ages are against this clock. */
  readonly now?: () => number;
  /** What other rooms say of themselves, asked together with the progress. */
  readonly details?: (nowMs: number) => Promise<HealthDetail>;
  /** A stall is also noticed between requests; 0: only at a request. */
  readonly observeEveryMs?: number;
};

/** Watches progress from now on. */
export const watchHealth = (settings: HealthSettings): Health => {
  const { progress, version, onError, stallAfterMs = STALL_AFTER_MS } = settings;
  const now = settings.now ?? Date.now;
  const watch = createStallWatch(stallAfterMs);

  const look = async (): Promise<HealthReport> => {
    const atMs = now();
    const [seen, more] = await Promise.all([progress(), settings.details?.(atMs)]);
    const judged = judge(seen, watch, atMs, stallAfterMs);
    if (more === undefined) return { version, ...judged };
    return {
      version,
      ...judged,
      status: worst([judged.status, more.state]),
      details: more.members,
    };
  };

  // Probes ask often, each from its own place.
  const report = shareLooks(look, now);

  const every = settings.observeEveryMs ?? 5_000;
  const timer = every > 0 ? setInterval(() => report().catch(onError), every) : undefined;
  timer?.unref();
  return {
    report,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await report.settled();
    },
  };
};

/** Judges one look at everything. `watch` remembers what it saw before. */
const judge = (
  { pipelines, reader }: Progress,
  watch: StallWatch,
  nowMs: number,
  stallAfterMs: number = STALL_AFTER_MS,
): Omit<HealthReport, "version" | "details"> => {
  const judged = pipelines.map((pipeline) => ({
    pipeline: pipeline.pipeline,
    ...standing(pipeline, pipeline.goal, nowMs),
    ...(pipeline.filledThrough != null && {
      historyFilledThrough: pipeline.filledThrough.toString(),
    }),
    ...watch.judge({ ...pipeline, name: pipeline.pipeline }, nowMs),
  }));
  const read = judgeReader(reader, watch, nowMs, stallAfterMs);
  return {
    status: worst([read.state, ...judged.map(({ state }) => state)]),
    pipelines: judged,
    reader: {
      ...standing(reader, goalOf(reader), nowMs),
      tip: reader.tip?.toString() ?? null,
      ...(reader.source && { source: sourceHealth(reader.source, stallAfterMs) }),
      ...read,
    },
  };
};

/** Not a pipeline's name, so that the two never share a memory. */
const READER = "reader ";

const judgeReader = (
  reader: ReaderProgress,
  watch: StallWatch,
  nowMs: number,
  stallAfterMs: number,
): Judgement | { readonly state: "unknown"; readonly reason: string } => {
  const goal = goalOf(reader);
  const judgement = watch.judge({ ...reader, name: READER, goal }, nowMs);
  const unheard = judgeSource(reader, stallAfterMs);
  if (unheard !== null) return unheard;
  if (goal !== null) return judgement;
  // This process does not ask the chain. A fresh checkpoint says that the reader elsewhere is at its end.
  const ageMs = reader.mark === null ? Infinity : nowMs - Number(reader.mark.timestampMs);
  if (ageMs < stallAfterMs) return { state: "ok" };
  if (watch.quietMs(READER, nowMs) < stallAfterMs) return { state: "catching_up" };
  const said = reader.source;
  const why =
    said && !isHeard(said, stallAfterMs)
      ? `no process has read the ledger for ${Math.floor(said.saidAgoMs / 1000)} s`
      : "this process does not ask the chain whether there is more";
  return {
    state: "unknown",
    reason: `nothing was read for ${Math.floor(stallAfterMs / 1000)} s; ${why}`,
  };
};

/** The state of several together. */
export const worst = (states: readonly (State | "unknown")[]): State => {
  if (states.includes("stalled")) return "stalled";
  // Old data that might be all there is: no alarm, and no all-clear either.
  return states.some((state) => state !== "ok") ? "catching_up" : "ok";
};

/** The reader has read everything when it expects the checkpoint after the chain's newest. */
const goalOf = ({ tip }: ReaderProgress): bigint | null => (tip === null ? null : tip + 1n);

const standing = (
  { next, mark }: { readonly next: bigint | null; readonly mark: Mark | null },
  goal: bigint | null,
  nowMs: number,
): Standing => ({
  checkpoint: mark?.checkpoint.toString() ?? null,
  checkpointTimestamp: mark === null ? null : unixSeconds(mark.timestampMs).toString(),
  ageSeconds: mark === null ? null : ageSeconds(mark.timestampMs, nowMs),
  lagCheckpoints:
    next === null || goal === null ? null : (goal > next ? goal - next : 0n).toString(),
});

/** Milliseconds to whole unix seconds, rounded down. */
export const unixSeconds = (timestampMs: bigint): bigint => timestampMs / 1000n;

/** Whole seconds from a checkpoint's time to now; never below 0, though clocks differ. */
export const ageSeconds = (timestampMs: bigint, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - Number(timestampMs)) / 1000));
