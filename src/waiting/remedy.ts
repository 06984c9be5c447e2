/**
 * What follows an error: `retry` with backoff, `wait` for a change elsewhere, or `stop` and alert
 * the operator. `retrying` acts on it for work, HTTP for requests.
 */
export type Remedy = "retry" | "wait" | "stop";

/** The error's remedy; `stop` when it has none: unforeseen errors are not retried. */
export const remedyOf = (error: unknown): Remedy =>
  error instanceof Error && "remedy" in error && isRemedy(error.remedy) ? error.remedy : "stop";

const isRemedy = (value: unknown): value is Remedy =>
  value === "retry" || value === "wait" || value === "stop";

/** JavaScript can throw anything. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
