/**
 * The watch over stored data: completes hash chains of older versions, periodically signs the head
 * and the ends of the chains of times, digests and input versions, publishes operators' acts, and
 * slowly repeats all checks.
 *
 * One process runs it at a time and stores its findings for `/health` and `/metrics` of every
 * process.
 */
import { type Database, databaseRetries } from "../../database/connect.ts";
import { acquireWriterLock } from "../../database/writer-lock.ts";
import { extendChain } from "../../log/chain.ts";
import { backoffMs, pause } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import { publishActs, unpublishedActs } from "../sequence/acts.ts";
import { createChainEntries } from "../sequence/chain-entries.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import { checkUnsigned, type LogHead, signHead } from "../sequence/log-heads.ts";
import { SignerAnswerError, SignerAwayError } from "../sequence/outside-signer.ts";
import { enterRoots } from "../sequence/published-roots.ts";
import { SequenceLostError, watchSequence } from "../sequence/sequence.ts";

/** A slow check, one stretch after another. */
export type SlowCheck = {
  /** Checks the next stretch; returns whether it ended a round. */
  next(on: Database): Promise<{ readonly ended: boolean }>;
  /** Replaces the pace's `rests`, unless that is 0. */
  readonly rests?: number;
  /** Replaces the pace's `roundEveryMs` when it is shorter. */
  readonly everyMs?: number;
};

export type Watch = {
  readonly database: Database;
  /** Signs heads; omitted: heads are not signed. */
  readonly key?: DeploymentKey | undefined;
  readonly checks: readonly SlowCheck[];
  readonly pace?: Partial<Pace>;
  readonly onSigned?: (head: LogHead) => void;
  readonly onTrouble: (error: Error) => void;
};

export type Pace = {
  /** Between checks for unchained facts, milliseconds. */
  readonly chainEveryMs: number;
  /** Between signed heads, milliseconds. */
  readonly signEveryMs: number;
  /** Minimum between the beginnings of two rounds of a slow check, milliseconds. */
  readonly roundEveryMs: number;
  /** Rest after a stretch, as a multiple of its duration: 49 is a fiftieth of a core. */
  readonly rests: number;
  /** The same for catching up with the log. */
  readonly catchUpRests: number;
};

const PACE: Pace = {
  chainEveryMs: 5_000,
  signEveryMs: 600_000,
  roundEveryMs: 60_000,
  rests: 49,
  catchUpRests: 4,
};

/**
 * Watches until `signal` aborts; reports and retries errors, except lost published entries.
 * @throws SequenceLostError (stop)
 */
export const watchOver = async (watch: Watch, signal: AbortSignal): Promise<void> => {
  const { database, onTrouble, checks } = watch;
  const pace = { ...PACE, ...watch.pace };
  const again = {
    ...databaseRetries,
    backoff: { firstMs: 1_000, maxMs: 60_000 },
    // Stored data is served meanwhile, and checked as far as possible.
    remedy: (error: unknown): Remedy => (error instanceof SequenceLostError ? "stop" : "retry"),
    onTrouble,
  };
  const holdAndWatch = async (progressed: () => void) => {
    await using lock = await acquireWriterLock(database, "watch", { signal });
    const { lost } = lock.session;
    const ending = new AbortController();
    const held = AbortSignal.any([signal, lost, ending.signal]);
    progressed();
    const keep = (onProgress: () => void) => keepChain(watch, pace, held, onProgress);
    const each = checks.map(
      (check) => (onProgress: () => void) => repeat(database, check, pace, held, onProgress),
    );
    const all = [keep, ...each].map((work) => retrying(work, again, held));
    try {
      await Promise.all(all);
    } finally {
      ending.abort();
      await Promise.allSettled(all);
    }
    if (!signal.aborted) lost.throwIfAborted();
  };
  await retrying(holdAndWatch, again, signal);
};

/** Rest after work that began then. */
const restAfter = (beganMs: number, rests: number): number => (performance.now() - beganMs) * rests;

const keepChain = async (
  watch: Watch,
  pace: Pace,
  signal: AbortSignal,
  progressed: () => void,
): Promise<void> => {
  const { database, key } = watch;
  const sign = key && createSigning({ ...watch, key }, pace);
  while (!signal.aborted) {
    const beganMs = performance.now();
    // Even on a broken log: losing its end often means losing the sequence's end.
    if (key !== undefined) await watchSequence(database.sql, key);
    const more = await database.transaction(({ sql }) => extendChain(sql));
    progressed();
    const isDone = !more && ((await sign?.()) ?? true);
    await pause(isDone ? pace.chainEveryMs : restAfter(beganMs, pace.catchUpRests), signal);
  }
};

/** Delay before the signer is retried; the log is chained meanwhile. */
const SIGNER_BACKOFF = { firstMs: 1_000, maxMs: 60_000 };

/** Acts per transaction: other writers wait meanwhile, and heads come between. */
const ACTS_PER_TRANSACTION = 20;

/** Signs what is due, a stretch at a time; returns whether that was all. */
const createSigning = (
  { database, key, onSigned = () => {}, onTrouble }: Watch & { readonly key: DeploymentKey },
  { signEveryMs }: Pace,
): (() => Promise<boolean>) => {
  const ends = createChainEntries(key);
  let rootsEntered = false;
  let signedMs = Number.NEGATIVE_INFINITY;
  let checked = -1n;
  const next = async (beganMs: number): Promise<boolean> => {
    if (!rootsEntered) await database.transaction(({ sql }) => enterRoots(sql, key));
    rootsEntered = true;
    if ((await unpublishedActs(database.sql)) > 0) {
      await database.transaction(({ sql }) => publishActs(sql, key, ACTS_PER_TRANSACTION));
    }
    if (beganMs - signedMs < signEveryMs) return true;
    const unsigned = await database.transaction(({ sql }) => checkUnsigned(sql, checked));
    checked = unsigned.through;
    if (!unsigned.ended || !(await ends.next(database)).ended) return false;
    const head = await database.transaction(({ sql }) => signHead(sql, key, unsigned.through));
    // Before `onSigned`, so that a head which a fail-over loses is missed.
    await watchSequence(database.sql, key);
    // The signed head covers what was checked; start over, for the log may be replaced after it.
    checked = -1n;
    if (head === "unchained") return true;
    // An empty log has no head: sign the first one when there is one.
    signedMs = beganMs;
    if (head !== null) onSigned(head);
    return true;
  };
  let failures = 0;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const beganMs = performance.now();
    if (beganMs < notBeforeMs) return true;
    try {
      const isDone = await next(beganMs);
      failures = 0;
      return isDone;
    } catch (error) {
      if (!(error instanceof SignerAwayError || error instanceof SignerAnswerError)) throw error;
      failures += 1;
      notBeforeMs = performance.now() + backoffMs(failures, SIGNER_BACKOFF);
      onTrouble(error);
      return true;
    }
  };
};

const repeat = async (
  database: Database,
  check: SlowCheck,
  { roundEveryMs, rests }: Pace,
  signal: AbortSignal,
  progressed: () => void,
): Promise<void> => {
  let roundMs = performance.now();
  while (!signal.aborted) {
    const beganMs = performance.now();
    const { ended } = await check.next(database);
    progressed();
    const restMs = restAfter(beganMs, rests === 0 ? 0 : (check.rests ?? rests));
    const everyMs = Math.min(check.everyMs ?? roundEveryMs, roundEveryMs);
    const untilRoundMs = ended ? roundMs + everyMs - performance.now() : 0;
    await pause(Math.max(restMs, untilRoundMs), signal);
    if (ended) roundMs = performance.now();
  }
};
