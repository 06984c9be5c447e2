/**
 * Indexing speed of transfer events, from an empty log to the last record in Postgres, beside
 * Ponder with the same chain, RPC and Postgres, in sequence.
 */
import pino from "pino";
import type { Database } from "../src/database/connect.ts";
import { startEvm } from "../src/service/evm.ts";
import { type BenchChain, benchChain } from "./evm-chain.ts";
import type { Figure } from "./figure.ts";
import { installPonder, runPonder } from "./peers/ponder.ts";
import { scratchPostgres } from "./scratch-postgres.ts";

const DEADLINE_MS = 300_000;

export const evmBench = async ({
  transfers = 100_000,
  perTransaction = 1,
} = {}): Promise<Figure> => {
  await installPonder();
  await using scratch = await scratchPostgres();
  await using chain = await benchChain(transfers, perTransaction);
  const seconds = await runOurs(scratch.database, chain);
  await scratch.database.sql`create database peer`;
  const peer = await runPonder({
    rpc: chain.anvil.url,
    token: chain.token,
    lastBlock: chain.lastBlock,
    databaseUrl: Object.assign(new URL(scratch.url), { pathname: "/peer" }).href,
    rows: transfers + 1,
  });
  const rate = (took: number) => Math.round(transfers / took).toLocaleString("en");
  return {
    name: `Transfer events from an EVM chain, ${perTransaction} in each transaction, beside Ponder 0.16.10`,
    reached: `${(peer.indexingSeconds / seconds).toFixed(1)} times as fast`,
    aim: "5",
    detail: `${transfers} transfers in ${chain.lastBlock} blocks: ${rate(seconds)} records/s (${seconds.toFixed(1)} s), Ponder ${rate(peer.indexingSeconds)}/s without its start-up, ${rate(peer.seconds)}/s with it`,
  };
};

/** Seconds from the start of reading to the last record. */
const runOurs = async (database: Database, chain: BenchChain): Promise<number> => {
  const started = performance.now();
  await using evm = await startEvm({
    config: { evmPollMs: 1_000 },
    logger: pino({ level: "warn" }),
    database,
    signal: AbortSignal.timeout(DEADLINE_MS),
    assets: {
      projects: [
        {
          name: "bench",
          tokens: [
            {
              name: "bench-token",
              ledger: "evm",
              network: "local",
              chainId: chain.anvil.chainId,
              rpc: [chain.anvil.url],
              address: chain.token,
              type: "comakery_security_token_v4",
              fromBlock: 0,
              finality: "latest",
              lockup: null,
              identityRegistry: null,
              groups: {},
              schedules: {},
            },
          ],
        },
      ],
    },
  });
  while ((await records(database)) < chain.transfers + 1) {
    if (performance.now() - started > DEADLINE_MS) {
      throw new Error(
        `${await records(database)} of ${chain.transfers + 1} records; troubles: ${JSON.stringify([...evm.troubles])}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return (performance.now() - started) / 1_000;
};

const records = async ({ sql }: Database): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from transfer_events`;
  return row?.count ?? 0;
};
