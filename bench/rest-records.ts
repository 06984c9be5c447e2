/**
 * Transfer events for a measurement, computed from their numbers in Postgres and here, so that any
 * can be queried. Half go to one wallet, all in the first three quarters of the list, as to a
 * replaced contract; the others to wallets with four scattered records each. Two records share a
 * transaction.
 */
import { createHash } from "node:crypto";
import type { Database } from "../src/database/connect.ts";
import type { EvmToken } from "../src/settings/assets.ts";

export const PROJECT = "bench";

const CHAIN = 43_113;
const TOKENS = [0, 1, 2].map((n) => `${n}`.repeat(40));
const BUSY_WALLET = "acce".padStart(40, "0");
const FIRST_SECOND = 1_600_000_000;

const STEP = 500_000;

export const benchTokens: readonly EvmToken[] = TOKENS.map((address, n) => ({
  name: `bench-${n}`,
  ledger: "evm",
  rpc: [],
  fromBlock: 0,
  lockup: null,
  identityRegistry: null,
  network: "avalanche_fuji",
  chainId: CHAIN,
  type: "comakery_security_token_v4",
  finality: 12,
  groups: { "1": "Reg A", "2": "Reg S" },
  schedules: { "1": "Gradual Release" },
  address: `0x${address}`,
}));

export type KnownRecords = {
  readonly count: number;
  /** The `after_id` of the page that starts with a record, ascending. */
  before(record: number): bigint;
  txHash(record: number): string;
  /** A recipient of four records, from 0 to below `wallets`. */
  wallet(number: number): string;
  readonly wallets: number;
  /** The recipient of three eighths of all records. */
  readonly busyWallet: string;
};

/**
 * Writes records, runs the statistics of autovacuum, and reads every page once, so that no
 * measurement meets a cold page.
 */
export const writeRecords = async (database: Database, count: number): Promise<KnownRecords> => {
  const { sql } = database;
  // Reads are the same; its WAL would double the writes.
  await sql`alter table transfer_events set unlogged`;
  for (const [n, token] of TOKENS.entries()) {
    await sql`
      insert into evm_tokens
        (chain_id, address, first_block, next_block, name, symbol, decimals, described_at)
      values (${CHAIN}, decode(${token}, 'hex'), 0, 0, ${`Bench Shares ${n}`}, 'BNCH', 18, now())`;
  }
  const wallets = count / 8;
  // Two at a time, as for two chains, one per core.
  for (let from = 0; from < count; from += 2 * STEP) {
    const steps = [from, from + STEP]
      .filter((begin) => begin < count)
      .map((begin) => ({ from: begin, to: Math.min(count, begin + STEP), count, wallets }));
    await Promise.all(steps.map((step) => writeStep(database, step)));
  }
  await sql`vacuum analyze transfer_events`;
  await sql`create extension pg_prewarm`;
  await sql`
    select sum(pg_prewarm(indexrelid)) from pg_index
    where indrelid = 'transfer_events'::regclass`;
  await sql`select pg_prewarm('transfer_events')`;
  return {
    count,
    wallets,
    before: (record) =>
      BigInt(FIRST_SECOND + Math.floor(record / 4)) * 1_000_000n + BigInt(record % 4),
    txHash: (record) => `0x${hashOf(Math.floor(record / 2))}`,
    wallet: (number) => `0x${hashOf(WALLET_SALT + number).slice(0, 40)}`,
    busyWallet: `0x${BUSY_WALLET}`,
  };
};

/** Separates wallet hashes from transaction hashes. */
const WALLET_SALT = 100_000_000;

const hashOf = (number: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return createHash("sha256").update(bytes).digest("hex");
};

/** Records `from` to below `to` of the whole list. */
const writeStep = async (
  { sql }: Database,
  { from, to, count, wallets }: Record<"from" | "to" | "count" | "wallets", number>,
) => {
  await sql`
    insert into transfer_events (project, id, chain_id, block, block_timestamp, log_index, tx_hash,
      token, method_name, amount, sender, recipient, sender_group, recipient_group, schedule_id,
      commencement_timestamp, release_count, delay_until_first_release_in_seconds,
      initial_release_portion_in_bips, period_between_releases_in_seconds)
    select ${PROJECT}, (${FIRST_SECOND} + n / 4)::int8 * 1000000 + n % 4 + 1, ${CHAIN},
           n / 4, ${FIRST_SECOND} + n / 4, n % 4, sha256(int4send(n / 2)),
           decode(repeat((n % ${TOKENS.length}::int4)::text, 40), 'hex'),
           (array['transfer', 'transferFrom', 'mint', 'fundReleaseSchedule'])[n % 4 + 1],
           (n % 1000 + 1)::numeric * 1000000000000000000,
           substr(sha256(int4send(-1 - n % 1000)), 1, 20),
           case when n % 2 = 0 and n < ${(count / 4) * 3}::int4 then decode(${BUSY_WALLET}, 'hex')
                when n % 2 = 0 then substr(sha256(int4send(-10000 - n % 1000)), 1, 20)
                else substr(sha256(int4send(${WALLET_SALT}
                       + ((n / 2)::int8 * 7919 % ${wallets}::int4)::int4)), 1, 20) end,
           n % 5, nullif(n % 7, 6),
           case when n % 4 = 3 then n % 10 end, case when n % 4 = 3 then ${FIRST_SECOND} + n / 4 end,
           case when n % 4 = 3 then 12 end, case when n % 4 = 3 then 86400 end,
           case when n % 4 = 3 then 500 end, case when n % 4 = 3 then 2592000 end
    from generate_series(${from}::int4, ${to - 1}::int4) as n`;
};
