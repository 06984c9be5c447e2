/**
 * An abort signal of one's own that also follows another.
 *
 * `signal` of a whole run lives for weeks while a request lives for milliseconds: whatever a client
 * library attaches to this one goes away with it, and disposing detaches it from the other.
 */
export type FollowingAbort = Disposable & {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
};

/** Use as `using call = followingAbort(signal)`: disposing ends whatever still runs under it. */
export const followingAbort = (followed: AbortSignal): FollowingAbort => {
  const own = new AbortController();
  const follow = () => own.abort(followed.reason);
  if (followed.aborted) follow();
  else followed.addEventListener("abort", follow, { once: true });
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    [Symbol.dispose]: () => {
      followed.removeEventListener("abort", follow);
      own.abort();
    },
  };
};
