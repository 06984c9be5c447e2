/**
 * Whether an asset's register knows all that the ledger's node had when a request asked for the first
 * time. That place stands until it is reached: a ledger that goes on all the time would never be caught
 * up with.
 */
import type { Logger } from "../../logger.ts";
import type { Relay } from "../ports/relay.ts";
import type { OpenRequest } from "./lanes.ts";
import type { Register } from "./register.ts";

/** Places that are remembered; a request whose place is forgotten asks again. */
const MOST_PLACES = 10_000;

/** What is known in this process of who waits for which register. */
export type Freshness = {
  /** The node's end when the request asked first, or now where that is lower. @throws RelayUnavailableError (retry) */
  tip(request: Pick<OpenRequest, "id">, relay: Relay, signal: AbortSignal): Promise<bigint>;
  /** The request's place is reached, or not yet: of that the log hears when it lasts. */
  seen(request: Pick<OpenRequest, "id" | "asset">, reached: boolean): void;
};

/** Begins to watch; `overdueMs`: how long a register may stay behind before it is spoken of. */
export const freshness = (settings: {
  readonly logger: Pick<Logger, "warn">;
  readonly overdueMs: number;
}): Freshness => {
  const { logger, overdueMs } = settings;
  const tips = new Map<string, bigint>();
  /** Since when nobody has found an asset's register up to date, and when that was said last. */
  const behind = new Map<string, { readonly since: number; said: number }>();
  return {
    tip: async ({ id }, relay, signal) => {
      const now = await relay.tip(signal);
      const before = tips.get(id);
      // The lower one: a node may have named an end that is none.
      const tip = before !== undefined && before < now ? before : now;
      if (tips.size >= MOST_PLACES) tips.clear();
      tips.set(id, tip);
      return tip;
    },

    seen: ({ id, asset }, reached) => {
      const tip = tips.get(id);
      if (reached) {
        tips.delete(id);
        behind.delete(asset);
        return;
      }
      const now = performance.now();
      const late = behind.get(asset) ?? { since: now, said: now };
      behind.set(asset, late);
      if (now - late.said < overdueMs) return;
      late.said = now;
      const minutes = Math.floor((now - late.since) / 60_000);
      logger.warn(
        { asset, requestId: id, tip, minutes },
        `transfer agent: for ${minutes} minutes the register of ${asset} has not come to where the ledger's ` +
          "node is; its requests wait until it does. Look at the indexing: holderbook status, GET /health",
      );
    },
  };
};

/** Waits for a request's register; false when it is not there yet. */
export const isFresh = async (
  freshness: Freshness,
  asset: { readonly register: Pick<Register, "hasReached">; readonly relay: Relay },
  request: Pick<OpenRequest, "id" | "asset">,
  signal: AbortSignal,
  wait: (holds: () => Promise<boolean>) => Promise<boolean>,
): Promise<boolean> => {
  const tip = await freshness.tip(request, asset.relay, signal);
  const reached = await wait(() => asset.register.hasReached(tip));
  freshness.seen(request, reached);
  return reached;
};
