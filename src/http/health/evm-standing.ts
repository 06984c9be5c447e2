/** What only the process that reads EVM chains knows; plain values, so that it can be sent. */
import type { EndpointHealth } from "../../evm/rpc/endpoint-health.ts";
import type { Trouble } from "./progress.ts";

export type ChainStanding = {
  /** Absent while reading works. */
  readonly trouble?: Trouble | undefined;
  /** In order of preference. */
  readonly endpoints: readonly EndpointHealth[];
  /** Doubts by token address; tokens without doubts are absent. */
  readonly doubts: ReadonlyMap<string, readonly string[]>;
};

export type EvmStanding = {
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainStanding>;
  /** Why records are not made, by `recordsKey`. */
  readonly records: ReadonlyMap<string, Trouble>;
};

export const recordsKey = (project: string, chainId: number): string => `${project} ${chainId}`;
