/** Compares this machine's clock with the database's and the newest checkpoint's. */
import { type Finding, fail, ok, warn } from "./finding.ts";
import type { Newest } from "./source.ts";

/** Callers' signatures tolerate 300 s; a clock this far off is not synchronised. */
const OFF_MS = 5_000;
const FAR_OFF_MS = 60_000;

/**
 * A chain makes several checkpoints a second: an older one means a source behind or a clock ahead.
 */
const OLD_MS = 120_000;

const REMEDY = "synchronise the clocks of both machines (NTP)";

/**
 * @param clockAheadMs of the database; undefined: unknown
 * @param newest of the source; undefined: unknown, or without a meaningful time
 */
export const checkClock = (
  clockAheadMs: number | undefined,
  newest: Newest | undefined,
): readonly Finding[] => {
  const findings: Finding[] = [];
  if (clockAheadMs !== undefined) {
    const off = Math.abs(clockAheadMs);
    const says = `the database's clock is ${seconds(off)} ${clockAheadMs < 0 ? "behind" : "ahead of"} this one`;
    findings.push(
      off < OFF_MS
        ? ok("the database's clock agrees")
        : (off < FAR_OFF_MS ? warn : fail)(says, REMEDY),
    );
  }
  if (newest !== undefined) {
    const ageMs = newest.askedAtMs - Number(newest.timestampMs);
    if (ageMs < -OFF_MS) {
      const says = `the newest checkpoint is from ${seconds(-ageMs)} after this clock's time`;
      findings.push((ageMs < -FAR_OFF_MS ? fail : warn)(says, REMEDY));
    } else if (ageMs > OLD_MS) {
      findings.push(
        warn(
          `the newest checkpoint is ${seconds(ageMs)} old by this clock`,
          "the source is behind, or the clock is ahead: compare the clock with a time server",
        ),
      );
    } else findings.push(ok(`the newest checkpoint is ${seconds(Math.max(0, ageMs))} old`));
  }
  return findings.length > 0 ? findings : [ok("nothing to compare it with")];
};

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
