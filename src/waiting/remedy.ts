/**
 * What whoever catches an error does next: back off and `retry`, `wait` for the world to change, or
 * `stop` and tell the operator. One place acts on it: the runner for pipelines, the reader for
 * sources, the job boundary for workers.
 */
export type Remedy = "retry" | "wait" | "stop";

/** An error that knows its remedy. */
export type Remediable = Error & { readonly remedy: Remedy };

/** The remedy an error names, or `stop`: what nobody foresaw is never retried blindly. */
export const remedyOf = (error: unknown): Remedy =>
  error instanceof Error && "remedy" in error && isRemedy(error.remedy) ? error.remedy : "stop";

const isRemedy = (value: unknown): value is Remedy =>
  value === "retry" || value === "wait" || value === "stop";
