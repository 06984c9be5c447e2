/** Gauges of EVM chains, their records and callbacks from `evm-health.ts`. */
import type { Registry } from "prom-client";
import type { CallbackFigures } from "../../callbacks/figures.ts";
import type { ChainHealth, EvmDetails } from "./evm-health.ts";
import type { Health } from "./health.ts";
import { healthGauge } from "./health-gauge.ts";

export const evmGauges = (registry: Registry, health: Health): void => {
  const gauge = healthGauge(registry, health, isEvmDetails);
  const chainGauge = (name: OfChain, of: (chain: ChainHealth) => string | null) =>
    gauge(name, ({ evm }, set) => {
      for (const chain of evm.chains) {
        const value = of(chain);
        if (value !== null) {
          set({ chain: `${chain.chainId}`, network: chain.network }, Number(value));
        }
      }
    });
  chainGauge("holderbook_evm_head_block", (chain) => chain.headBlock);
  chainGauge("holderbook_evm_next_block", (chain) => chain.nextBlock);
  chainGauge("holderbook_evm_final_block", (chain) => chain.finalBlock);
  chainGauge("holderbook_evm_stalled", ({ state }) => (state === "stalled" ? "1" : "0"));
  chainGauge(
    "holderbook_evm_final_blocks_replaced",
    ({ finalReplaced }) => `${finalReplaced?.times ?? 0}`,
  );
  chainGauge("holderbook_evm_warnings", ({ warnings }) => `${warnings.length}`);
  gauge("holderbook_evm_endpoint_usable", ({ evm }, set) => {
    for (const { chainId, network, endpoints } of evm.chains) {
      for (const { endpoint, state } of endpoints) {
        const usable = state === "good" || state === "unused";
        set({ chain: `${chainId}`, network, endpoint }, Number(usable));
      }
    }
  });
  gauge("holderbook_transfer_events_lag_blocks", ({ evm }, set) => {
    for (const { project, chainId, lagBlocks } of evm.transferEvents) {
      if (lagBlocks !== null) set({ project, chain: `${chainId}` }, Number(lagBlocks));
    }
  });
  const figure = (name: OfCallbacks, of: (figures: CallbackFigures) => number) =>
    gauge(name, ({ callbacks }, set) => set({}, of(callbacks)));
  figure("holderbook_callbacks_pending", ({ pending }) => pending);
  figure("holderbook_callbacks_oldest_pending_seconds", (f) => f.oldestPendingSeconds);
  figure("holderbook_callback_endpoints_failing", (f) => f.failing.length);
  figure("holderbook_callback_endpoints_disabled", (f) => f.disabled.length);
};

type OfChain =
  `holderbook_evm_${"head_block" | "next_block" | "final_block" | "stalled" | "final_blocks_replaced" | "warnings"}`;

type OfCallbacks =
  | `holderbook_callbacks_${"pending" | "oldest_pending_seconds"}`
  | `holderbook_callback_endpoints_${"failing" | "disabled"}`;

const isEvmDetails = (details: unknown): details is EvmDetails =>
  typeof details === "object" && details !== null && "evm" in details && "callbacks" in details;
