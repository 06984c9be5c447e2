/**
 * The reader: the one place where checkpoints become facts in the log.
 *
 *   source → prefilter and decoder → batches → log.append (one transaction) → feed (memory)
 *
 * One process reads at a time, by an advisory lock; others stand by. It begins where the log ends,
 * whatever happened before: nothing is remembered anywhere else.
 */
import { type Database, databaseRetries } from "../../database/connect.ts";
import { acquireWriterLock } from "../../database/writer-lock.ts";
import type { Feed } from "../../log/feed.ts";
import { readHighWater } from "../../log/high-water.ts";
import { type Log, openLog } from "../../log/log.ts";
import { noTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
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
import { DEFAULT_WAITS, type ReaderWaits } from "./reader-waits.ts";
import { createDoubts, isOfSource } from "./source-trouble.ts";
import { askChainId, askPublication, openSourceNotes, watchTip } from "./watch-source.ts";

export type { ReaderProgress, ReaderState } from "./progress.ts";

export type ReaderOptions = {
  readonly database: Database;
  readonly source: CheckpointSource;
  /** What the source itself tells of its questions, beside what the reader sees; absent: nothing. */
  readonly contact?: SourceContact | undefined;
  /** Makes what decodes for packages. */
  readonly read: ReaderOf;
  /** How much of what the source says is checked; links unless given. */
  readonly verification?: Verification | undefined;
  /** Reads summaries alone, of checkpoints read before; `readPlace` unless given. */
  readonly readPlace?: (raw: RawCheckpoint) => CheckpointPlace;
  /**
   * Contract packages, canonical, original first: what an empty log is begun with. One that has begun
   * knows its own, those that joined too.
   */
  readonly packages: readonly string[];
  /**
   * Where an empty log begins; one that has begun goes on where it ends. Absent: where the original
   * package was published, or at 0 when the source cannot tell.
   */
  readonly firstCheckpoint?: bigint | undefined;
  /** Name of the lock under which it reads; that of the log unless given. */
  readonly lock?: string | undefined;
  /** The last checkpoint to read; without it the reader stays at the tip. */
  readonly last?: bigint | undefined;
  /** How long what may pass is tried again without reading on, milliseconds; for ever unless given. */
  readonly retryForMs?: number | undefined;
  /** Given every batch after its commit, so that pipelines in this process need not read it back. */
  readonly feed?: Pick<Feed, "push"> | undefined;
  readonly bounds?: Partial<BatchBounds> | undefined;
  /** Told of every batch; nobody is unless given. */
  readonly telemetry?: Telemetry | undefined;
  /** Called after every append, change of state and look at the tip. */
  readonly onProgress?: (progress: ReaderProgress) => void;
  /** Told of what failed and will be tried again, and of what an operator should know. */
  readonly onNotice?: (message: string, error?: unknown) => void;
  readonly waits?: Partial<ReaderWaits>;
};

/** Bounds that keep two batches in some tens of megabytes and an append around a tenth of a second. */
const DEFAULT_BOUNDS: BatchBounds = {
  facts: 10_000,
  bytes: 8 * 1024 * 1024,
  checkpoints: 10_000,
  ageMs: 1_000,
};

/** What a source says and is not believed, as errors; others show when they come. */
const REFUSALS = ["CertificateError", "CheckpointChainError", "CheckpointDecodeError"];

/** Further behind the tip than this, larger batches are worth more than prompt ones. */
const CATCHING_UP = 50n;

/**
 * Reads until `last` is in the log or `signal` aborts, through everything that may pass, and whatever a source
 * says wrongly may: it backs off and begins again at the log's end, from the next source where several are listed.
 * Pipelines are not its business; they go on when it stops.
 *
 * @throws the error that made it stop, after `onProgress` showed it: a `ChainMismatchError`, an `OtherChainError`
 *   or any other whose remedy is `stop`; the last one after `retryForMs`
 */
export const runReader = async (options: ReaderOptions, signal: AbortSignal): Promise<void> => {
  const { onProgress = () => {}, onNotice = () => {}, contact = createContact() } = options;
  const waits = { ...DEFAULT_WAITS, ...options.waits };
  const progress = keepProgress(options.firstCheckpoint ?? 0n, options.last);
  const show = () => onProgress(progress.now());
  const newCoins = createWaker();
  const watched = { source: options.source, contact };
  const notes = openSourceNotes(options.database, watched, progress, waits.noteEveryMs);
  // As the log's own memory of them: there are few, one per token.
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
        // Not the one it began with: the first one may have come back meanwhile.
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
        onTrouble: (error) => onNotice("could not learn the decimals of a coin yet", error),
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
    // After the last of the others, so that it stands.
    if (gaveUp !== undefined) await notes.gaveUp(gaveUp);
  }
};

/** What the parts of one reader share. */
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

/** From opening the log to the end of the range, an abort, or an error. */
const readOnce = async (context: Reading, signal: AbortSignal): Promise<void> => {
  const { options, contact, telemetry, waits, progress, show, onNotice, appended } = context;
  const { database, source, packages, last } = options;
  // Before the lock: a reader of another chain is refused at once, also as a standby.
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
  const highWater = await log.highWater();
  const { nextCheckpoint, last: mark, packages: known } = highWater;
  progress.opened(nextCheckpoint, mark);
  progress.enter("reading");
  show();
  if (last !== undefined && nextCheckpoint > last) return;
  using during = followingAbort(signal);
  // While waiting at the tip nothing is written: without this a lost lock would go unnoticed there.
  lock.session.lost.addEventListener("abort", () => during.abort(), { once: true });
  const { verification = { level: "links" } } = options;
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
  const filling = Promise.all([
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
      bounds: { ...DEFAULT_BOUNDS, ...options.bounds },
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
    await filling;
  });
  if (!signal.aborted) lock.session.lost.throwIfAborted();
};

/** Where the log begins, if it has not begun; undefined for one that has, unless the options say. */
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
