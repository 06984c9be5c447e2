/**
 * Measures whether a source answers.
 *
 * "Nothing new" is an answer, too. Only time with an open or due request counts, not our own
 * commits or pauses of the process.
 */
import { onlyPlaces } from "../../values/place.ts";
import { awakeMs } from "../../waiting/awake.ts";
import { SourceUnavailableError } from "./source-errors.ts";

export type Contact = {
  /** Milliseconds since its last answer to this process; null before the first. */
  readonly answeredAgoMs: number | null;
  /** Milliseconds since then with an open or due request. */
  readonly silentMs: number;
  /** Last error since the last answer; URLs cut to scheme and host. */
  readonly error: string | null;
};

export type SourceContact = {
  /** A request is open or due until disposed. */
  asking(): Disposable;
  answered(): void;
  failed(error: unknown): void;
  now(): Contact;
};

/** What sources report of single requests. */
export type SourceObserver = Pick<SourceContact, "answered" | "failed"> & {
  readonly took?: (seconds: number) => void;
};

export const NO_OBSERVER: SourceObserver = { answered: () => {}, failed: () => {} };

/** Errors may quote foreign text. */
const LONGEST_ERROR = 300;

/** @param clock milliseconds while this process runs; replaced by tests */
export const createContact = (clock: () => number = awakeMs): SourceContact => {
  let open = 0;
  /** Start of the open, unanswered request; null without one. */
  let silentSince: number | null = null;
  /** Silence of requests given up since the last answer, ms. */
  let silentBefore = 0;
  let answeredAt: number | null = null;
  let error: string | null = null;

  const close = () => {
    open -= 1;
    if (open > 0 || silentSince === null) return;
    silentBefore += clock() - silentSince;
    silentSince = null;
  };

  return {
    asking: () => {
      if (open === 0) silentSince = clock();
      open += 1;
      let closed = false;
      return {
        [Symbol.dispose]: () => {
          if (!closed) close();
          closed = true;
        },
      };
    },
    answered: () => {
      answeredAt = clock();
      silentBefore = 0;
      if (silentSince !== null) silentSince = answeredAt;
      error = null;
    },
    failed: (reason) => {
      error = wordsOf(reason);
    },
    now: () => {
      const at = clock();
      return {
        answeredAgoMs: answeredAt === null ? null : at - answeredAt,
        silentMs: silentBefore + (silentSince === null ? 0 : at - silentSince),
        error,
      };
    },
  };
};

/** Reports the outcome of a request, except failures after `signal` aborted. */
export const reporting = async <Answer>(
  observer: SourceObserver,
  question: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> => {
  const beganMs = performance.now();
  try {
    const answer = await question;
    observer.answered();
    observer.took?.((performance.now() - beganMs) / 1_000);
    return answer;
  } catch (error) {
    if (!signal.aborted) observer.failed(error);
    throw error;
  }
};

/** Text of a failure: the last reason of several attempts. */
export const wordsOf = (reason: unknown): string => {
  const last = reason instanceof SourceUnavailableError ? reason.cause : reason;
  return onlyPlaces(last instanceof Error ? last.message : String(last)).slice(0, LONGEST_ERROR);
};
