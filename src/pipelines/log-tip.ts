import { createWaker } from "../waiting/waker.ts";

/** How far the log is known to go, from this process's feed or another's notifications. */
export type LogTip = {
  /** Next checkpoint of the log; null before the first `advance`. */
  readonly next: bigint | null;
  /** The log goes up to, not including, this checkpoint. */
  advance(next: bigint): void;
  /** Ends every wait. */
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
    advance: (next) => {
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
