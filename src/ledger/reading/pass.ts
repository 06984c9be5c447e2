import { setImmediate as turn } from "node:timers/promises";
import type { Transactor } from "../../database/connect.ts";
import type { Feed } from "../../log/feed.ts";
import type { Log } from "../../log/log.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { type Figures, secondsSince } from "../../telemetry/figures.ts";
import { batchSampler } from "../../telemetry/sampling.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { batchTrace, type TraceIds, traced } from "../../telemetry/tracing.ts";
import { placeOf } from "../../values/place.ts";
import { pause } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { reporting, type SourceContact } from "../sources/source-contact.ts";
import { SourceError } from "../sources/source-errors.ts";
import {
  type BatchBounds,
  createGathering,
  type GatheredBatch,
  type Gathering,
} from "./gathering.ts";
import { type ProveBatch, REFETCH_PAUSE_MS } from "./proving.ts";
import type { CheckpointPlace, CheckpointReader, ReadCheckpoint, ReaderOf } from "./read.ts";

/** The source skipped or repeated a checkpoint; nothing was used. Retried. */
export class CheckpointOutOfOrderError extends SourceError {
  override readonly name = "CheckpointOutOfOrderError";

  constructor(source: string, expected: bigint, came: bigint) {
    super(`${source}: checkpoint ${came} came where ${expected} was due; this source is defective`);
  }
}

/** The source ended early. Retried. */
export class SourceEndedError extends SourceError {
  override readonly name = "SourceEndedError";

  constructor(source: string, expected: bigint) {
    super(`${source}: ended before checkpoint ${expected}`);
  }
}

/**
 * A checkpoint does not follow the previous one: the source mixes chains, or one of the two was
 * changed. Nothing was used. Retried; `OtherChainError` confirms it.
 */
export class CheckpointChainError extends SourceError {
  override readonly name = "CheckpointChainError";
  readonly sequence: bigint;
  /** Digest of the previous checkpoint: as named, and as in the log. */
  readonly claims: string | null;
  readonly due: string;

  constructor(
    source: string,
    { mark: { sequence }, previousDigest }: CheckpointPlace,
    due: string,
  ) {
    super(
      `${source}: checkpoint ${sequence} follows one of digest ${previousDigest ?? "none"}, but checkpoint ${sequence - 1n} has ${due}; the source or the log is of another chain, or damaged`,
    );
    this.sequence = sequence;
    this.claims = previousDigest;
    this.due = due;
  }
}

/** One run over the source, from the high-water mark to the end, an error or abort. */
type Pass = {
  readonly source: CheckpointSource;
  readonly contact: SourceContact;
  readonly read: ReaderOf;
  /** Packages at the start; more may join. */
  readonly packages: readonly string[];
  readonly log: Pick<Log, "append">;
  /** Session of the reader's lock. */
  readonly on: Transactor;
  readonly feed: Pick<Feed, "push"> | undefined;
  readonly first: bigint;
  /** Digest that the first checkpoint must name; null at the log's beginning. */
  readonly previousDigest: string | null;
  readonly last: bigint | undefined;
  readonly bounds: BatchBounds;
  /** How long a batch waits for an idle source, ms; 0 at the tip. */
  readonly lingerMs: () => number;
  /** Repeated fetches of an undecodable checkpoint. */
  readonly refetches: number;
  /** Verification level; from `links` on each checkpoint must name the previous digest. */
  readonly level: VerifyLevel;
  /** Proves batches; null without signature verification. */
  readonly prove: ProveBatch | null;
  readonly telemetry: Telemetry;
  readonly onAppended: (gathered: GatheredBatch) => void;
};

/** Longer decoding would block the event loop. */
export const LONGEST_STRETCH_MS = 5;

/**
 * Reads and appends concurrently, with at most two batches in memory. On an error, earlier
 * checkpoints are appended before it is thrown; on abort they are dropped.
 *
 * @throws errors of the source, decoding or the log
 */
export const runPass = async (pass: Pass, signal: AbortSignal): Promise<void> => {
  using own = followingAbort(signal);
  const gathering = createGathering(pass.bounds);
  const appending = append(pass, gathering, own.signal);
  // A source that waits at the tip would not notice.
  appending.catch(() => own.abort());
  const [appended, gathered] = await Promise.allSettled([
    appending,
    gather(pass, gathering, own.signal),
  ]);
  if (appended.status === "rejected") throw appended.reason;
  if (gathered.status === "rejected") throw gathered.reason;
};

const append = async (pass: Pass, gathering: Gathering, signal: AbortSignal): Promise<void> => {
  const isSampled = batchSampler();
  const { figures, tracing } = pass.telemetry;
  for (;;) {
    const gathered = await gathering.take(pass.lingerMs, signal);
    if (gathered === null) return;
    const { first, last, facts } = gathered.batch;
    const takenMs = performance.now();
    const trace = tracing.isOn && isSampled(last.timestampMs) ? batchTrace(last.digest) : undefined;
    const step = <Result>(name: string, work: () => Promise<Result>): Promise<Result> =>
      trace === undefined ? work() : traced(tracing, { trace, name }, work);

    const { prove } = pass;
    const proven =
      prove === null
        ? {}
        : await step("verify signatures", () => prove(gathered, pass.refetches, signal));
    if (signal.aborted) return;
    if (prove !== null)
      figures.observe("holderbook_verification_seconds", {}, secondsSince(takenMs));
    const provenMs = performance.now();
    await step("append facts", () =>
      pass.log.append({ ...gathered.batch, ...proven }, gathered.coins, pass.on),
    );
    countAppended(pass, gathered, secondsSince(provenMs));
    if (trace !== undefined) tellBatch(pass, gathered, trace);
    pass.feed?.push({ first, last, facts });
    pass.onAppended(gathered);
  }
};

export const refusalCounter =
  (figures: Figures) =>
  ({ name: error }: Error): void =>
    figures.count("holderbook_verification_refusals_total", { error });

const countAppended = (
  { telemetry: { figures }, level }: Pass,
  { batch, checkpoints, skipped, rawBytes }: GatheredBatch,
  seconds: number,
): void => {
  figures.observe("holderbook_reader_append_seconds", {}, seconds);
  figures.observe("holderbook_reader_batch_checkpoints", {}, checkpoints);
  figures.observe("holderbook_reader_batch_facts", {}, batch.facts.length);
  figures.count("holderbook_reader_checkpoints_total", {}, checkpoints);
  figures.count("holderbook_reader_skipped_checkpoints_total", {}, skipped);
  figures.count("holderbook_reader_facts_total", {}, batch.facts.length);
  figures.count("holderbook_reader_bytes_total", {}, rawBytes);
  figures.count("holderbook_verified_checkpoints_total", { level }, checkpoints);
};

/** Root span of reading, appending and pipelines. */
const tellBatch = (
  { telemetry: { tracing }, source }: Pass,
  { batch, checkpoints, rawBytes, beganMs, decodedMs }: GatheredBatch,
  trace: TraceIds,
): void => {
  const { last, facts } = batch;
  const attributes = {
    checkpoint: `${last.sequence}`,
    digest: last.digest,
    checkpoints,
    facts: facts.length,
    bytes: rawBytes,
    source: placeOf(source.description),
  };
  tracing.report({ trace, name: "decode checkpoints", beganMs, endedMs: decodedMs });
  tracing.report({ trace, name: "checkpoint", isRoot: true, beganMs, attributes });
};

/** What reading checkpoints in order needs of a pass. */
export type GatherFrom = Omit<
  Pass,
  "log" | "on" | "feed" | "bounds" | "lingerMs" | "prove" | "onAppended"
>;

/**
 * Adds the checkpoints of a range to the gathering, and ends it, also on an error or abort.
 * @throws errors of the source and decoding
 */
export const gather = async (
  pass: GatherFrom,
  gathering: Gathering,
  signal: AbortSignal,
): Promise<void> => {
  const { source, contact, first, last } = pass;
  const checkpoints = source.checkpoints({ first, last }, signal)[Symbol.asyncIterator]();
  let expected = first;
  let { previousDigest, packages } = pass;
  let reader = pass.read(packages);
  let stretchFrom = performance.now();
  try {
    for (;;) {
      const next = checkpoints.next();
      if (!(await isReady(next))) {
        gathering.idle();
        // Only a request that waits tells about the source.
        await reporting(contact, next, signal).catch(() => undefined);
        stretchFrom = performance.now();
      }
      const { done, value: raw } = await next;
      if (signal.aborted) return;
      if (done) {
        if (last !== undefined && expected > last) return;
        throw new SourceEndedError(source.description, expected);
      }
      if (raw.sequence !== expected) {
        throw new CheckpointOutOfOrderError(source.description, expected, raw.sequence);
      }
      const beganMs = performance.now();
      const read = await readOrRefetch(pass, reader, raw, previousDigest, signal);
      await gathering.room(signal);
      if (signal.aborted) return;
      gathering.add(read, raw.bytes.byteLength, beganMs);
      expected += 1n;
      previousDigest = read.mark.digest;
      if (read.joined.length > 0) {
        packages = [...packages, ...read.joined.map(({ address }) => address)];
        reader = pass.read(packages);
      }
      if (performance.now() - stretchFrom > LONGEST_STRETCH_MS) {
        await turn();
        stretchFrom = performance.now();
      }
    }
  } finally {
    gathering.end();
    await checkpoints.return?.();
  }
};

/** Whether a promise settles within a turn of the event loop. */
const isReady = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    turn(false),
  ]);

/** Decodes a checkpoint and checks its link; fetches it again on failure, as if damaged. */
const readOrRefetch = async (
  { source, refetches, level, telemetry }: GatherFrom,
  read: CheckpointReader,
  raw: RawCheckpoint,
  previousDigest: string | null,
  signal: AbortSignal,
): Promise<ReadCheckpoint> => {
  let current = raw;
  for (let left = refetches; ; left -= 1) {
    try {
      const checkpoint = read(current);
      const isLinked = previousDigest === null || checkpoint.previousDigest === previousDigest;
      if (level !== "off" && !isLinked) {
        throw new CheckpointChainError(source.description, checkpoint, previousDigest);
      }
      return checkpoint;
    } catch (error) {
      if (error instanceof Error) refusalCounter(telemetry.figures)(error);
      if (left <= 0 || signal.aborted) throw error;
      await pause(REFETCH_PAUSE_MS, signal);
      const { sequence } = raw;
      const range = { first: sequence, last: sequence };
      for await (const again of source.checkpoints(range, signal)) current = again;
    }
  }
};
