/** Waits for an event without missing one between checking and waiting. */

export type Waker = {
  /** Ends current waits, and those with a mark taken before. */
  wake(): void;
  /** Take a mark before checking. */
  mark(): number;
  /**
   * Resolves at the first `wake` after `mark`, after `ms` milliseconds (never, if absent), or when
   * `signal` aborts. Never rejects.
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
