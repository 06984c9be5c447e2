import { expect, test } from "vitest";
import { retryAfterMs } from "../../src/waiting/retry-after.ts";

test("Retry-After is seconds or an HTTP date, and anything else is ignored", () => {
  const nowMs = Date.parse("2026-03-01T12:00:00Z");
  expect(retryAfterMs("120", nowMs)).toBe(120_000);
  expect(retryAfterMs(" 0 ", nowMs)).toBe(0);
  expect(retryAfterMs("Sun, 01 Mar 2026 12:01:30 GMT", nowMs)).toBe(90_000);
  expect(retryAfterMs("Sun, 01 Mar 2026 11:00:00 GMT", nowMs)).toBe(0);
  const malformed = ["", "-1", "1.", "1e3", "soon", "2026-03-01", "99999999999"];
  for (const text of [undefined, null, ...malformed, "Sun, 99 Mar 2026 11:00:00 GMT"]) {
    expect(retryAfterMs(text, nowMs)).toBeUndefined();
  }
});
