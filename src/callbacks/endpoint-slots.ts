/**
 * How many lanes of one endpoint this process works on at once: a receiver that is slow or down must
 * not keep every worker waiting while others are well.
 */

/** Lanes of a failing endpoint at once: enough to notice that it is well again. */
const FAILING_SLOTS = 2;

/** Ranges, in ms, in which a lane without a slot tries again. */
const BUSY_WAIT_MS = { least: 200, most: 800 };
const FAILING_WAIT_MS = { least: 5_000, most: 15_000 };

/** A slot to give back, or how long to leave the lane alone. */
export type Slot = { readonly release: () => void } | { readonly waitMs: number };

export const endpointSlots = (concurrency: number) => {
  const most = Math.max(FAILING_SLOTS, Math.ceil(concurrency / 2));
  const taken = new Map<string, number>();
  return {
    take: (endpoint: string, failing: boolean): Slot => {
      const now = taken.get(endpoint) ?? 0;
      if (now >= (failing ? FAILING_SLOTS : most)) {
        const { least, most: longest } = failing ? FAILING_WAIT_MS : BUSY_WAIT_MS;
        return { waitMs: least + Math.random() * (longest - least) };
      }
      taken.set(endpoint, now + 1);
      return {
        release: () => {
          const left = (taken.get(endpoint) ?? 1) - 1;
          if (left > 0) taken.set(endpoint, left);
          else taken.delete(endpoint);
        },
      };
    },
  };
};
