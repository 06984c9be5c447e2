/** A source for commands that come to an end: they wait for it, but not for ever. */
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { isOfSource } from "./source-trouble.ts";

export type Patience = {
  /** How long it may go on saying something wrong, or nothing, milliseconds; 0: it is asked once. */
  readonly forMs: number;
  /** Refuses, with an error of the source, a checkpoint that cannot be used: it is fetched again. */
  readonly check?: (raw: RawCheckpoint) => void;
  /** Errors of the source that no waiting mends for the caller: thrown at once. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Told of every failure that is followed by another attempt. */
  readonly onTrouble: (error: Error, pauseMs: number) => void;
};

const BACKOFF = { firstMs: 500, maxMs: 60_000 };

/**
 * Asks a source again, slower and slower, and goes on after the last checkpoint it gave; where several are listed the
 * next one is asked. What it throws is the last failure, after `forMs` without a checkpoint.
 */
export const patientSource = (
  source: CheckpointSource,
  { forMs, check = () => {}, isFinal = () => false, onTrouble }: Patience,
): CheckpointSource => {
  const again = {
    backoff: BACKOFF,
    forMs,
    remedy: (error: unknown): Remedy => (isOfSource(error) && !isFinal(error) ? "retry" : "stop"),
    onTrouble,
  };
  /** Puts one question until it is answered; undefined when `signal` aborts. */
  const ask = async <Answer>(
    question: () => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: Answer } | undefined> =>
    retrying(
      async () => {
        const asked = source.listed?.inUse ?? 0;
        try {
          return { answer: await question() };
        } catch (error) {
          if (isOfSource(error)) source.failed?.(error, asked);
          throw error;
        }
      },
      again,
      signal,
    );
  const answered = async <Answer>(
    question: () => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const found = await ask(question, signal);
    if (found === undefined) throw signal.reason;
    return found.answer;
  };
  return {
    get description() {
      return source.description;
    },
    chainId: (signal) => answered(() => source.chainId(signal), signal),
    latest: (signal) => answered(() => source.latest(signal), signal),
    checkpoints: async function* ({ first, ...range }, signal) {
      let next = first;
      let reading: AsyncIterator<RawCheckpoint> | undefined;
      const take = async () => {
        reading ??= source.checkpoints({ first: next, ...range }, signal)[Symbol.asyncIterator]();
        try {
          const taken = await reading.next();
          if (!taken.done) check(taken.value);
          return taken;
        } catch (error) {
          await reading.return?.();
          reading = undefined;
          throw error;
        }
      };
      try {
        for (;;) {
          const taken = await ask(take, signal);
          if (taken === undefined || taken.answer.done) return;
          yield taken.answer.value;
          next = taken.answer.value.sequence + 1n;
        }
      } finally {
        await reading?.return?.();
      }
    },
    close: () => source.close(),
  };
};
