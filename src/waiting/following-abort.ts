/**
 * An abort signal that follows another and can be aborted on its own.
 *
 * A run's signal lives for weeks, a request's for milliseconds: disposing detaches it, with all
 * listeners that libraries added.
 */
type FollowingAbort = Disposable & {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
};

/** Use as `using call = followingAbort(signal)`: disposing aborts whatever still runs under it. */
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
