/**
 * How far the log is known to go, told by whoever hears first: the feed of this process, or a
 * notification from another.
 */
export type LogTip = {
  /** Next checkpoint of the log as far as is known; null while nobody has told. */
  readonly next: bigint | null;
  /** Tells that the log goes up to, not including, this checkpoint. */
  tell(next: bigint): void;
  /** Wakes everybody who waits: something may have happened, nobody knows what. */
  wake(): void;
  /** Resolves when the log goes beyond `next`, when woken, after `atMostMs`, or when `signal` aborts. */
  beyond(next: bigint, atMostMs: number, signal: AbortSignal): Promise<void>;
};

export const createLogTip = (): LogTip => {
  let known: bigint | null = null;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const resume of [...waiting]) resume();
  };
  return {
    get next() {
      return known;
    },
    tell: (next) => {
      if (known !== null && next <= known) return;
      known = next;
      wake();
    },
    wake,
    beyond: (next, atMostMs, signal) =>
      new Promise((resolve) => {
        if (signal.aborted || (known !== null && known > next)) return resolve();
        const resume = () => {
          clearTimeout(timer);
          waiting.delete(resume);
          signal.removeEventListener("abort", resume);
          resolve();
        };
        const timer = setTimeout(resume, atMostMs);
        waiting.add(resume);
        signal.addEventListener("abort", resume);
      }),
  };
};
