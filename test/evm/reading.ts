/** Reading a test chain: settings, and batches until the head. */

import { type ReaderSettings, readChain } from "../../src/evm/chain/reader.ts";
import type { Address } from "../../src/evm/contract/fact.ts";
import { type EvmNetwork, networksOf } from "../../src/evm/contract/network.ts";
import type { ChainState, EvmBatch } from "../../src/evm/log/chain-state.ts";
import { type Reading, readTransfers } from "../../src/evm/movements/transfers.ts";
import { type Fleet, type FleetSettings, openFleet } from "../../src/evm/rpc/fleet.ts";
import type { EvmToken } from "../../src/settings/assets.ts";
import { evmAsset } from "./asset.ts";

/** A chain that was never read. */
export const emptyChain: ChainState = {
  blocks: [],
  finalBlock: -1n,
  nextBlock: new Map(),
  firstBlock: new Map(),
  schedules: new Map(),
};

/** Whatever waits in these tests waits no longer. */
export const DEADLINE_MS = 20_000;

/** The one network of the tokens, all on the same chain. */
export const networkOf = (
  rpc: readonly string[],
  chainId: number,
  tokens: readonly (Pick<EvmToken, "address"> & Partial<EvmToken>)[],
): EvmNetwork => {
  const [network] = networksOf(
    tokens.map((token) => evmAsset({ chainId, rpc: [...rpc], finality: 3, ...token })),
  );
  if (network === undefined) throw new Error("no token, no network");
  return network;
};

/** An RPC that gives up soon. */
export const quickRpc = (
  network: EvmNetwork,
  urls: readonly string[] = network.rpc,
  settings: Partial<FleetSettings> = {},
): Fleet =>
  openFleet(network.chainId, urls, {
    attempts: 3,
    pauseMs: 5,
    maxPauseMs: 20,
    timeoutMs: 5_000,
    ...settings,
  });

/**
 * Batches until every token is read up to the block. Fails, telling how far it came, when that takes
 * longer than the deadline.
 */
export const batchesUpTo = async (
  network: EvmNetwork,
  block: bigint,
  {
    rpc = quickRpc(network),
    start = emptyChain,
    ...settings
  }: Partial<ReaderSettings> & { readonly rpc?: Fleet; readonly start?: ChainState } = {},
): Promise<readonly EvmBatch[]> => {
  const batches: EvmBatch[] = [];
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const reached = new Map<Address, bigint>(
    network.tokens.map(({ address }) => [address, (start.nextBlock.get(address) ?? 0n) - 1n]),
  );
  try {
    for await (const batch of readChain(network, rpc, start, signal, { pollMs: 20, ...settings })) {
      batches.push(batch);
      for (const token of batch.tokens) reached.set(token, batch.last);
      if ([...reached.values()].every((last) => last >= block)) return batches;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const seen = [...reached].map(([token, last]) => `${token} at ${last}`).join(", ");
    throw new Error(`block ${block} was not reached: ${seen}`, { cause: error });
  }
  return batches;
};

/** What every token's facts say, out of batches without rollbacks. */
export const readingsIn = (
  network: EvmNetwork,
  batches: readonly EvmBatch[],
): ReadonlyMap<Address, Reading> =>
  new Map(
    network.tokens.map((token) => {
      const facts = batches.flatMap((batch) =>
        batch.facts.filter((fact) => fact.token === token.address),
      );
      return [token.address, readTransfers(token, facts, new Map())];
    }),
  );
