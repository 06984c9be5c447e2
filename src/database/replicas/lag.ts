/** How long ago the primary was where a replica is now. */

type Sample = { readonly lsn: bigint; readonly atMs: number };

/** Samples per bound: the lag is exact to this fraction of it. */
const PER_BOUND = 50;

/** Two bounds: a longer lag is not measured more exactly. */
const MAX_SAMPLES = 2 * PER_BOUND;

export type LagClock = {
  /** Notes where the primary is: asked and answered at these times. */
  sample(lsn: bigint, times: { readonly askedMs: number; readonly atMs: number }): void;
  /** Whether the primary, asked later, was not as far as a server had been at `seenMs`: it never had what that server has. */
  isBeyond(lsn: bigint, seenMs: number): boolean;
  /**
   * Milliseconds since the primary passed this position, 0 at its end. Undefined when it passed before the first
   * sample.
   */
  lagMs(lsn: bigint, nowMs: number): number | undefined;
};

/** @param boundMs lag that matters */
export const createLagClock = (boundMs: number): LagClock => {
  const samples: Sample[] = [];
  let [newest, newestAskedMs] = [0n, 0];
  return {
    sample: (lsn, { askedMs, atMs }) => {
      [newest, newestAskedMs] = [lsn, askedMs];
      // Of a former primary that was further.
      while ((samples.at(-1)?.lsn ?? lsn) > lsn) samples.pop();
      const last = samples.at(-1);
      if (last !== undefined && (lsn <= last.lsn || atMs - last.atMs < boundMs / PER_BOUND)) return;
      samples.push({ lsn, atMs });
      if (samples.length > MAX_SAMPLES) samples.shift();
    },
    isBeyond: (lsn, seenMs) => lsn > newest && seenMs < newestAskedMs,
    lagMs: (lsn, nowMs) => {
      if (lsn >= newest) return 0;
      const passed = samples.findIndex((sample) => sample.lsn > lsn);
      if (passed === 0) return undefined;
      // Beyond the last sample, which may be older than the newest position.
      const since = samples[passed] ?? samples.at(-1);
      return since === undefined ? undefined : Math.max(0, nowMs - since.atMs);
    },
  };
};
