import { setImmediate as turn } from "node:timers/promises";
import type { Transactor } from "../../database/connect.ts";
import type { Feed } from "../../log/feed.ts";
import type { Log } from "../../log/log.ts";
import type { VerifyLevel } from "../../settings/values.ts";
import { type Figures, secondsSince } from "../../telemetry/figures.ts";
import { batchSampler } from "../../telemetry/sampling.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { batchTrace, type TraceIds } from "../../telemetry/trace-ids.ts";
import { traced } from "../../telemetry/tracing.ts";
import { placeOf } from "../../values/place.ts";
import { pause } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { heard, type SourceContact } from "../sources/source-contact.ts";
import { SourceError } from "../sources/source-errors.ts";
import {
  type BatchBounds,
  createGathering,
  type GatheredBatch,
  type Gathering,
} from "./gathering.ts";
import { type ProveBatch, REFETCH_PAUSE_MS } from "./proving.ts";
import type { CheckpointPlace, CheckpointReader, ReadCheckpoint, ReaderOf } from "./read.ts";

/** The source skipped or repeated a checkpoint: a defect of the source. Nothing of it was used; it is asked again. */
export class CheckpointOutOfOrderError extends SourceError {
  override readonly name = "CheckpointOutOfOrderError";

  constructor(source: string, expected: bigint, came: bigint) {
    super(`${source}: checkpoint ${came} came where ${expected} was due; this source is defective`);
  }
}

/** The source ended although more was asked for. What came is safe; open it again. */
export class SourceEndedError extends SourceError {
  override readonly name = "SourceEndedError";

  constructor(source: string, expected: bigint) {
    super(`${source}: ended before checkpoint ${expected}`);
  }
}

/**
 * A checkpoint does not follow the one before it: the source mixes two chains, or one of the two was
 * changed. Nothing of it was used. It is read again; `OtherChainError` when that confirms it.
 */
export class CheckpointChainError extends SourceError {
  override readonly name = "CheckpointChainError";
  readonly sequence: bigint;
  /** Digest of the checkpoint before it: as it says, and as the log has it. */
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

/** One pass over the source: from the high-water mark to the end, an error, or an abort. */
export type Pass = {
  readonly source: CheckpointSource;
  /** Told while the source is waited for. */
  readonly contact: SourceContact;
  /** Makes what turns bytes into facts of these packages. */
  readonly read: ReaderOf;
  /** Packages whose facts the log keeps when the pass begins; more may join during it. */
  readonly packages: readonly string[];
  readonly log: Pick<Log, "append">;
  /** The session that holds the reader's lock. */
  readonly on: Transactor;
  /** Told of every batch once it is committed. */
  readonly feed: Pick<Feed, "push"> | undefined;
  readonly first: bigint;
  /** Digest of the checkpoint before the first, which it must name; null when the log begins here. */
  readonly previousDigest: string | null;
  readonly last: bigint | undefined;
  readonly bounds: BatchBounds;
  /** How long an idle source is waited for before a batch goes, milliseconds: 0 at the tip. */
  readonly lingerMs: () => number;
  /** How often a checkpoint that cannot be decoded is fetched again before that counts, 0 or more. */
  readonly refetches: number;
  /** How much is checked: from links on, each checkpoint must name the digest of the one before it. */
  readonly level: VerifyLevel;
  /** Proves each batch before it is appended; null where signatures are not verified. */
  readonly prove: ProveBatch | null;
  readonly telemetry: Telemetry;
  readonly onAppended: (gathered: GatheredBatch) => void;
};

/** Decoding longer than this at a stretch would keep everything else in the process waiting. */
export const LONGEST_STRETCH_MS = 5;

/**
 * Reads and appends at the same time: while one batch is being appended, the next is decoded. At most
 * two batches are in memory. What was read before an error is appended before it is thrown; when the
 * signal aborts, what was not yet appended is dropped.
 *
 * @throws what the source, decoding or the log throws
 */
export const runPass = async (pass: Pass, signal: AbortSignal): Promise<void> => {
  using own = followingAbort(signal);
  const gathering = createGathering(pass.bounds);
  const appending = append(pass, gathering, own.signal);
  // A source that waits at the tip would not notice that appending has ended.
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

/** Counts refusals of what the source said, by the name of the error. */
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

/** The span that those of reading, of appending and of every pipeline stand below. */
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
  tracing.tell({ trace, name: "decode checkpoints", beganMs, endedMs: decodedMs });
  tracing.tell({ trace, name: "checkpoint", isRoot: true, beganMs, attributes });
};

const gather = async (pass: Pass, gathering: Gathering, signal: AbortSignal): Promise<void> => {
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
        // What was there already says nothing of the source now; what is waited for does.
        using _question = contact.asking();
        await heard(contact, next, signal).catch(() => undefined);
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

/** Whether a promise settles without anything new from outside the process. */
const isReady = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    turn(false),
  ]);

/**
 * Decodes a checkpoint and checks that it follows the one before it. When that fails the bytes may have
 * been damaged on the way, so they are fetched again before the error counts.
 */
const readOrRefetch = async (
  { source, refetches, level, telemetry }: Pass,
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
