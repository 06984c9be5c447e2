/** What `evm-health.ts` tells of EVM chains, their records and callbacks, as figures for `/metrics`. */
import type { Registry } from "prom-client";
import type { CallbackFigures } from "../../callbacks/figures.ts";
import type { ChainHealth, EvmDetails } from "./evm-health.ts";
import type { Health } from "./health.ts";
import { healthGauge } from "./health-gauge.ts";

/** Adds the gauges to the registry. */
export const evmGauges = (registry: Registry, health: Health): void => {
  const gauge = healthGauge(registry, health, isEvmDetails);
  const chainGauge = (name: string, help: string, of: (chain: ChainHealth) => string | null) =>
    gauge(name, help, ["chain", "network"], ({ evm }, set) => {
      for (const chain of evm.chains) {
        const value = of(chain);
        if (value !== null) {
          set({ chain: `${chain.chainId}`, network: chain.network }, Number(value));
        }
      }
    });
  chainGauge("evm_head_block", "Newest block known of an EVM chain", (chain) => chain.headBlock);
  chainGauge("evm_next_block", "Next block of an EVM chain to read", (chain) => chain.nextBlock);
  chainGauge("evm_final_block", "Newest final block of an EVM chain", (chain) => chain.finalBlock);
  chainGauge("evm_stalled", "1 while an EVM chain should be read and is not", ({ state }) =>
    state === "stalled" ? "1" : "0",
  );
  chainGauge(
    "evm_final_blocks_replaced",
    "How often an EVM chain replaced blocks that were final",
    ({ finalReplaced }) => `${finalReplaced?.times ?? 0}`,
  );
  chainGauge(
    "evm_warnings",
    "What an operator should look at, see /health",
    ({ warnings }) => `${warnings.length}`,
  );
  gauge(
    "evm_endpoint_usable",
    "0 while an RPC endpoint is set aside",
    ["chain", "network", "endpoint"],
    ({ evm }, set) => {
      for (const { chainId, network, endpoints } of evm.chains) {
        for (const { endpoint, state } of endpoints) {
          const usable = state === "good" || state === "unused";
          set({ chain: `${chainId}`, network, endpoint }, Number(usable));
        }
      }
    },
  );
  gauge(
    "transfer_events_lag_blocks",
    "Blocks read whose transfer events are not made yet",
    ["project", "chain"],
    ({ evm }, set) => {
      for (const { project, chainId, lagBlocks } of evm.transferEvents) {
        if (lagBlocks !== null) set({ project, chain: `${chainId}` }, Number(lagBlocks));
      }
    },
  );
  const figure = (name: string, help: string, of: (figures: CallbackFigures) => number) =>
    gauge(name, help, [], ({ callbacks }, set) => set({}, of(callbacks)));
  figure("callbacks_pending", "Callbacks neither delivered nor given up", ({ pending }) => pending);
  figure(
    "callbacks_oldest_pending_seconds",
    "Age of the oldest of them",
    (figures) => figures.oldestPendingSeconds,
  );
  figure(
    "callback_endpoints_failing",
    "Callback addresses that keep failing, 100 at most",
    (f) => f.failing.length,
  );
  figure(
    "callback_endpoints_disabled",
    "Callback addresses that are disabled, 100 at most",
    (f) => f.disabled.length,
  );
};

const isEvmDetails = (details: unknown): details is EvmDetails =>
  typeof details === "object" && details !== null && "evm" in details && "callbacks" in details;
