/** The only date format that HTTP asks for (IMF-fixdate); `Date.parse` alone would take almost anything. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads an HTTP `Retry-After` field (RFC 9110, 10.2.3): seconds or a date. The standard has whole seconds;
 * RPC providers also send fractions.
 *
 * @param nowMs the wall clock, milliseconds since the Unix epoch: a date is relative to it
 * @returns how long the server asks to wait, milliseconds, 0 for a date in the past; undefined when the
 *   field is absent or malformed. Not bounded: no server may keep a caller waiting for ever, and how
 *   long is too long is the caller's choice
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
