/**
 * What only the process that reads EVM chains knows of them, as plain values: another process may show
 * it.
 */
import { z } from "zod";
import type { EvmService } from "../../service/evm.ts";
import { type EndpointHealth, endpointHealth } from "../../service/evm-endpoints.ts";
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

/** @param nowMs milliseconds since the Unix epoch */
export const evmStanding = (evm: EvmService, nowMs: number): EvmStanding => ({
  chains: new Map(
    [...evm.rpcs].map(([chainId, rpc]) => [
      chainId,
      {
        trouble: evm.troubles.get(chainId),
        endpoints: rpc.status().map((each) => endpointHealth(each, nowMs)),
        doubts: evm.doubts.get(chainId) ?? new Map(),
      },
    ]),
  ),
  records: new Map(
    [...evm.statuses].flatMap(([key, { reason, state }]) =>
      reason === null ? [] : [[key, { gaveUp: state === "stopped", reason }]],
    ),
  ),
});

const trouble = z.object({ gaveUp: z.boolean(), reason: z.string() });

const endpoint = z.object({
  endpoint: z.string(),
  state: z.enum(["unused", "good", "paused", "wrong chain"]),
  failures: z.number(),
  lastError: z
    .object({ name: z.string(), kind: z.string(), message: z.string(), secondsAgo: z.number() })
    .nullable(),
});

/** Of a standing that comes from another process. */
export const evmStandingSchema: z.ZodType<EvmStanding> = z.object({
  chains: z.map(
    z.number(),
    z.object({
      trouble: trouble.optional(),
      endpoints: z.array(endpoint),
      doubts: z.map(z.string(), z.array(z.string())),
    }),
  ),
  records: z.map(z.string(), trouble),
});
