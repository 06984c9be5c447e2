/**
 * The reader turns checkpoints into facts of the log.
 *
 * source → prefilter and decoder → batches → log.append (one transaction) → feed (memory)
 *
 * One process reads, under an advisory lock; others stand by. It always starts at the log's end; no
 * other state is stored.
 */
import { type Database, databaseRetries, type Session } from "../../database/connect.ts";
import { acquireWriterLock } from "../../database/writer-lock.ts";
import type { Feed } from "../../log/feed.ts";
import { type HighWater, readHighWater } from "../../log/high-water.ts";
import { type Log, openLog } from "../../log/log.ts";
import { noTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
import type { BulkProgress } from "../../values/bulk-progress.ts";
import type { Backoff } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import { createWaker } from "../../waiting/waker.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { createContact, type SourceContact } from "../sources/source-contact.ts";
import { searchDecimals } from "./decimals.ts";
import type { BatchBounds, GatheredBatch } from "./gathering.ts";
import { refusalCounter, runPass } from "./pass.ts";
import { fillPastBlocks } from "./past-blocks.ts";
import { fillPastInputs } from "./past-inputs.ts";
import { keepProgress, type ReaderProgress } from "./progress.ts";
import { openProving, type Verification } from "./proving.ts";
import { type CheckpointPlace, type ReaderOf, readPlace } from "./read.ts";
import { createDoubts, isOfSource } from "./source-trouble.ts";
import { askChainId, askPublication, openSourceNotes, watchTip } from "./watch-source.ts";

/** Milliseconds; shorter in tests. */
type ReaderWaits = {
  /** After transient errors. */
  readonly backoff: Backoff;
  readonly tipEveryMs: number;
  readonly noteEveryMs: number;
  readonly decimalsEveryMs: number;
  /** Delay of filling in times and inputs of older versions. */
  readonly past: Backoff;
  /** How long a batch waits for an idle source while catching up. */
  readonly lingerMs: number;
  /** Repeated fetches of an undecodable checkpoint. */
  readonly refetches: number;
  /** Minimum time before repeated evidence of another chain counts. */
  readonly confirmMs: number;
};

const DEFAULT_WAITS: ReaderWaits = {
  backoff: { firstMs: 500, maxMs: 60_000 },
  tipEveryMs: 5_000,
  noteEveryMs: 5_000,
  decimalsEveryMs: 60_000,
  past: { firstMs: 30_000, maxMs: 3_600_000 },
  lingerMs: 100,
  refetches: 2,
  confirmMs: 10_000,
};

export type { ReaderProgress, ReaderState } from "./progress.ts";

/** Reads what is far behind in another way, before the pass over every checkpoint. */
export type Guide = (from: GuideFrom, signal: AbortSignal) => Promise<void>;

export type GuideFrom = {
  readonly database: Pick<Database, "sql" | "listen">;
  readonly source: CheckpointSource;
  readonly log: Log;
  /** Session of the reader's lock. */
  readonly on: Session;
  /** Last checkpoint to read; without it up to the tip. */
  readonly last: bigint | undefined;
  readonly verification: Verification;
  readonly bounds: BatchBounds;
  readonly refetches: number;
  readonly feed: Pick<Feed, "push"> | undefined;
  readonly telemetry: Telemetry;
  readonly appended: (gathered: GatheredBatch) => void;
  readonly onProgress: (progress: BulkProgress) => void;
  readonly onNotice: (message: string) => void;
  readonly onNews: (message: string) => void;
};

export type ReaderOptions = {
  readonly database: Database;
  readonly source: CheckpointSource;
  readonly contact?: SourceContact | undefined;
  readonly read: ReaderOf;
  /** Verification; `links` by default. */
  readonly verification?: Verification | undefined;
  /** Reads summaries of earlier checkpoints; `readPlace` by default. */
  readonly readPlace?: (raw: RawCheckpoint) => CheckpointPlace;
  /** Reads far ranges guided; by default every checkpoint is read. */
  readonly guide?: Guide | undefined;
  /** Contract packages, canonical, original first, to begin an empty log with. */
  readonly packages: readonly string[];
  /** First checkpoint of an empty log; by default the original package's publication, or 0. */
  readonly firstCheckpoint?: bigint | undefined;
  /** Name of the writer lock; the log's by default. */
  readonly lock?: string | undefined;
  /** Last checkpoint to read; without it the reader follows the tip. */
  readonly last?: bigint | undefined;
  /** Maximum duration of failures, ms; unlimited by default. */
  readonly retryForMs?: number | undefined;
  readonly feed?: Pick<Feed, "push"> | undefined;
  readonly bounds?: Partial<BatchBounds> | undefined;
  readonly telemetry?: Telemetry | undefined;
  /** Called after every append, change of state and look at the tip. */
  readonly onProgress?: (progress: ReaderProgress) => void;
  /** Called for retried failures and messages to the operator. */
  readonly onNotice?: (message: string, error?: unknown) => void;
  /** Called when another way of reading begins. */
  readonly onNews?: ((message: string) => void) | undefined;
  readonly waits?: Partial<ReaderWaits>;
};

/** Limits two batches to some tens of megabytes, and an append to about 0.1 s. */
const DEFAULT_BOUNDS: BatchBounds = {
  facts: 10_000,
  bytes: 8 * 1024 * 1024,
  checkpoints: 10_000,
  ageMs: 1_000,
};

/** Errors of refused checkpoints, to initialise their counters. */
const REFUSALS = ["CertificateError", "CheckpointChainError", "CheckpointDecodeError"];

/** Lag beyond which larger batches are better than prompt ones. */
const CATCHING_UP = 50n;

/**
 * Reads until `last` is in the log or `signal` aborts. Retries transient and source errors from the
 * log's end, on the next listed source.
 *
 * @throws errors with remedy `stop` (such as `ChainMismatchError`, `OtherChainError`), or the last
 * one after `retryForMs`; `onProgress` shows them first
 */
export const runReader = async (options: ReaderOptions, signal: AbortSignal): Promise<void> => {
  const { onProgress = () => {}, onNotice = () => {}, contact = createContact() } = options;
  const waits = { ...DEFAULT_WAITS, ...options.waits };
  const progress = keepProgress(options.firstCheckpoint ?? 0n, options.last);
  const show = () => onProgress(progress.now());
  const newCoins = createWaker();
  const watched = { source: options.source, contact };
  const notes = openSourceNotes(options.database, watched, progress, waits.noteEveryMs);
  // Few: one per token.
  const coinsMet = new Set<string | null>([null]);
  let gaveUp: Error | undefined;

  const telemetry = options.telemetry ?? noTelemetry();
  telemetry.figures.begin("holderbook_reader_retries_total", {});
  for (const error of REFUSALS) {
    telemetry.figures.begin("holderbook_verification_refusals_total", { error });
  }
  const context = { options, contact, telemetry, waits, progress, show, onNotice };
  const doubts = createDoubts(options.source, waits.confirmMs);
  const attempt = async (progressed: () => void): Promise<void> => {
    const appended = (gathered: GatheredBatch) => {
      progressed();
      doubts.clear();
      const recovered = progress.now().error !== null;
      progress.appended(gathered);
      if (recovered) void notes.put();
      const met = coinsMet.size;
      for (const { coinType } of gathered.batch.facts) coinsMet.add(coinType);
      if (coinsMet.size > met) newCoins.wake();
      show();
    };
    progress.enter("opening");
    try {
      await readOnce({ ...context, appended }, own.signal);
    } catch (error) {
      if (!own.signal.aborted && isOfSource(error)) {
        doubts.consider(error);
        // The current source: the first may have returned meanwhile.
        options.source.failed?.(error, options.source.listed?.inUse ?? 0);
      }
      throw error;
    }
  };
  const onTrouble = (error: Error, pauseMs: number) => {
    telemetry.figures.count("holderbook_reader_retries_total", {});
    progress.enter("backing_off", error);
    void notes.put();
    show();
    onNotice(`reading again in ${pauseMs} ms`, error);
  };

  using own = followingAbort(signal);
  const background = Promise.all([
    watchTip(
      watched,
      {
        everyMs: waits.tipEveryMs,
        onTip: (newest) => {
          if (newest !== null) progress.tip(newest);
          show();
        },
      },
      own.signal,
    ),
    notes.keep(own.signal),
    searchDecimals(
      {
        database: options.database,
        source: options.source,
        everyMs: waits.decimalsEveryMs,
        onTrouble: (error) => onNotice("the decimals of a coin are still unknown; retrying", error),
      },
      newCoins,
      own.signal,
    ),
  ]);
  try {
    const again = { ...databaseRetries, backoff: waits.backoff, onTrouble };
    await retrying(attempt, { ...again, forMs: options.retryForMs }, own.signal);
    progress.enter("done");
    show();
  } catch (error) {
    gaveUp = errorOf(error);
    progress.enter("stopped", gaveUp);
    show();
    throw error;
  } finally {
    own.abort();
    await background;
    // Last, so that it is not overwritten.
    if (gaveUp !== undefined) await notes.gaveUp(gaveUp);
  }
};

type Reading = {
  readonly options: ReaderOptions;
  readonly contact: SourceContact;
  readonly telemetry: Telemetry;
  readonly waits: ReaderWaits;
  readonly progress: ReturnType<typeof keepProgress>;
  readonly show: () => void;
  readonly onNotice: (message: string, error?: unknown) => void;
  readonly appended: (gathered: GatheredBatch) => void;
};

/** Opens the log and reads to the end of the range, an abort or an error. */
const readOnce = async (context: Reading, signal: AbortSignal): Promise<void> => {
  const { options, contact, telemetry, waits, progress, show, onNotice, appended } = context;
  const { database, source, packages, last } = options;
  // Before the lock: refuses another chain even as a standby.
  const chainId = await askChainId({ source, contact }, signal);
  const firstCheckpoint = await beginningOf(options, contact, signal);
  const log: Log = await openLog(
    database,
    { chainId, packages, firstCheckpoint, ifOtherChain: source.ifOtherChain },
    { onNotice },
  );
  await using lock = await acquireWriterLock(database, options.lock ?? "log", {
    signal,
    onStandby: () => {
      progress.enter("standby");
      show();
    },
  });
  await log.completeChains(lock.session, signal);
  using during = followingAbort(signal);
  // Nothing is written at the tip, so a lost lock would go unnoticed.
  lock.session.lost.addEventListener("abort", () => during.abort(), { once: true });
  const { verification = { level: "links" } } = options;
  const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
  const enterReading = async (): Promise<HighWater> => {
    const mark = await log.highWater();
    progress.opened(mark.nextCheckpoint, mark.last);
    progress.enter("reading");
    show();
    return mark;
  };
  await enterReading();
  await options.guide?.(
    {
      ...{ database, source, log, on: lock.session, last, verification, bounds, telemetry },
      ...{ appended, feed: options.feed, refetches: waits.refetches, onNotice },
      onNews: options.onNews ?? (() => {}),
      onProgress: (bulk) => {
        progress.bulk(bulk);
        show();
      },
    },
    during.signal,
  );
  const highWater = await enterReading();
  const { nextCheckpoint, last: mark, packages: known } = highWater;
  if (last !== undefined && nextCheckpoint > last) return;
  const prove =
    verification.level === "signatures"
      ? await openProving({
          sql: database.sql,
          source,
          verification,
          mark: highWater,
          onRefused: refusalCounter(telemetry.figures),
        })
      : null;
  const isBehind = () => (progress.now().lag ?? 0n) > CATCHING_UP;
  const past = { source, on: lock.session, isBehind, backoff: waits.past, onNotice };
  const backfill = Promise.all([
    fillPastBlocks({ ...past, readPlace: options.readPlace ?? readPlace }, during.signal),
    fillPastInputs({ ...past, readerOf: options.read }, during.signal),
  ]);
  const reading = runPass(
    {
      source,
      contact,
      read: options.read,
      packages: known,
      log,
      on: lock.session,
      feed: options.feed,
      first: nextCheckpoint,
      previousDigest: mark?.digest ?? null,
      last,
      bounds,
      lingerMs: () => (isBehind() ? waits.lingerMs : 0),
      refetches: waits.refetches,
      level: verification.level,
      prove,
      telemetry,
      onAppended: appended,
    },
    during.signal,
  );
  await reading.finally(async () => {
    during.abort();
    await backfill;
  });
  if (!signal.aborted) lock.session.lost.throwIfAborted();
};

/** First checkpoint for an empty log; undefined for 0. */
const beginningOf = async (
  { database, source, packages, firstCheckpoint }: ReaderOptions,
  contact: SourceContact,
  signal: AbortSignal,
): Promise<bigint | undefined> => {
  if (firstCheckpoint !== undefined) return firstCheckpoint;
  const begun = await readHighWater(database.sql);
  const [original] = packages;
  if (begun !== undefined || original === undefined) return begun?.firstCheckpoint;
  return (await askPublication({ source, contact }, original, signal)) ?? undefined;
};
