/** Shares a read between concurrent callers, and caches it briefly. */

export const FRESH_MS = 1_000;

type SharedLook<Seen> = {
  /** At most `FRESH_MS` old; failures are shared, too. */
  (): Promise<Seen>;
  /** Resolves once the read under way has ended. Never rejects. */
  settled(): Promise<void>;
};

/** @param now milliseconds of any clock */
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
