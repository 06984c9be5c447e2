/** Delays and intervals of a reader. */
import type { Backoff } from "../../waiting/backoff.ts";

/** Milliseconds; shorter in tests. */
export type ReaderWaits = {
  /** After transient errors. */
  readonly backoff: Backoff;
  /** Interval of asking for the newest checkpoint. */
  readonly tipEveryMs: number;
  /** Interval of source notes. */
  readonly noteEveryMs: number;
  /** Interval of asking for unknown decimals. */
  readonly decimalsEveryMs: number;
  /** Delay of filling in times and inputs of older versions. */
  readonly past: Backoff;
  /** How long a batch waits for an idle source while catching up. */
  readonly lingerMs: number;
  /** Repeated fetches of an undecodable checkpoint. */
  readonly refetches: number;
  /** Minimum time before repeated evidence of another chain counts. */
  readonly confirmMs: number;
};

export const DEFAULT_WAITS: ReaderWaits = {
  backoff: { firstMs: 500, maxMs: 60_000 },
  tipEveryMs: 5_000,
  noteEveryMs: 5_000,
  decimalsEveryMs: 60_000,
  past: { firstMs: 30_000, maxMs: 3_600_000 },
  lingerMs: 100,
  refetches: 2,
  confirmMs: 10_000,
};
