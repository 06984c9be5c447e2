/** What only the process that indexes knows; plain values, so that they can be sent. */
import type { EndpointHealth } from "../../evm/rpc/endpoint-health.ts";
import type { Trouble } from "../../http/health/progress.ts";
import type { Series } from "../../telemetry/figures.ts";

export type LocalProgress = {
  /** Newest checkpoint of the chain by the source; null while unknown. */
  readonly tip: bigint | null;
  readonly reader?: Trouble | undefined;
  /** By name; only pipelines in trouble. */
  readonly pipelines: ReadonlyMap<string, Trouble>;
  /** The indexing process does not answer. */
  readonly process?: Trouble | undefined;
};

export type ChainReading = {
  /** Absent while reading works. */
  readonly trouble?: Trouble | undefined;
  /** In order of preference. */
  readonly endpoints: readonly EndpointHealth[];
  /** Doubts by token address; tokens without doubts are absent. */
  readonly doubts: ReadonlyMap<string, readonly string[]>;
};

export type EvmReading = {
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainReading>;
  /** Why records are not made, by `recordsKey`. */
  readonly records: ReadonlyMap<string, Trouble>;
};

export const recordsKey = (project: string, chainId: number): string => `${project} ${chainId}`;

export type Snapshot = {
  readonly progress: LocalProgress;
  readonly evm: EvmReading;
  /** Why it cannot write to the database, though reads work. */
  readonly unwritable?: Trouble | undefined;
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  readonly restarts: number;
  readonly figures: readonly Series[];
};
