/** Threads that read ranges of a backfill, so that a process uses all cores. */
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { RangeReader } from "../backfill/work-ranges.ts";
import type { RangeAnswer, RangeOrder } from "./range-thread.ts";

const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);

const answer = z.union([
  z.object({ id: z.number(), content: bytes, rawBytes: z.number() }),
  z.object({ id: z.number(), error: z.object({ name: z.string(), message: z.string() }) }),
]) satisfies z.ZodType<RangeAnswer>;

type Result = Awaited<ReturnType<RangeReader>>;

type Pending = {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
};

export type RangeThreads = AsyncDisposable & {
  /** Gives the range to the thread with the fewest. */
  readonly read: RangeReader;
};

/** @param onLost called when a thread ends by itself: end the process */
export const startRangeThreads = (count: number, onLost: (error: Error) => void): RangeThreads => {
  let ended = false;
  let orders = 0;
  const threads = Array.from({ length: count }, () => {
    const thread = new Worker(new URL("./range-thread.ts", import.meta.url));
    const pending = new Map<number, Pending>();
    const lose = (error: Error) => {
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
      if (!ended) onLost(error);
    };
    thread.on("message", (message) => {
      const answered = answer.parse(message);
      const waiting = pending.get(answered.id);
      pending.delete(answered.id);
      if ("content" in answered) waiting?.resolve(answered);
      else waiting?.reject(Object.assign(new Error(answered.error.message), answered.error));
    });
    thread.on("error", lose);
    thread.on("exit", (code) =>
      lose(new Error(`a thread that reads ranges ended with code ${code}`)),
    );
    return { thread, pending };
  });
  return {
    read: async (range, packages, signal) => {
      const [first, ...others] = threads;
      if (first === undefined) throw new Error("no thread reads ranges");
      const { thread, pending } = others.reduce(
        (least, each) => (each.pending.size < least.pending.size ? each : least),
        first,
      );
      orders += 1;
      const id = orders;
      const { promise, ...settling } = Promise.withResolvers<Result>();
      pending.set(id, settling);
      const give = (order: RangeOrder) => thread.postMessage(order);
      give({ id, range, packages });
      const abort = () => give({ id, abort: true });
      signal.addEventListener("abort", abort);
      return promise.finally(() => signal.removeEventListener("abort", abort));
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      await Promise.all(threads.map(({ thread }) => thread.terminate()));
    },
  };
};
