/** Reasons of failed requests (specification, interface C). */
export const FAILURE_REASONS = [
  "INVALID_MESSAGE",
  "PII_STORAGE_ERROR",
  "ALREADY_WHITELISTED",
  "SIGNING_NOT_ALLOWED",
  "SIGNING_ERROR",
  "BROADCAST_SUBMIT_ERROR",
  "BROADCAST_FAILED",
  "CALLBACK_DELIVERY_FAILED",
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

/** What became of an ended request: not every FAILED one failed. */
export const OUTCOMES = ["done", "already_done", "done_undelivered", "failed"] as const;

export type Outcome = (typeof OUTCOMES)[number];

export const OUTCOME_MEANING =
  "done: it did what was asked; already_done: the wallet was whitelisted before (ALREADY_WHITELISTED), nothing was to do; done_undelivered: done, but its callback was given up (CALLBACK_DELIVERY_FAILED) and not delivered since; failed: not done. Null before it ends.";

/** Of a request that ends now. */
export const outcomeAtEnd = (reason: FailureReason | null): Outcome => {
  if (reason === null) return "done";
  return reason === "ALREADY_WHITELISTED" ? "already_done" : "failed";
};
