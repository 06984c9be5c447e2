/** What only the process that reads EVM chains knows of them: plain values, also for another process. */
import type { EndpointHealth } from "../../evm/rpc/endpoint-health.ts";
import type { Trouble } from "./progress.ts";

export type ChainStanding = {
  /** Absent while it reads. */
  readonly trouble?: Trouble | undefined;
  /** In order of preference. */
  readonly endpoints: readonly EndpointHealth[];
  /** What is doubtful of tokens, by address; tokens without are absent. */
  readonly doubts: ReadonlyMap<string, readonly string[]>;
};

export type EvmStanding = {
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainStanding>;
  /** Why records are not made, by `recordsKey`; those that are made are absent. */
  readonly records: ReadonlyMap<string, Trouble>;
};

/** Names the records of a project on a chain. */
export const recordsKey = (project: string, chainId: number): string => `${project} ${chainId}`;
