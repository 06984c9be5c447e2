/** No server may make us wait longer than this at a time; asking once more then does no harm. */
const LONGEST_MS = 15 * 60_000;

/**
 * Reads an HTTP `Retry-After` field (RFC 9110, 10.2.3): whole seconds or a date.
 *
 * @param nowMs the wall clock, milliseconds since the Unix epoch: a date is relative to it
 * @returns how long to wait, milliseconds, at most 15 minutes; 0 when the field is absent, malformed
 *   or in the past
 */
export const retryAfterMs = (field: string | undefined, nowMs: number): number => {
  if (field === undefined) return 0;
  const text = field.trim();
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(LONGEST_MS, Math.max(0, waitMs)) : 0;
};
