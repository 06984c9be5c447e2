import { byteas } from "../../database/column-arrays.ts";
import type { Database, Tx } from "../../database/connect.ts";
import { appendRows, insertNew } from "../../database/table-rows.ts";
import type { EvmToken } from "../../settings/assets.ts";
import { bytesOf, hexOf } from "../../values/hex-bytes.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Address, EvmFact, LinkedBlock } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { type ChainState, type ChainStore, type EvmBatch, scheduleKey } from "./chain-state.ts";
import { evmBlocks, evmFacts, evmSchedules } from "./tables.ts";

/** Notified of every append, with the chain id. */
export const evmLogChannel = "evm_log";

/** Another process appended to this chain; this transaction rolled back. Stop this process. */
export class EvmLogMovedError extends Error {
  override readonly name = "EvmLogMovedError";
  readonly remedy: Remedy = "stop";

  constructor(chainId: number, step: bigint) {
    super(
      `chain ${chainId}: the log is no longer at step ${step}; another process reads this chain`,
    );
  }
}

/**
 * A token's contracts or first block changed, and the log has no facts for the new setting. Restore
 * the former setting, or read the token again with `holderbook evm reread`.
 */
export class TokenSettingsChangedError extends Error {
  override readonly name = "TokenSettingsChangedError";
  readonly remedy: Remedy = "stop";

  constructor(chainId: number, token: Address, what: string) {
    super(
      `chain ${chainId}, token ${token}: ${what} differs from what its facts were read with; restore it, or read the token again: holderbook evm reread --chain ${chainId} --token ${token}`,
    );
  }
}

/**
 * Adds the chain and its tokens where they are new.
 * @throws TokenSettingsChangedError (stop)
 */
export const openEvmLog = async (database: Database, network: EvmNetwork): Promise<ChainStore> => {
  const { chainId } = network;
  let step = await database.transaction((tx) => register(tx, network));
  return {
    state: async () => {
      // One snapshot: blocks, tokens and schedules of the same step.
      const [state, seen] = await database.transaction(async (tx) => {
        await tx.sql`set transaction isolation level repeatable read`;
        return readState(tx, network);
      });
      step = seen;
      return state;
    },
    append: async (batch) => {
      if (batch.chainId !== chainId) {
        throw new Error(`a batch of chain ${batch.chainId} is not of chain ${chainId}`);
      }
      await database.transaction((tx) => append(tx, batch, step));
      step += 1n;
    },
  };
};

const register = async ({ sql }: Tx, network: EvmNetwork): Promise<bigint> => {
  const { chainId, name, tokens } = network;
  const [chain] = await sql<{ step: bigint }[]>`
    insert into evm_chains (chain_id, network, final_block) values (${chainId}, ${name}, -1)
    on conflict (chain_id) do update set network = excluded.network
    returning step`;
  for (const token of tokens) {
    const { address, lockup, identityRegistry, fromBlock } = token;
    // A token without facts (none read yet, or all deleted) takes the present settings.
    await sql`
      insert into evm_tokens (chain_id, address, lockup, identity_registry, first_block, next_block)
      values (${chainId}, ${bytesOf(address)}, ${lockup && bytesOf(lockup)},
              ${identityRegistry && bytesOf(identityRegistry)}, ${fromBlock}, ${fromBlock})
      on conflict (chain_id, address) do update
      set lockup = excluded.lockup, identity_registry = excluded.identity_registry,
          first_block = excluded.first_block, next_block = excluded.next_block
      where evm_tokens.next_block = evm_tokens.first_block`;
    const [kept] = await sql<
      { lockup: Buffer | null; identity_registry: Buffer | null; first_block: bigint }[]
    >`
      select lockup, identity_registry, first_block from evm_tokens
      where chain_id = ${chainId} and address = ${bytesOf(address)}`;
    if (kept !== undefined) refuseChanges(chainId, token, kept);
  }
  return chain?.step ?? 0n;
};

const refuseChanges = (
  chainId: number,
  token: EvmToken,
  kept: { lockup: Buffer | null; identity_registry: Buffer | null; first_block: bigint },
) => {
  const { address, lockup, identityRegistry, fromBlock } = token;
  const changed = (what: string) => new TokenSettingsChangedError(chainId, address, what);
  if ((kept.lockup && hexOf(kept.lockup)) !== lockup) throw changed("lockup");
  if ((kept.identity_registry && hexOf(kept.identity_registry)) !== identityRegistry) {
    throw changed("identityRegistry");
  }
  // A later first block is harmless: the log holds more than needed.
  if (fromBlock < kept.first_block) throw changed("fromBlock");
};

const readState = async ({ sql }: Tx, network: EvmNetwork): Promise<[ChainState, bigint]> => {
  const { chainId } = network;
  const [chains, blocks, tokens, schedules] = await Promise.all([
    sql<{ step: bigint; final_block: bigint }[]>`
      select step, final_block from evm_chains where chain_id = ${chainId}`,
    sql<{ number: bigint; hash: Buffer; parent_hash: Buffer; timestamp: bigint }[]>`
      select number, hash, parent_hash, timestamp from evm_blocks
      where chain_id = ${chainId} order by number desc`,
    sql<{ address: Buffer; next_block: bigint; first_block: bigint }[]>`
      select address, next_block, first_block from evm_tokens where chain_id = ${chainId}`,
    sql<{ token: Buffer; schedule_id: string; block: bigint }[]>`
      select token, schedule_id, block from evm_schedules where chain_id = ${chainId}`,
  ]);
  const newestFirst = blocks.map(
    ({ number, hash, parent_hash, timestamp }): LinkedBlock => ({
      number,
      hash: hexOf(hash),
      parentHash: hexOf(parent_hash),
      timestamp,
    }),
  );
  const gap = newestFirst.findIndex(
    ({ number }, i) => i > 0 && newestFirst[i - 1]?.number !== number + 1n,
  );
  return [
    {
      blocks: newestFirst.slice(0, gap < 0 ? undefined : gap).reverse(),
      finalBlock: chains[0]?.final_block ?? -1n,
      nextBlock: new Map(tokens.map((row) => [hexOf(row.address), row.next_block])),
      firstBlock: new Map(tokens.map((row) => [hexOf(row.address), row.first_block])),
      schedules: new Map(
        schedules.map((row) => [scheduleKey(hexOf(row.token), BigInt(row.schedule_id)), row.block]),
      ),
    },
    chains[0]?.step ?? 0n,
  ];
};

const append = async (tx: Tx, batch: EvmBatch, step: bigint): Promise<void> => {
  const { sql } = tx;
  const { chainId, head } = batch;
  // First, so that a second writer queues on this row and fails before it writes.
  const moved = await sql`
    update evm_chains
    set step = step + 1, final_block = ${batch.finalBlock}, head_block = ${head.number},
        head_hash = ${bytesOf(head.hash)}, head_timestamp = ${head.timestamp}, committed_at = now()
    where chain_id = ${chainId} and step = ${step}
    returning 1`;
  if (moved.length === 0) throw new EvmLogMovedError(chainId, step);
  if (batch.rollback !== null) await rollBack(tx, batch, batch.rollback, step + 1n);
  await Promise.all([
    sql`
      update evm_tokens set next_block = ${batch.last + 1n}
      where chain_id = ${chainId} and address = any(${byteas(batch.tokens.map(bytesOf))}::bytea[])`,
    insertNew(
      sql,
      evmBlocks,
      batch.blocks.map(({ hash, parentHash, ...block }) => ({
        ...block,
        chainId,
        hash: bytesOf(hash),
        parentHash: bytesOf(parentHash),
      })),
    ),
    // Always keep the newest: the next block must be its child.
    sql`
      delete from evm_blocks
      where chain_id = ${chainId} and number < ${batch.keepFrom}
        and number < (select max(number) from evm_blocks where chain_id = ${chainId})`,
    // Concurrent ranges may both have found one.
    insertNew(
      sql,
      evmSchedules,
      batch.schedules.map(({ token, schedule, scheduleId, block }) => ({
        ...schedule,
        chainId,
        token: bytesOf(token),
        scheduleId,
        block,
      })),
    ),
  ]);
  if (batch.facts.length > 0) await copyFacts(tx, chainId, batch.facts);
  await sql`select pg_notify(${evmLogChannel}, ${`${chainId}`})`;
};

const rollBack = async (
  { sql }: Tx,
  { chainId }: EvmBatch,
  { toBlock, belowFinal }: NonNullable<EvmBatch["rollback"]>,
  step: bigint,
) => {
  await Promise.all([
    sql`
      delete from evm_facts
      where chain_id = ${chainId} and block > ${toBlock}
        and token in (select address from evm_tokens where chain_id = ${chainId})`,
    sql`delete from evm_schedules where chain_id = ${chainId} and block > ${toBlock}`,
    sql`delete from evm_blocks where chain_id = ${chainId} and number > ${toBlock}`,
    sql`
      update evm_tokens set next_block = greatest(${toBlock + 1n}::int8, first_block)
      where chain_id = ${chainId} and next_block > ${toBlock + 1n}`,
    sql`
      insert into evm_rollbacks (chain_id, step, to_block, below_final)
      values (${chainId}, ${step}, ${toBlock}, ${belowFinal})`,
  ]);
};

const copyFacts = async ({ sql }: Tx, chainId: number, facts: readonly EvmFact[]) => {
  const chain = BigInt(chainId);
  /** Last transaction of each token with its input written. */
  const written = new Map<Address, string>();
  const rows = facts.map((fact): typeof evmFacts.$inferSelect => {
    const { token, block, transaction } = fact;
    const first = written.get(token) !== transaction.hash;
    written.set(token, transaction.hash);
    return {
      chainId: chain,
      token: bytesOf(token),
      block: block.number,
      logIndex: fact.logIndex,
      blockHash: bytesOf(block.hash),
      blockTimestamp: block.timestamp,
      txHash: bytesOf(transaction.hash),
      txIndex: transaction.index,
      txFrom: bytesOf(transaction.from),
      txTo: transaction.to === null ? null : bytesOf(transaction.to),
      txNonce: transaction.nonce,
      txInput: first ? bytesOf(transaction.input) : null,
      address: bytesOf(fact.address),
      topics: Buffer.from(fact.topics.map((topic) => topic.slice(2)).join(""), "hex"),
      data: bytesOf(fact.data),
    };
  });
  await appendRows(sql, evmFacts, rows);
};

type Forgotten = { readonly tokens: number; readonly facts: number };

/**
 * Removes a chain or a token from the log under the reader's lock; the reader then starts again
 * from the first configured block. Blocks and finality go only with the whole chain. Token names
 * stay, so that records remain readable.
 * @param token null for the whole chain
 */
export const forgetLog = async (
  { sql }: Tx,
  chainId: number,
  token: Address | null,
): Promise<Forgotten> => {
  const address = token === null ? null : bytesOf(token);
  // First, so that a reader without the lock notices the conflict.
  await sql`update evm_chains set step = step + 1 where chain_id = ${chainId}`;
  const tokens = await sql`
    update evm_tokens set next_block = first_block
    where chain_id = ${chainId} and (${address}::bytea is null or address = ${address})`;
  const facts = await sql`
    delete from evm_facts
    where chain_id = ${chainId} and (${address}::bytea is null or token = ${address})`;
  await sql`
    delete from evm_schedules
    where chain_id = ${chainId} and (${address}::bytea is null or token = ${address})`;
  if (address === null) {
    await sql`delete from evm_blocks where chain_id = ${chainId}`;
    await sql`
      update evm_chains
      set final_block = -1, head_block = null, head_hash = null, head_timestamp = null
      where chain_id = ${chainId}`;
  }
  return { tokens: tokens.count, facts: facts.count };
};
