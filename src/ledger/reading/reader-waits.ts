/** How long a reader waits for what. */
import type { Backoff } from "../../waiting/backoff.ts";

/** Milliseconds; shorter in tests. */
export type ReaderWaits = {
  /** Between attempts after an error that may pass. */
  readonly backoff: Backoff;
  /** Between looks at the newest checkpoint of the chain. */
  readonly tipEveryMs: number;
  /** Between two notes of whether the source answers. */
  readonly noteEveryMs: number;
  /** Between questions for decimals that are still unknown. */
  readonly decimalsEveryMs: number;
  /** Between attempts to learn the times of checkpoints read before the log kept them. */
  readonly past: Backoff;
  /** How long a batch waits for an idle source while catching up. */
  readonly lingerMs: number;
  /** How often a checkpoint that cannot be decoded is fetched again. */
  readonly refetches: number;
  /** How long after the first time a source has to say again that it is of another chain, before that counts. */
  readonly confirmMs: number;
};

/** In life. */
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
