/** A statement that ends by itself within this is not cancelled. */
const CANCEL_AFTER_MS = 250;

/** Calls `then` once the caller is gone and the statement has lasted; returns what calls that off. */
export const whenLasting = (signal: AbortSignal, then: () => void): (() => void) => {
  const begunMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const gone = () => {
    timer = setTimeout(then, Math.max(0, begunMs + CANCEL_AFTER_MS - performance.now()));
  };
  signal.addEventListener("abort", gone, { once: true });
  return () => {
    signal.removeEventListener("abort", gone);
    clearTimeout(timer);
  };
};
