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
