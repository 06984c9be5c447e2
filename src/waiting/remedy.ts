/**
 * What is done about an error next: back off and `retry`, `wait` for the world to change, or `stop` and
 * tell the operator. `retrying` does it where work is tried again, HTTP where a request is answered.
 */
export type Remedy = "retry" | "wait" | "stop";

/** The remedy an error names, or `stop`: what was not foreseen is never retried blindly. */
export const remedyOf = (error: unknown): Remedy =>
  error instanceof Error && "remedy" in error && isRemedy(error.remedy) ? error.remedy : "stop";

const isRemedy = (value: unknown): value is Remedy =>
  value === "retry" || value === "wait" || value === "stop";

/** What was thrown, as an error: JavaScript lets anything be thrown. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
