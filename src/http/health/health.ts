/**
 * `/health`: whether the service keeps up with the chain.
 *
 * `ok`: everything is at the chain's end. `catching_up`: it is not, or this process cannot tell,
 * and there is progress; no reason for an alarm. `stalled`: a part has work and makes no progress,
 * or its source has not answered for a minute; the reason is given.
 *
 * Without the database the last report is repeated with its age, after ten seconds as `stalled`.
 */
import { ageSeconds, unixSeconds } from "../../values/seconds.ts";
import { awake, type Standstill } from "../../waiting/awake.ts";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { createProbe, type Probed } from "../../waiting/probe.ts";
import type {
  HeldCoinReading,
  Mark,
  Progress,
  ReaderProgress,
  SourceReading,
  Trouble,
} from "./progress.ts";
import type {
  HealthReport,
  Judgement,
  Note,
  PartProgress,
  QuarantinedCoins,
  ReaderHealth,
  SourceHealth,
  State,
} from "./report.ts";
import { createStallWatch, STALL_AFTER_MS, type StallWatch, shortened } from "./stall-watch.ts";

/** What another room adds to the report; its state counts like a pipeline's. */
export type HealthDetail = {
  readonly state: State;
  readonly members: Readonly<Record<string, unknown>>;
  readonly notes?: readonly Note[];
  /** Trouble of an unresponsive process, which explains all stalls. */
  readonly process?: Trouble | undefined;
};

/** Merges the details of several rooms; their members have distinct names. */
export const detailsOf =
  (...rooms: readonly ((nowMs: number) => Promise<HealthDetail>)[]) =>
  async (nowMs: number): Promise<HealthDetail> => {
    const details = await Promise.all(rooms.map((room) => room(nowMs)));
    return {
      state: worst(details.map(({ state }) => state)),
      members: Object.assign({}, ...details.map(({ members }) => members)),
      notes: details.flatMap(({ notes = [] }) => notes),
      process: details.find(({ process }) => process !== undefined)?.process,
    };
  };

export type Health = AsyncDisposable & {
  /**
   * The state, at most a second old, or within two seconds the last known with its age. Never
   * rejects.
   */
  report(): Promise<HealthReport>;
};

type HealthSettings = {
  readonly progress: () => Promise<Progress>;
  readonly version: string;
  /** Called when an observation fails, for example while the database is away. */
  readonly onError: (error: unknown) => void;
  readonly stallAfterMs?: number;
  /** Milliseconds since the Unix epoch; ages use this clock. */
  readonly now?: () => number;
  /** Details of other rooms, read together with the progress. */
  readonly details?: (nowMs: number) => Promise<HealthDetail>;
  /** Observes between requests, to notice stalls; 0: only at requests. */
  readonly observeEveryMs?: number;
  /** Longest wait for a look, milliseconds; replaced by tests. */
  readonly withinMs?: number | undefined;
};

/** Shorter trouble keeps the state, to avoid false alarms. */
export const GRACE_MS = 10_000;

/** The driver's own message may name hosts and users: only the log has it. */
export const NO_DATABASE = "the database does not answer";

export const watchHealth = (settings: HealthSettings): Health => {
  const { progress, version, onError, stallAfterMs = STALL_AFTER_MS } = settings;
  const now = settings.now ?? Date.now;
  const clock = settings.now === undefined ? awake() : { now, stoodStill: () => undefined };
  const watch = createStallWatch(stallAfterMs);

  const look = async (): Promise<Seen> => {
    const atMs = now();
    const [seen, more] = await Promise.all([progress(), settings.details?.(atMs)]);
    const silent = { ...seen, process: seen.process ?? more?.process };
    const { notes, ...judged } = judge(silent, watch, { atMs, runMs: clock.now(), stallAfterMs });
    const all = [...standstillNotes(clock.stoodStill(), atMs), ...notes, ...(more?.notes ?? [])];
    const report = {
      version,
      ...judged,
      ...(more && { status: worst([judged.status, more.state]) }),
      ...(all.length > 0 && { notes: all }),
      ...(more && { details: more.members }),
    };
    return { report, atMs };
  };

  const probe = createProbe(
    () =>
      look().catch((error: unknown) => {
        onError(error);
        throw error;
      }),
    clock.now,
    settings.withinMs,
  );
  const report = async () => reportOf(await probe(), version, { atMs: now(), runMs: clock.now() });

  const every = settings.observeEveryMs ?? 5_000;
  const timer = every > 0 ? setInterval(report, every) : undefined;
  timer?.unref();
  return {
    report,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await withinDeadline(probe.settled(), LAST_LOOK).catch(() => undefined);
    },
  };
};

/** Bounds the end of the process while the database is gone. */
const LAST_LOOK: Deadline = { ms: 2_000 };

type Seen = { readonly report: HealthReport; readonly atMs: number };

/** The last report, with its age while there is trouble. */
const reportOf = (
  { last, trouble }: Probed<Seen>,
  version: string,
  { atMs, runMs }: Pick<At, "atMs" | "runMs">,
): HealthReport => {
  if (last !== undefined && trouble === undefined) return last.value.report;
  const troubledMs = trouble === undefined ? 0 : runMs - trouble.sinceMs;
  const note = noteOf(NO_DATABASE, atMs - troubledMs);
  if (last === undefined) {
    return { status: "stalled", version, ...note, pipelines: [], reader: NOTHING_READ };
  }
  const { report } = last.value;
  const ageSeconds = Math.max(0, Math.floor((atMs - last.value.atMs) / 1_000));
  return troubledMs < GRACE_MS
    ? { ...report, ageSeconds, notes: [note, ...(report.notes ?? [])] }
    : { ...report, status: "stalled", ...note, ageSeconds };
};

const NOTHING_READ: ReaderHealth = {
  checkpoint: null,
  checkpointTimestamp: null,
  ageSeconds: null,
  lagCheckpoints: null,
  tip: null,
  state: "unknown",
};

/** @param watch remembers earlier looks */
const judge = (
  { process, ...parts }: Progress,
  watch: StallWatch,
  at: At,
): Pick<HealthReport, "status" | "pipelines" | "reader" | "incomplete"> & {
  readonly notes: readonly Note[];
} => {
  const pipelines = parts.pipelines.map((one) => blaming(one, process));
  const reader = blaming(parts.reader, process);
  const judged = pipelines.map((pipeline) => ({
    pipeline: pipeline.pipeline,
    ...partProgress(pipeline, pipeline.goal, at.atMs),
    ...(pipeline.filledThrough != null && {
      historyFilledThrough: pipeline.filledThrough.toString(),
    }),
    ...(pipeline.rebuildingTo != null && { rebuildingTo: pipeline.rebuildingTo.toString() }),
    ...(pipeline.rebuilding != null && { rebuilding: rebuildingOf(pipeline.rebuilding) }),
    ...(pipeline.pausedSince != null && { pausedSince: pipeline.pausedSince }),
    ...(pipeline.quarantined?.length && { quarantined: quarantinedOf(pipeline.quarantined) }),
    ...watch.judge(
      { ...pipeline, name: pipeline.pipeline, doing: restOf(pipeline, at.runMs) },
      at.runMs,
    ),
  }));
  const read = judgeReader(reader, watch, at);
  return {
    status: worst([read.state, ...judged.map(({ state }) => state)]),
    pipelines: judged,
    reader: {
      ...partProgress(reader, goalOf(reader), at.atMs),
      tip: reader.tip?.toString() ?? null,
      ...(reader.source && { source: sourceHealth(reader.source, at.stallAfterMs) }),
      ...(reader.guided && { guided: reader.guided }),
      ...(reader.backfill && { backfill: reader.backfill }),
      ...read,
    },
    ...(parts.incomplete?.length && { incomplete: quarantinedOf(parts.incomplete) }),
    notes: [
      ...parts.pipelines.flatMap(({ pipeline, trouble }, index) =>
        troubleNotes(pipeline, trouble, judged[index]?.state, at.atMs),
      ),
      ...troubleNotes("the reader", parts.reader.trouble, read.state, at.atMs),
    ],
  };
};

/** A pause is no stall: each look at a paused part counts as progress. */
export const restOf = (
  { pausedSince }: { readonly pausedSince?: string | null },
  runMs: number,
): string | undefined => (pausedSince == null ? undefined : `paused ${runMs}`);

const rebuildingOf = ({
  checkpoint,
  target,
  ...pace
}: NonNullable<Progress["pipelines"][number]["rebuilding"]>) => ({
  checkpoint: checkpoint.toString(),
  of: target.toString(),
  ...pace,
});

/** Held coins that the report lists of each pipeline, and incomplete ones. */
const MOST_LISTED = 10;

const quarantinedOf = (held: readonly HeldCoinReading[]): QuarantinedCoins => ({
  coins: held.length,
  first: held.slice(0, MOST_LISTED).map(({ coinType, from, reason, since }) => ({
    coinType,
    checkpoint: from.toString(),
    reason,
    since,
  })),
});

/** Blames the process, except for a part that gave up before. */
const blaming = <Part extends { readonly trouble?: Trouble | undefined }>(
  part: Part,
  process: Trouble | undefined,
): Part => (process === undefined || part.trouble?.gaveUp ? part : { ...part, trouble: process });

type At = {
  /** Milliseconds since the Unix epoch, or of the tests' clock. */
  readonly atMs: number;
  /** Milliseconds while this process ran. */
  readonly runMs: number;
  readonly stallAfterMs: number;
};

/** Notes trouble that is retried and no stall yet. */
const troubleNotes = (
  name: string,
  trouble: Trouble | undefined,
  state: State | "unknown" | undefined,
  nowMs: number,
): readonly Note[] =>
  trouble === undefined || trouble.gaveUp || state === "stalled"
    ? []
    : [noteOf(`${name}: ${shortened(trouble.reason)}`, trouble.sinceMs ?? nowMs)];

/** The space keeps it apart from pipelines' names. */
const READER = "reader ";

const judgeReader = (
  reader: ReaderProgress,
  watch: StallWatch,
  { atMs, runMs, stallAfterMs }: At,
): Judgement | { readonly state: "unknown"; readonly reason: string } => {
  const goal = goalOf(reader);
  // Neither appends anything for minutes, though it gets on.
  const { guided = null, backfill = null } = reader;
  const doing = JSON.stringify([guided, backfill?.readRanges]);
  const judgement = watch.judge({ ...reader, name: READER, goal, doing }, runMs);
  const sourceFault = judgeSource(reader, stallAfterMs);
  if (sourceFault !== null) return sourceFault;
  if (goal !== null) return judgement;
  // This process does not ask the chain: a fresh checkpoint shows that the reader elsewhere is at
  // its end.
  const ageMs = reader.mark === null ? Infinity : atMs - Number(reader.mark.timestampMs);
  if (ageMs < stallAfterMs) return { state: "ok" };
  if (watch.quietMs(READER, runMs) < stallAfterMs) return { state: "catching_up" };
  const note = reader.source;
  const why =
    note && !isHeard(note, stallAfterMs)
      ? `no process has read the ledger for ${Math.floor(note.noteAgeMs / 1000)} s`
      : "this process does not poll the chain";
  return {
    state: "unknown",
    reason: `nothing was read for ${Math.floor(stallAfterMs / 1000)} s; ${why}`,
  };
};

export const worst = (states: readonly (State | "unknown")[]): State => {
  if (states.includes("stalled")) return "stalled";
  // Unknown counts as catching up: no alarm, no all-clear.
  return states.some((state) => state !== "ok") ? "catching_up" : "ok";
};

/** The checkpoint after the chain's newest. */
const goalOf = ({ tip }: ReaderProgress): bigint | null => (tip === null ? null : tip + 1n);

const partProgress = (
  { next, mark }: { readonly next: bigint | null; readonly mark: Mark | null },
  goal: bigint | null,
  nowMs: number,
): PartProgress => ({
  checkpoint: mark?.checkpoint.toString() ?? null,
  checkpointTimestamp: mark === null ? null : unixSeconds(mark.timestampMs).toString(),
  ageSeconds: mark === null ? null : ageSeconds(mark.timestampMs, nowMs),
  lagCheckpoints:
    next === null || goal === null ? null : (goal > next ? goal - next : 0n).toString(),
});

/** Whether a reader runs, by its note; without one the source's state is unknown. */
const isHeard = ({ noteAgeMs }: SourceReading, stallAfterMs: number): boolean =>
  noteAgeMs < stallAfterMs;

/** Notes come every five seconds: an older one tells of its reader, not of the source. */
const LATE_NOTE_MS = 15_000;

/** Stalled for a reader that gave up, or a source that is wrong or silent for too long. */
const judgeSource = (
  { source, trouble }: ReaderProgress,
  stallAfterMs: number,
): Judgement | null => {
  if (source?.gaveUp) {
    return { state: "stalled", reason: `gave up: ${source.error ?? "see the reader's log"}` };
  }
  const note = source && isHeard(source, stallAfterMs) ? source : null;
  // Its knowledge of the chain's end is outdated; another process may still read.
  if (trouble?.gaveUp && !note?.reading) {
    return { state: "stalled", reason: `gave up: ${trouble.reason}` };
  }
  if (note === null) return null;
  // An answer would come with a newer note; a reader that is gone writes none.
  const silentMs = note.silentMs + Math.min(note.noteAgeMs, LATE_NOTE_MS);
  if (silentMs < stallAfterMs) {
    // The source's answers are unusable: nothing is read until a retry succeeds.
    return note.reading || note.error === null
      ? null
      : { state: "stalled", reason: `the source ${note.source}: ${note.error}` };
  }
  const silent =
    note.answeredAgoMs === null
      ? `has not answered once in ${seconds(silentMs)} s`
      : `has not answered for ${seconds(silentMs)} s`;
  const why = note.error === null ? "" : `: ${note.error}`;
  return { state: "stalled", reason: `the source ${note.source} ${silent}${why}` };
};

const sourceHealth = (note: SourceReading, stallAfterMs: number): SourceHealth => ({
  source: note.source,
  answerAgeSeconds: note.answeredAgoMs === null ? null : seconds(note.answeredAgoMs),
  silentSeconds: isHeard(note, stallAfterMs) ? seconds(note.silentMs) : null,
});

const seconds = (ms: number): number => Math.floor(ms / 1000);

export const noteOf = (reason: string, sinceMs: number): Note => ({
  reason,
  since: new Date(sinceMs).toISOString(),
});

/** How long a standstill is reported: probes ask again within a minute. */
const SHOWN_FOR_MS = 60_000;

/** This process was paused: trouble may only be late news. */
export const standstillNotes = (
  standstill: Standstill | undefined,
  nowMs: number,
): readonly Note[] => {
  if (standstill === undefined || nowMs - standstill.untilMs > SHOWN_FOR_MS) return [];
  const seconds = Math.round((standstill.untilMs - standstill.fromMs) / 1_000);
  return [
    noteOf(`this process (pid ${process.pid}) did not run for ${seconds} s`, standstill.fromMs),
  ];
};
