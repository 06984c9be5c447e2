/** One writer at a time, and nothing half-written: the pipeline of transfer events. */
import { numberToHex } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  moveProgress,
  readProgress,
  registerScope,
  remakeTransferEvents,
  TransferEventsMovedError,
} from "../../src/transfers/progress.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { Refusal, startProxy } from "../evm/proxy.ts";
import { shareChain } from "../evm/shared-chain.ts";
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

shareChain({}, async (started) => {
  chain = started;
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
});

afterEach(async () => {
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

test("a process that dies midway leaves nothing half written", async () => {
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

test("replacements larger than a batch appear in one transaction", async () => {
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
      // Each in a block of its own: a longer chain than before would need a second transaction.
      await waitFor(sent, (count) => count === first + n + 1);
    }
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

test("a token added to a project is read from its first block, and the order is complete again", async () => {
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

test("listed records stay listed until an added token has been read as far", async () => {
  const other = await chain.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 500]);
  await pay(10);
  let open = false;
  await using proxy = await startProxy(chain.url, {
    // The logs of the other token alone cannot be had yet.
    answer: ({ method, params }, result) =>
      !open && method === "eth_getLogs" && JSON.stringify(params).includes(other.address)
        ? new Refusal(-32_000, "not yet")
        : result,
  });
  const project = (...tokens: readonly Deployed[]): Project => ({
    name: "acme",
    tokens: tokens.map(({ address }) =>
      evmAsset({ address, chainId: chain.chainId, rpc: [proxy.url], finality: 1 }),
    ),
  });
  await using api = await serve(database, [project(token, other)]);
  {
    await using _index = await index(database, [project(token)]);
    await api.until(({ length }) => length === 2);
  }
  const before = await api.list();
  await using indexing = await index(database, [project(token, other)]);
  const seen = new Set<number>();
  const watched = async () => {
    const records = await api.list();
    seen.add(records.length);
    return { records: records.length, statuses: [...indexing.statuses.values()] };
  };
  await waitFor(watched, () => indexing.logged.some((line) => line.includes("not yet")), String);
  open = true;
  await waitFor(
    watched,
    ({ records }) => records === 3,
    (last) => JSON.stringify(last, asText),
  );

  expect(Math.min(...seen)).toBe(before.length);
  expect(amounts(await api.list())).toEqual([1_000_000, 500, 10]);
});

test("a reorganisation below the first block of one token removes none of its records from the list meanwhile", async () => {
  const young = await chain.deploy("SecurityTokenV4", ["Young Shares", "YNG", 0, 500]);
  const payYoung = (amount: number) => chain.send(young, "transfer", [chain.wallet(1), amount]);
  for (const amount of [1, 2, 3]) await pay(amount);
  const fromBlock = Number(await chain.client.getBlockNumber()) + 1;
  for (const amount of [4, 5]) {
    await pay(amount);
    await payYoung(10 * amount);
  }
  let replaced = false;
  let replacing = false;
  await using proxy = await startProxy(chain.url, {
    // The chain is not seen while it is shorter.
    http: () => (replacing ? { status: 503 } : undefined),
    // The logs of the young token alone cannot be had any more.
    answer: ({ method, params }, result) => {
      const asked = JSON.stringify(params);
      const alone = asked.includes(young.address) && !asked.includes(token.address);
      return replaced && method === "eth_getLogs" && alone
        ? new Refusal(-32_000, "not now")
        : result;
    },
  });
  const common = { chainId: chain.chainId, rpc: [proxy.url], finality: 30 };
  const tokens = [
    evmAsset({ ...common, address: token.address }),
    evmAsset({ ...common, address: young.address, fromBlock }),
  ];
  await using api = await serve(database, [{ name: "acme", tokens }]);
  await using indexing = await index(database, [{ name: "acme", tokens }]);
  const before = await api.until(({ length }) => length === 8);
  expect(amounts(before)).toEqual([1_000_000, 1, 2, 3, 4, 40, 5, 50]);

  // From the third payment on; what is paid in its place is logged before the young token's first block too.
  const transaction = (to: Deployed, amount: number, at: number) => {
    const input = chain.encode(to, "transfer", [chain.wallet(1), amount]);
    return [{ from: chain.wallet(0), to: to.address, input, gas: "0x100000" }, at];
  };
  replaced = true;
  replacing = true;
  await chain.request("anvil_reorg", [
    5,
    [transaction(token, 6, 0), transaction(young, 60, 0), transaction(young, 70, 3)],
  ]);
  replacing = false;
  const seen = new Set<string>();
  await waitFor(
    async () => {
      const listed = amounts(await api.list()).join();
      seen.add(listed);
      return listed;
    },
    (listed) => listed !== amounts(before).join(),
    (listed) => `${listed} ${indexing.logged}`,
  );
  expect([...seen].at(-1)).toBe([1_000_000, 1, 2, 6, 70].join());
});

test("a network no longer listed takes its records along, and leaves the ids of the others", async () => {
  await using second = await startAnvil({ chainId: 31_338 });
  const other = await second.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 500]);
  const [one] = acme(token).tokens;
  if (one === undefined) throw new Error("a token");
  const two = evmAsset({
    address: other.address,
    chainId: 31_338,
    rpc: [second.url],
    network: "other",
  });
  await using api = await serve(database, [{ name: "acme", tokens: [one, two] }]);
  {
    await using _index = await index(database, [{ name: "acme", tokens: [one, two] }]);
    await api.until(({ length }) => length === 2);
  }
  const [ofOther] = (await api.list()).filter(({ amount }) => amount === 500);

  await using _index = await index(database, [{ name: "acme", tokens: [two] }]);
  await second.send(other, "transfer", [chain.wallet(1), 7]);
  const after = await api.until((records) => records.some(({ amount }) => amount === 7));
  expect(after[0]).toEqual(ofOther);
  expect(amounts(after)).toEqual([500, 7]);
});

test("a token reread from an earlier block has the records of that block too", async () => {
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
  const reread = ["evm", "reread", "--chain", String(chain.chainId), "--token", other.address];
  expect(await runCommand(reread, { DATABASE_URL: database.url })).toMatchObject({ code: 0 });
  await using _index = await index(database, [from(1)]);
  const records = await api.until(({ length }) => length === 3);
  expect(amounts(records)).toEqual([1_000_000, 500, 20]);
});

test("records to be rebuilt stay listed until they are, and come out the same", async () => {
  const projects = [acme(token)];
  await using api = await serve(database, projects);
  {
    await using _index = await index(database, projects);
    await api.until(({ length }) => length === 1);
  }
  const versions = () => database.sql<{ xmin: string }[]>`select xmin::text from transfer_events`;
  const [before, rows] = [await api.list(), await versions()];
  await database.transaction(remakeTransferEvents);
  expect(await api.list()).toEqual(before);

  await using _index = await index(database, projects);
  await waitFor(versions, ([row]) => row?.xmin !== rows[0]?.xmin, JSON.stringify);
  expect(await api.list()).toEqual(before);
});

test("a watermark moved by another writer refuses the batch by name", async () => {
  const scope = { project: "acme", chainId: 1 };
  await database.transaction((tx) => registerScope(tx, scope, 5n));
  const seen = await readProgress(database.db, scope);
  if (seen === null) throw new Error("registered, and not there");
  const moved = { ...seen, nextBlock: 6n };
  await database.transaction((tx) => moveProgress(tx, scope, seen, moved));
  await expect(database.transaction((tx) => moveProgress(tx, scope, seen, moved))).rejects.toThrow(
    TransferEventsMovedError,
  );
  expect(await readProgress(database.db, scope)).toEqual(moved);
});
