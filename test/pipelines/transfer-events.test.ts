/** One writer at a time, and nothing half-written: the pipeline of transfer events. */
import { numberToHex } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  moveProgress,
  readProgress,
  registerScope,
  TransferEventsMovedError,
} from "../../src/projections/transfer-event-progress.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import {
  evmAsset,
  index,
  type Project,
  serve,
  type TransferEventJson,
  waitFor,
} from "../rest/service.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;

beforeEach(async () => {
  chain = await startAnvil();
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  database = await freshDatabase({ max: 16 });
});

afterEach(async () => {
  await chain.stop();
  await database.close();
});

const acme = (...addresses: readonly Deployed[]): Project => ({
  name: "acme",
  tokens: addresses.map(({ address }) =>
    evmAsset({ address, chainId: chain.chainId, rpc: [chain.url] }),
  ),
});

const pay = (amount: number) => chain.send(token, "transfer", [chain.wallet(1), amount]);

const amounts = (records: readonly TransferEventJson[]) => records.map(({ amount }) => amount);

test("a second process stands by, and takes over without loss or repetition", async () => {
  const projects = [acme(token)];
  await using api = await serve(database, projects);
  const first = await index(database, projects);
  await api.until(({ length }) => length === 1);
  await using second = await index(database, projects);
  const states = () => [...second.statuses.values()].map(({ state }) => state);
  await waitFor(states, (seen) => seen.includes("standby"));
  await pay(10);
  await api.until(({ length }) => length === 2);
  expect(states()).toEqual(["standby"]);

  await first[Symbol.asyncDispose]();
  await pay(20);

  const records = await api.until(({ length }) => length === 3);
  expect(amounts(records)).toEqual([1_000_000, 10, 20]);
});

test("a process that dies in the middle leaves nothing half-written", async () => {
  const projects = [acme(token)];
  await using api = await serve(database, projects);
  await using indexing = await index(database, projects);
  await api.until(({ length }) => length === 1);
  // Every connection that writes is cut, again and again, while records are made.
  for (let amount = 1; amount <= 5; amount += 1) {
    await pay(amount);
    await database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.catch(() => undefined);
  }
  const records = await waitFor(
    () => api.list().catch(() => []),
    ({ length }) => length === 6,
    (seen) =>
      JSON.stringify({ seen: amounts(seen), statuses: [...indexing.statuses.values()] }, asText),
  );
  expect(amounts(records)).toEqual([1_000_000, 1, 2, 3, 4, 5]);
  expect(new Set(records.map(({ id }) => id)).size).toBe(6);
});

const asText = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

test("what takes the place of more records than are made at a time appears in one transaction", async () => {
  const BLOCKS = 52;
  const GAS = "0xb71b00";
  const to = Array.from({ length: 200 }, (_, n) => chain.wallet(1 + (n % 9)));
  const from = chain.wallet(0);
  const sent = () => chain.client.getTransactionCount({ address: from, blockTag: "latest" });
  const batches = async (amount: number) => {
    const data = chain.encode(token, "batchTransfer", [to, to.map(() => amount)]);
    const first = await sent();
    for (let n = 0; n < BLOCKS; n += 1) {
      const nonce = numberToHex(first + n);
      await chain.request("eth_sendTransaction", [
        { from, to: token.address, data, gas: GAS, nonce },
      ]);
    }
    await waitFor(sent, (count) => count === first + BLOCKS);
  };
  const projects = [
    {
      name: "acme",
      tokens: [
        evmAsset({
          address: token.address,
          chainId: chain.chainId,
          rpc: [chain.url],
          finality: 99,
        }),
      ],
    },
  ];
  await using api = await serve(database, projects);
  const stands = async () => {
    const [row] = await database.sql<{ records: number; of: bigint; transactions: number }[]>`
      select count(*)::int4 as records, max(amount)::int8 as of,
             count(distinct xmin::text)::int4 as transactions
      from transfer_events where amount < 1000000`;
    return row;
  };
  const shown = (row: unknown) => JSON.stringify(row, asText);
  await batches(1);
  {
    await using _index = await index(database, projects);
    await waitFor(stands, (row) => row?.records === BLOCKS * 200, shown);
  }
  // The chain may have put two of them into one block.
  const made = (await chain.client.getBlockNumber()) - token.receipt.blockNumber;
  await chain.request("anvil_rollback", [Number(made)]);
  await batches(2);
  await using indexing = await index(database, projects);

  const after = await waitFor(
    stands,
    (row) => row?.of === 2n,
    (row) => shown({ row, statuses: [...indexing.statuses.values()], logged: indexing.logged }),
  );

  expect(after).toEqual({ records: BLOCKS * 200, of: 2n, transactions: 1 });
  expect((await api.list("?limit=1000&order=desc")).every(({ amount }) => amount === 2)).toBe(true);
});

test("a token added to a project is read from its first block, and everything is in order again", async () => {
  await pay(10);
  const other = await chain.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 500]);
  await pay(20);
  await using api = await serve(database, [acme(token, other)]);
  {
    await using _index = await index(database, [acme(token)]);
    expect(amounts(await api.until(({ length }) => length === 3))).toEqual([1_000_000, 10, 20]);
  }
  await using _index = await index(database, [acme(token, other)]);
  const records = await api.until(({ length }) => length === 4);
  expect(amounts(records)).toEqual([1_000_000, 10, 500, 20]);
});

test("a token that is read anew from an earlier block has the records of that block too", async () => {
  const other = await chain.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 500]);
  await pay(20);
  const from = (fromBlock: number): Project => {
    const [first, second] = acme(token, other).tokens;
    if (first === undefined || second?.ledger !== "evm") throw new Error("two EVM tokens");
    return { name: "acme", tokens: [first, { ...second, fromBlock }] };
  };
  await using api = await serve(database, [from(0)]);
  {
    await using _index = await index(database, [from(3)]);
    expect(amounts(await api.until(({ length }) => length === 2))).toEqual([1_000_000, 20]);
  }
  // As the refusal of an earlier block tells an operator to.
  const { address } = other;
  const bytes = Buffer.from(address.slice(2), "hex");
  await database.sql`delete from evm_facts where token = ${bytes}`;
  await database.sql`delete from evm_tokens where address = ${bytes}`;
  await using _index = await index(database, [from(1)]);
  const records = await api.until(({ length }) => length === 3);
  expect(amounts(records)).toEqual([1_000_000, 500, 20]);
});

test("a watermark that somebody else has moved refuses the batch by name", async () => {
  const scope = { project: "acme", chainId: 1 };
  await database.transaction((tx) => registerScope(tx, scope, { settings: "", firstBlock: 5n }));
  const seen = await readProgress(database.db, scope);
  if (seen === null) throw new Error("registered, and not there");
  const moved = { ...seen, nextBlock: 6n };
  await database.transaction((tx) => moveProgress(tx, scope, seen, moved));
  await expect(database.transaction((tx) => moveProgress(tx, scope, seen, moved))).rejects.toThrow(
    TransferEventsMovedError,
  );
  expect(await readProgress(database.db, scope)).toEqual(moved);
});
