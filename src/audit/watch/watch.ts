/**
 * The watch over what is stored: completes the log's hash chains where an older version left them out, signs
 * the head and publishes the ends of the chains of times, digests and input versions every so often, and operators' acts as they
 * are done, and looks at everything again and again, slowly.
 *
 * One process does it at a time. Whatever it finds is kept in tables, where `/health` and `/metrics` of
 * every process read it.
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
import { SequenceLostError, watchSequence } from "../sequence/sequence.ts";
import { enterRoots } from "../verify/root-signatures.ts";

/** Something that is looked at slowly, one stretch after another. */
export type SlowLook = {
  /** Looks at the next stretch; returns whether that ended a round. */
  next(on: Database): Promise<{ readonly ended: boolean }>;
  /** Replaces the pace's `rests`, unless that is 0. */
  readonly rests?: number;
};

export type Watch = {
  readonly database: Database;
  /** Signs heads; absent: they are not signed. */
  readonly key?: DeploymentKey | undefined;
  readonly looks: readonly SlowLook[];
  readonly pace?: Partial<Pace>;
  readonly onSigned?: (head: LogHead) => void;
  readonly onTrouble: (error: Error) => void;
};

export type Pace = {
  /** Between two looks for facts that the chain does not cover yet, milliseconds. */
  readonly chainEveryMs: number;
  /** Between two signed heads, milliseconds. */
  readonly signEveryMs: number;
  /** Between the beginnings of two rounds of a slow look, milliseconds, at least. */
  readonly roundEveryMs: number;
  /** How many times as long as a stretch took is rested after it: 49 is a fiftieth of a core. */
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
 * Watches until `signal` aborts; trouble is told and tried again, but for what was published and is lost.
 * @throws SequenceLostError (stop)
 */
export const watchOver = async (watch: Watch, signal: AbortSignal): Promise<void> => {
  const { database, onTrouble, looks } = watch;
  const pace = { ...PACE, ...watch.pace };
  const again = {
    ...databaseRetries,
    backoff: { firstMs: 1_000, maxMs: 60_000 },
    // Whatever it is: what is stored is served meanwhile, and looked at as far as that goes.
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
    const each = looks.map(
      (look) => (onProgress: () => void) => lookOnAndOn(database, look, pace, held, onProgress),
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

/** How long is rested after work that began then. */
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
    // Whatever is wrong with the log, too: one that lost its end often lost that of the sequence with it.
    if (key !== undefined) await watchSequence(database.sql, key);
    const more = await database.transaction(({ sql }) => extendChain(sql));
    progressed();
    const isDone = !more && ((await sign?.()) ?? true);
    await pause(isDone ? pace.chainEveryMs : restAfter(beganMs, pace.catchUpRests), signal);
  }
};

/** The next attempt after the signer failed; the log goes on being chained meanwhile. */
const SIGNER_BACKOFF = { firstMs: 1_000, maxMs: 60_000 };

/** Acts that are published at once: others wait for the sequence meanwhile, and heads come between. */
const ACTS_PER_TRANSACTION = 20;

/** Signs what is due, a stretch at a time; what it returns says whether that was all. */
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
    const look = await database.transaction(({ sql }) => checkUnsigned(sql, checked));
    checked = look.through;
    if (!look.ended || !(await ends.next(database)).ended) return false;
    const head = await database.transaction(({ sql }) => signHead(sql, key, look.through));
    // Before `onSigned`, so that a head which a fail-over loses is missed.
    await watchSequence(database.sql, key);
    // The signed head vouches for what was checked; start over, for the log may be replaced after it.
    checked = -1n;
    if (head === "unchained") return true;
    // An empty log has no head yet: sign the first one as soon as there is one.
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

const lookOnAndOn = async (
  database: Database,
  look: SlowLook,
  { roundEveryMs, rests }: Pace,
  signal: AbortSignal,
  progressed: () => void,
): Promise<void> => {
  let roundMs = performance.now();
  while (!signal.aborted) {
    const beganMs = performance.now();
    const { ended } = await look.next(database);
    progressed();
    const restMs = restAfter(beganMs, rests === 0 ? 0 : (look.rests ?? rests));
    const untilRoundMs = ended ? roundMs + roundEveryMs - performance.now() : 0;
    await pause(Math.max(restMs, untilRoundMs), signal);
    if (ended) roundMs = performance.now();
  }
};
