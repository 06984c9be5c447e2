/**
 * Measures whether a source answers.
 *
 * "Nothing new" is an answer, too. The reader always asks for the newest checkpoint, whatever else
 * it does, so that no answer means silence. Pauses of the process do not count.
 */
import { onlyPlaces } from "../../values/place.ts";
import { awakeMs } from "../../waiting/awake.ts";
import { SourceUnavailableError } from "./source-errors.ts";

export type Contact = {
  /** Milliseconds since its last answer to this process; null before the first. */
  readonly answeredAgoMs: number | null;
  /** Milliseconds since then, or since the first request, while this process ran. */
  readonly silentMs: number;
  /** Last error since the last answer; URLs cut to scheme and host. */
  readonly error: string | null;
};

export type SourceContact = {
  /** The source is asked from now on. */
  asked(): void;
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
  /** The last answer, or the first request before any. */
  let silentSince: number | null = null;
  let answeredAt: number | null = null;
  let error: string | null = null;
  return {
    asked: () => {
      silentSince ??= clock();
    },
    answered: () => {
      answeredAt = clock();
      silentSince = answeredAt;
      error = null;
    },
    failed: (reason) => {
      error = wordsOf(reason);
    },
    now: () => {
      const at = clock();
      return {
        answeredAgoMs: answeredAt === null ? null : at - answeredAt,
        silentMs: silentSince === null ? 0 : at - silentSince,
        error,
      };
    },
  };
};

/** Reports the outcome of a request, unless `signal` aborted: neither is the source's then. */
export const reporting = async <Answer>(
  observer: SourceObserver,
  question: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> => {
  const beganMs = performance.now();
  try {
    const answer = await question;
    if (!signal.aborted) observer.answered();
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
