/**
 * The demo ledger as a source: some history immediately, then new checkpoints in real time, with
 * the same bytes after every restart.
 *
 * Its clock stops while no process reads it. The journal keeps times of checkpoints; everything
 * else derives from the seed. A restart loads a saved state and repeats at most `SAVE_EVERY`
 * checkpoints.
 */

import { setTimeout as delay, setImmediate as othersTurn } from "node:timers/promises";
import type { Encoding, RawCheckpoint } from "../src/ledger/decode/checkpoint.ts";
import type { CheckpointSource } from "../src/ledger/sources/source.ts";
import { makeDataDir } from "../src/settings/data-dir.ts";
import { highest } from "../src/values/bigints.ts";
import type { Remedy } from "../src/waiting/remedy.ts";
import type { LiveObject } from "./chain/state.ts";
import type { DemoLabel } from "./company/labels.ts";
import { COMPANY_SPAN_MS } from "./company/two-years.ts";
import {
  createDemoLedger,
  type DemoCheckpoint,
  type DemoIdentity,
  type DemoLedger,
  type DemoOptions,
  SavedStateMismatchError,
} from "./demo-ledger.ts";
import { type LedgerSettings, ledgerOptions } from "./edition.ts";
import { openingEnds } from "./issuer/advance.ts";
import type { Staff } from "./issuer/people.ts";
import type { Submission, TransactionReceipt } from "./issuer/submissions.ts";
import { openJournal } from "./journal.ts";
import { SavedStates } from "./saved-states.ts";
import { newestAt, newTimeline, settle, stop, type Timeline, timeOf } from "./timeline.ts";

const SAVE_EVERY = 1_000n;
/** Checkpoints made before yielding to the event loop. */
const AT_A_STRETCH = 100;
const NINETY_DAYS_MS = 90 * 86_400_000;

export type DemoSourceOptions = LedgerSettings & {
  /** Folder for journal and saved states; created if missing. */
  readonly dataDir: string;
  /** New checkpoints per second: 1 to 1,000. May change between restarts. */
  readonly checkpointsPerSecond: number;
  /** Checkpoints that exist at the first opening. */
  readonly history: number;
  /** Period of the history in ms; by default a company's two years, or 90 days of chance. */
  readonly historySpanMs?: number | undefined;
  /** Encoding of checkpoints; protobuf by default. */
  readonly encoding?: Encoding | undefined;
};

/** Maximum sleep before checking the clock. */
const LONGEST_WAIT_MS = 1_000;

/** Closed before the transaction was read; it may still be executed. Stop. */
export class DemoSourceClosedError extends Error {
  override readonly name = "DemoSourceClosedError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("the demo ledger was closed; a submitted transaction appears when it is opened again");
  }
}

type Awaiting = {
  readonly resolve: (receipt: TransactionReceipt) => void;
  readonly reject: (error: unknown) => void;
};

/** A source that knows its ledger's state and takes transactions. */
export type DemoSource = CheckpointSource &
  Omit<DemoIdentity, "chainId"> & {
    epoch(): bigint;
    /**
     * Submits a transaction for the next checkpoint; resolves when that is read.
     * @throws RejectedTransactionError
     */
    submit(submission: Submission): Promise<TransactionReceipt>;
    staff(coinType: string): Staff;
    /** As of `DemoLedger`. */
    labels(): readonly DemoLabel[];
    /** Ed25519 secret (32 bytes) of an account. */
    secretKey(address: string): Uint8Array;
    /** Result of a transaction signed outside, by digest; undefined until read. */
    receipt(digest: string): TransactionReceipt | undefined;
    /** Newest checkpoint handed out; null before the first. */
    newestRead(): bigint | null;
    /** A live object in the newest reader's state. */
    object(id: string): LiveObject | undefined;
    /** SUI coins of an account, likewise. */
    gasCoinsOf(address: string): readonly LiveObject[];
    /** Time of a checkpoint, Unix ms. */
    timeOf(sequence: bigint): bigint;
  };

/** @throws as `checkDemoFolder` */
export const demoSource = (options: DemoSourceOptions): DemoSource => {
  const { dataDir, encoding = "protobuf" } = options;
  const perSecond = BigInt(options.checkpointsPerSecond);
  const identity = ledgerOptions(options);
  const journal = openJournal(dataDir, identity);
  const states = new SavedStates(dataDir);
  const closing = new AbortController();

  let timeline = journal.readTimeline() ?? begin();
  /** Whether this process runs the clock, and stops it at close. */
  let running = false;
  let handedOut = -1n;
  let reading: DemoLedger | undefined;
  /** Left by the last bounded read, for successive reads of single checkpoints. */
  let spare: DemoLedger | undefined;
  let lastSingle: Promise<unknown> = Promise.resolve();
  const submitted = new Map<bigint, Submission[]>();
  for (const { checkpoint, submission } of journal.readSubmissions()) {
    note(checkpoint, submission);
  }
  const awaited = new Map<Submission, Awaiting>();
  const receipts = new Map(journal.readReceipts().map((receipt) => [receipt.digest, receipt]));
  const { seed, investors, noise } = identity;
  const { foundedMs } = timeline;
  const demoOptions: DemoOptions = {
    ...{ seed, investors, noise, foundedMs },
    keepEvents: false,
    timeOf: (sequence) => timeOf(timeline, sequence),
  };
  // For identity and keys; each reader has its own ledger.
  const known = createDemoLedger(demoOptions);
  const opening = openingEnds(foundedMs !== undefined);

  function begin(): Timeline {
    makeDataDir(dataDir);
    const nowMs = now();
    const hasCompany = identity.story !== "chance";
    const started = newTimeline({
      nowMs,
      history: BigInt(options.history),
      historySpanMs: BigInt(
        options.historySpanMs ?? (hasCompany ? COMPANY_SPAN_MS : NINETY_DAYS_MS),
      ),
      perSecond,
      ...(hasCompany && { foundedMs: nowMs - COMPANY_SPAN_MS }),
    });
    journal.writeTimeline(started);
    return started;
  }

  function note(checkpoint: bigint, submission: Submission): void {
    const others = submitted.get(checkpoint);
    if (others === undefined) submitted.set(checkpoint, [submission]);
    else others.push(submission);
  }

  /** Extends the timeline, on disk first: no checkpoint without a stored time. */
  const runOn = (): void => {
    running = true;
    if (settle(timeline, now(), perSecond) === undefined) return;
    const onDisk = journal.readTimeline();
    if (onDisk !== undefined && onDisk.settledUntil > timeline.settledUntil) timeline = onDisk;
    const further = settle(timeline, now(), perSecond);
    if (further === undefined) return;
    journal.writeTimeline(further);
    timeline = further;
  };

  /** A ledger whose next checkpoint is `first`. */
  const openAt = async (first: bigint, signal: AbortSignal): Promise<DemoLedger> => {
    const ledger = takeSpare(first) ?? nearest(first);
    for (let made = 1; ledger.nextSequence < first && !signal.aborted; made += 1) {
      advance(ledger);
      if (made % AT_A_STRETCH === 0) await othersTurn();
    }
    return ledger;
  };

  const takeSpare = (first: bigint): DemoLedger | undefined => {
    const ahead = spare === undefined ? -1n : first - spare.nextSequence;
    if (ahead < 0n || ahead >= SAVE_EVERY) return undefined;
    const taken = spare;
    spare = undefined;
    return taken;
  };

  const nearest = (first: bigint): DemoLedger => {
    for (const from of states.before(first)) {
      try {
        return createDemoLedger({ ...demoOptions, from });
      } catch (error) {
        // Of another version of the program or Node; the seed suffices.
        if (!(error instanceof SavedStateMismatchError)) throw error;
      }
    }
    return createDemoLedger(demoOptions);
  };

  /** Makes the next checkpoint with its submissions. */
  const advance = (ledger: DemoLedger): DemoCheckpoint => {
    for (const submission of submitted.get(ledger.nextSequence) ?? []) {
      const waiting = awaited.get(submission);
      awaited.delete(submission);
      ledger.submit(submission).then(
        (receipt) => {
          if (submission.signed !== undefined) keepReceipt(receipt);
          waiting?.resolve(receipt);
        },
        (error: unknown) => waiting?.reject(error),
      );
    }
    const made = ledger.next();
    if (ledger.nextSequence % SAVE_EVERY === 0n) states.save(ledger.nextSequence, ledger.save());
    return made;
  };

  /** A restart from a later state would not see these transactions again. */
  const keepReceipt = (receipt: TransactionReceipt): void => {
    if (receipts.has(receipt.digest)) return;
    receipts.set(receipt.digest, receipt);
    journal.appendReceipt(receipt);
  };

  /** The next checkpoint of a ledger, as a reader gets it. */
  const readOn = (ledger: DemoLedger): RawCheckpoint => {
    const { sequence, raw } = advance(ledger);
    if (sequence > handedOut) handedOut = sequence;
    return { sequence, encoding, bytes: raw(encoding) };
  };

  /** Single checkpoints are read in turn, each from where the one before it ended: the ledger is made once for all. */
  const readSingle = (first: bigint, signal: AbortSignal): Promise<RawCheckpoint | null> => {
    const read = lastSingle.then(async () => {
      if (signal.aborted) return null;
      const ledger = await openAt(first, signal);
      spare = ledger;
      return signal.aborted ? null : readOn(ledger);
    });
    lastSingle = read.catch(() => undefined);
    return read;
  };

  async function* checkpoints(
    range: { readonly first: bigint; readonly last?: bigint | undefined },
    outside: AbortSignal,
  ): AsyncGenerator<RawCheckpoint> {
    const signal = AbortSignal.any([outside, closing.signal]);
    if (signal.aborted || (range.last !== undefined && range.last < range.first)) return;
    // Nothing is made early, so that it includes later submissions.
    await due(range.first, signal);
    if (range.last === range.first && reading !== undefined) {
      const single = await readSingle(range.first, signal);
      if (single !== null) yield single;
      return;
    }
    const ledger = await openAt(range.first, signal);
    // A bounded read is not the current state.
    if (range.last === undefined || reading === undefined) reading = ledger;
    try {
      for (let made = 1; range.last === undefined || ledger.nextSequence <= range.last; made += 1) {
        if (made % AT_A_STRETCH === 0) await othersTurn();
        await due(ledger.nextSequence, signal);
        if (signal.aborted) return;
        yield readOn(ledger);
      }
    } finally {
      if (range.last !== undefined && ledger !== reading) spare = ledger;
    }
  }

  /** Resolves when the checkpoint is due or the signal aborts. */
  const due = async (sequence: bigint, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && newestAt(timeline, now()) < sequence) {
      runOn();
      const wait = Number(timeOf(timeline, sequence) - now());
      await delay(Math.min(Math.max(wait, 1), LONGEST_WAIT_MS), undefined, { signal }).catch(
        () => undefined,
      );
    }
  };

  return {
    chainId: async () => known.chainId,
    packages: known.packages,
    foreignPackages: known.foreignPackages,
    coinTypes: known.coinTypes,
    committee: known.committee,
    epoch: () => (reading ?? known).epoch,
    description: `demo: seed ${identity.seed}, ${perSecond} checkpoints per second`,
    ifOtherChain:
      `if a former demo ledger filled it, delete ${dataDir}, and empty the database if DATABASE_URL ` +
      "names one; otherwise point LEDGER_SOURCE at the first",
    latest: async () => {
      runOn();
      const newest = newestAt(timeline, now());
      return newest < 0n ? null : newest;
    },
    checkpoints,
    coinDecimals: async (coinType) =>
      known.coinTypes.find((coin) => coin.coinType === coinType)?.decimals ?? null,
    submit: (submission) =>
      new Promise((resolve, reject) => {
        if (closing.signal.aborted) throw new DemoSourceClosedError();
        runOn();
        const checkpoint = highest(newestAt(timeline, now()), handedOut, opening) + 1n;
        journal.appendSubmission({ checkpoint, submission });
        awaited.set(submission, { resolve, reject });
        note(checkpoint, submission);
      }),
    staff: (coinType) => known.staff(coinType),
    labels: () => known.labels(),
    secretKey: (address) => known.secretKey(address),
    receipt: (digest) => receipts.get(digest),
    newestRead: () => (handedOut < 0n ? null : handedOut),
    object: (id) => reading?.object(id),
    gasCoinsOf: (address) => reading?.gasCoinsOf(address) ?? [],
    timeOf: (sequence) => timeOf(timeline, sequence),
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      for (const { reject } of awaited.values()) reject(new DemoSourceClosedError());
      awaited.clear();
      if (reading !== undefined) states.save(reading.nextSequence, reading.save());
      if (!running) return;
      timeline = stop(timeline, handedOut, now());
      journal.writeTimeline(timeline);
    },
  };
};

const now = (): bigint => BigInt(Date.now());
