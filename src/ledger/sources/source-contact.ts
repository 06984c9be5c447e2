/**
 * Whether a source answers: when it last did, and for how long a question has been waiting since.
 *
 * An answer is an answer also when it says "nothing new", so a quiet chain is no silence. Time counts
 * while a question is open or due, and at no other: what our own commits take is not the source's, nor is
 * the time in which this process was stopped.
 */
import { onlyPlaces } from "../../values/place.ts";
import { awakeMs } from "../../waiting/awake.ts";
import { SourceUnavailableError } from "./source-errors.ts";

/** What is known of the source now. */
export type Contact = {
  /** Milliseconds since its last answer to this process; null before the first. */
  readonly answeredAgoMs: number | null;
  /** Milliseconds during which a question was open or due since then; 0 when none is waiting. */
  readonly silentMs: number;
  /** What went wrong last, since the last answer; URLs cut to scheme and host. */
  readonly error: string | null;
};

/** Told by every question to the source. */
export type SourceContact = {
  /** A question is open, or due, until this is disposed of. */
  asking(): Disposable;
  /** The source answered something, whatever it said. */
  answered(): void;
  /** A question brought no answer. */
  failed(error: unknown): void;
  now(): Contact;
};

/** What sources themselves tell of the single questions they put. */
export type Hearing = Pick<SourceContact, "answered" | "failed"> & {
  /** Told how long an answer took. */
  readonly took?: (seconds: number) => void;
};

/** Ignores what it is told. */
export const NO_HEARING: Hearing = { answered: () => {}, failed: () => {} };

/** An error may quote what it choked on. */
const LONGEST_ERROR = 300;

/** @param clock milliseconds from any fixed point, while this process runs; replaced by tests */
export const createContact = (clock: () => number = awakeMs): SourceContact => {
  let open = 0;
  /** Since when a question has been open that was not answered; null while none is. */
  let silentSince: number | null = null;
  /** Silence of questions given up since the last answer, milliseconds. */
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

/** Tells what became of one question. Failures after `signal` aborted are our own. */
export const heard = async <Answer>(
  hearing: Hearing,
  question: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> => {
  const beganMs = performance.now();
  try {
    const answer = await question;
    hearing.answered();
    hearing.took?.((performance.now() - beganMs) / 1_000);
    return answer;
  } catch (error) {
    if (!signal.aborted) hearing.failed(error);
    throw error;
  }
};

/** How a failure is shown: by its last reason alone where several attempts failed; the source is named beside it. */
export const wordsOf = (reason: unknown): string => {
  const last = reason instanceof SourceUnavailableError ? reason.cause : reason;
  return onlyPlaces(last instanceof Error ? last.message : String(last)).slice(0, LONGEST_ERROR);
};
