/** Statements that end within this time are not cancelled. */
const CANCEL_AFTER_MS = 250;

/**
 * Calls `then` once the signal is aborted and the statement has lasted; returns a function to
 * cancel that.
 */
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
