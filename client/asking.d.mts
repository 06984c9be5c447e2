/**
 * The service refused, could not answer in time, or could not be reached. Requests are tried again by
 * themselves while that can help; what is thrown is the last refusal.
 */
export declare class BookError extends Error {
  override readonly name: "BookError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Of the service's error body, such as `NOT_YET_INDEXED`; empty where there was none. */
  readonly code: string;
  /** To quote when asking whoever runs the service. */
  readonly requestId: string | null;
  /** How long the service asked to wait; null when it did not say. */
  readonly retryAfterMs: number | null;
  /** Whether the same request could succeed later, or has to be changed first. */
  readonly remedy: "retry" | "stop";
}
