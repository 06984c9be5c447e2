/**
 * Indexing speed of transfer events, from an empty log to the last record in Postgres, beside
 * Ponder with the same chain, RPC and Postgres, in sequence.
 */
import pino from "pino";
import { encodeFunctionData, type Hex, parseAbi } from "viem";
import type { Database } from "../src/database/connect.ts";
import { startEvm } from "../src/service/evm.ts";
import { type Anvil, startAnvil } from "../test/evm/anvil.ts";
import { type Figure, ratioOf, shown } from "./figure.ts";
import { installPonder, runPonder } from "./peers/ponder.ts";
import { scratchPostgres } from "./start.ts";

const DEADLINE_MS = 300_000;

const TRANSFERS = 100_000;

export const bench = async (): Promise<readonly Figure[]> => [await beside(50), await beside(1)];

const beside = async (perTransaction: number): Promise<Figure> => {
  await installPonder();
  await using scratch = await scratchPostgres();
  await using chain = await benchChain(TRANSFERS, perTransaction);
  const seconds = await runOurs(scratch.database, chain);
  await scratch.database.sql`create database peer`;
  const peer = await runPonder({
    rpc: chain.anvil.url,
    token: chain.token,
    lastBlock: chain.lastBlock,
    databaseUrl: Object.assign(new URL(scratch.url), { pathname: "/peer" }).href,
    rows: TRANSFERS + 1,
  });
  return {
    name: `${perTransaction} a transaction`,
    what: `EVM: transfer events a second from a local anvil / Ponder 0.16.10 without its start-up, ${perTransaction} in each transaction`,
    ...ratioOf("/s", [TRANSFERS / seconds], [TRANSFERS / peer.indexingSeconds]),
    ...{ better: "more", aim: 5 },
    detail: `${TRANSFERS} transfers in ${chain.lastBlock} blocks; Ponder with its start-up ${shown(TRANSFERS / peer.seconds, "/s")}`,
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

type BenchChain = AsyncDisposable & {
  readonly anvil: Anvil;
  readonly token: Hex;
  readonly transfers: number;
  readonly lastBlock: bigint;
};

const ABI = parseAbi([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function batchTransfer(address[] to, uint256[] amounts) returns (bool)",
]);

const PER_BLOCK = 100;
const WALLETS = 1_000;

/**
 * A hundred transfers a block, one per transaction or `perTransaction` per `batchTransfer`. The
 * sender is impersonated: anvil recovers a signer whenever it prints a transaction, which would
 * dominate every reader's time. Real nodes store the sender.
 */
const benchChain = async (transfers: number, perTransaction: number): Promise<BenchChain> => {
  const anvil = await startAnvil({ args: ["--gas-limit", "60000000"] });
  const { address: token } = await anvil.deploy("SecurityTokenV4", ["Acme", "ACME", 6, 10 ** 12]);
  const from = anvil.wallet(0);
  await anvil.request("anvil_impersonateAccount", [from]);
  await anvil.request("evm_setAutomine", [false]);
  for (let sent = 0; sent < transfers; sent += PER_BLOCK) {
    const calls = [];
    for (let n = sent; n < Math.min(transfers, sent + PER_BLOCK); n += perTransaction) {
      const data = movement(n, Math.min(perTransaction, transfers - n));
      calls.push({
        method: "eth_sendTransaction",
        params: [{ from, to: token, data, gas: `0x${(100_000 * perTransaction).toString(16)}` }],
      });
    }
    await batch(anvil.url, [...calls, { method: "anvil_mine", params: ["0x1"] }]);
  }
  await anvil.request("anvil_mine", ["0x1"]);
  const lastBlock = await anvil.client.getBlockNumber();
  return { anvil, token, transfers, lastBlock, [Symbol.asyncDispose]: anvil.stop };
};

const movement = (first: number, count: number): Hex => {
  const to = Array.from({ length: count }, (_, n): Hex => {
    const wallet = ((first + n) % WALLETS) + 0x1000;
    return `0x${wallet.toString(16).padStart(40, "0")}`;
  });
  const [only = "0x"] = to;
  return count === 1
    ? encodeFunctionData({ abi: ABI, functionName: "transfer", args: [only, 1n] })
    : encodeFunctionData({ abi: ABI, functionName: "batchTransfer", args: [to, to.map(() => 1n)] });
};

const batch = async (
  url: string,
  calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }))),
  });
  const replies: { error?: { message: string } }[] = JSON.parse(await response.text());
  const failed = replies.find(({ error }) => error !== undefined);
  if (failed !== undefined) throw new Error(`the chain refuses: ${failed.error?.message}`);
};
