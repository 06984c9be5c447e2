/** IMF-fixdate, the only format HTTP requires; `Date.parse` accepts almost anything. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Parses HTTP `Retry-After` (RFC 9110, 10.2.3), seconds or a date; also fractions, which RPC
 * providers send.
 *
 * @param nowMs Unix milliseconds, for a date
 * @returns milliseconds to wait, 0 for a past date; undefined when absent or malformed. Unbounded:
 * callers must apply a limit
 */
export const retryAfterMs = (
  field: string | null | undefined,
  nowMs: number = Date.now(),
): number | undefined => {
  const text = field?.trim() ?? "";
  if (/^\d{1,10}(\.\d{1,9})?$/.test(text)) return Math.round(Number(text) * 1_000);
  if (!IMF_FIXDATE.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
};
