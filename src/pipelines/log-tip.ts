import { createWaker } from "../waiting/waker.ts";

/**
 * How far the log is known to go. The first to hear tells it: the feed of this process, or a notification
 * from another.
 */
export type LogTip = {
  /** Next checkpoint of the log as far as is known; null before the first `tell`. */
  readonly next: bigint | null;
  /** Tells that the log goes up to, not including, this checkpoint. */
  tell(next: bigint): void;
  /** Ends every wait: something may have happened. */
  wake(): void;
  /** Resolves when the log goes beyond `next`, when woken, after `atMostMs`, or when `signal` aborts. */
  beyond(next: bigint, atMostMs: number, signal: AbortSignal): Promise<void>;
};

export const createLogTip = (): LogTip => {
  let known: bigint | null = null;
  const waker = createWaker();
  return {
    get next() {
      return known;
    },
    tell: (next) => {
      if (known !== null && next <= known) return;
      known = next;
      waker.wake();
    },
    wake: waker.wake,
    beyond: async (next, atMostMs, signal) => {
      if (known === null || known <= next) await waker.since(waker.mark(), atMostMs, signal);
    },
  };
};
