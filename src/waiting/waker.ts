/** Waits for something to happen, and never misses what happens between looking and waiting. */

/** Any number of waits may be under way at a time; `wake` ends them all. */
export type Waker = {
  /** Ends the waits under way, and those that begin with a mark taken before this. */
  wake(): void;
  /** How far things have come; take it before looking. */
  mark(): number;
  /**
   * Resolves at the first `wake` after `mark` was taken, after `ms` milliseconds (never, when absent), or
   * when `signal` aborts. Never rejects.
   */
  since(mark: number, ms?: number, signal?: AbortSignal): Promise<void>;
};

export const createWaker = (): Waker => {
  let wakes = 0;
  const waiting = new Set<() => void>();
  return {
    wake: () => {
      wakes += 1;
      for (const resume of [...waiting]) resume();
    },
    mark: () => wakes,
    since: (mark, ms, signal) =>
      new Promise((resolve) => {
        if (wakes !== mark || signal?.aborted) return resolve();
        const resume = () => {
          clearTimeout(timer);
          waiting.delete(resume);
          signal?.removeEventListener("abort", resume);
          resolve();
        };
        const timer = ms === undefined ? undefined : setTimeout(resume, Math.max(0, ms));
        waiting.add(resume);
        signal?.addEventListener("abort", resume, { once: true });
      }),
  };
};
