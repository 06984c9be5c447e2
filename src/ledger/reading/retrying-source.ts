/** A source with retries for commands that end. */
import type { Remedy } from "../../waiting/remedy.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { isOfSource } from "./source-trouble.ts";

export type SourceRetries = {
  /** Maximum duration of failures, ms; 0: no retry. */
  readonly forMs: number;
  /** Throws a source error for a useless checkpoint, which is fetched again. */
  readonly check?: (raw: RawCheckpoint) => void;
  /** Source errors that are thrown immediately. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Called before each retry. */
  readonly onTrouble: (error: Error, pauseMs: number) => void;
};

const BACKOFF = { firstMs: 500, maxMs: 60_000 };

/**
 * Retries with growing delays, also on the next listed source, and continues after the last
 * checkpoint. Throws the last error after `forMs` without one.
 */
export const retryingSource = (
  source: CheckpointSource,
  { forMs, check = () => {}, isFinal = () => false, onTrouble }: SourceRetries,
): CheckpointSource => {
  const again = {
    backoff: BACKOFF,
    forMs,
    remedy: (error: unknown): Remedy => (isOfSource(error) && !isFinal(error) ? "retry" : "stop"),
    onTrouble,
  };
  /** Retries a request; undefined when `signal` aborts. */
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
    ...(source.leavesOut !== undefined && { leavesOut: source.leavesOut }),
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
