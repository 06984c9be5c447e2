/** A test chain followed into a database, and what is then found in its log. */

import type { Database } from "../../src/database/connect.ts";
import { type FollowSettings, followChain } from "../../src/evm/chain/follow.ts";
import type { Address, EvmFact } from "../../src/evm/contract/fact.ts";
import type { EvmNetwork } from "../../src/evm/contract/network.ts";
import type { EvmBatch } from "../../src/evm/log/chain-state.ts";
import { readFacts } from "../../src/evm/log/reads.ts";
import { openEvmLog } from "../../src/evm/log/store.ts";
import type { Anvil, Deployed } from "./anvil.ts";
import { batchesUpTo, DEADLINE_MS, quickRpc } from "./reading.ts";

/** Follows the chain into the database until the end of the scope. */
export const following = (
  database: Database,
  network: EvmNetwork,
  { reader, rpc = quickRpc(network), ...settings }: Partial<FollowSettings> = {},
) => {
  const stop = new AbortController();
  const batches: EvmBatch[] = [];
  const errors: unknown[] = [];
  const ended = followChain(
    {
      database,
      network,
      rpc,
      reader: { pollMs: 20, ...reader },
      onBatch: (batch) => batches.push(batch),
      onError: (error) => errors.push(error),
      ...settings,
    },
    stop.signal,
  );
  const failure = ended.then(
    () => undefined,
    (error: unknown) => error,
  );
  return {
    batches,
    errors,
    rpc,
    /** What it stopped with; undefined when it was told to. */
    failure,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await failure;
    },
  };
};

/** Waits for a condition; when the deadline passes, fails with what `seen` says. */
export const until = async (met: () => boolean | Promise<boolean>, seen: () => unknown) => {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await met())) {
    if (performance.now() > deadline) throw new Error(`not in time; seen: ${String(await seen())}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
};

/** Waits until the log stands at the chain's head. */
export const atHead = async (database: Database, network: EvmNetwork, chain: Anvil) => {
  const standing = async () => {
    const store = await openEvmLog(database, network);
    const { blocks, nextBlock } = await store.state();
    return { tip: blocks.at(-1), next: [...nextBlock.values()] };
  };
  await until(
    async () => {
      const head = await chain.client.getBlock();
      const { tip, next } = await standing();
      return tip?.hash === head.hash && next.every((each) => each === head.number + 1n);
    },
    async () => {
      const { tip, next } = await standing();
      return `tip ${tip?.number}, next ${next}, head ${await chain.client.getBlockNumber()}`;
    },
  );
};

/** Facts that the log has of a token. */
export const loggedOf = async (
  database: Database,
  { chainId }: EvmNetwork,
  token: Address,
): Promise<readonly EvmFact[]> =>
  (await readFacts(database.db, chainId, token, 0n, 1_000_000)).facts;

/** What a reader that knows nothing finds of a token on the chain now. */
export const foundOn = async (
  chain: Anvil,
  network: EvmNetwork,
  token: Address,
): Promise<readonly EvmFact[]> => {
  const rpc = quickRpc(network, [chain.url]);
  const batches = await batchesUpTo(network, await chain.client.getBlockNumber(), { rpc });
  return batches.flatMap(({ facts }) => facts).filter((fact) => fact.token === token);
};

/**
 * Replaces the newest `depth` blocks by empty ones, and the first of them by one with a transfer of
 * account 0.
 */
export const reorganise = async (
  chain: Anvil,
  token: Deployed,
  depth: number,
  wallet: number,
  amount: number,
) => {
  const input = chain.encode(token, "transfer", [chain.wallet(wallet), amount]);
  const transaction = { from: chain.wallet(0), to: token.address, input, gas: "0x100000" };
  await chain.request("anvil_reorg", [depth, [[transaction, 0]]]);
};
