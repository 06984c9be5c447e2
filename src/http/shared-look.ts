/** A look at something that many ask for: they share one, so that asking often costs nothing. */

/** Whoever asks within it gets the same, milliseconds. */
export const FRESH_MS = 1_000;

export type SharedLook<Seen> = {
  /** What is seen now, never older than `FRESH_MS`; a look that fails fails for all who share it. */
  (): Promise<Seen>;
  /** Resolves once the look that is under way has ended. Never rejects. */
  settled(): Promise<void>;
};

/** @param now milliseconds, of any clock */
export const shareLooks = <Seen>(
  look: () => Promise<Seen>,
  now: () => number = () => performance.now(),
): SharedLook<Seen> => {
  let last: { readonly atMs: number; readonly seen: Promise<Seen> } | undefined;
  const shared = () => {
    if (last !== undefined && now() - last.atMs < FRESH_MS) return last.seen;
    last = { atMs: now(), seen: look() };
    return last.seen;
  };
  const settled = async () => void (await last?.seen.catch(() => undefined));
  return Object.assign(shared, { settled });
};
