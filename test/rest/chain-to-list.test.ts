/** From a real chain to the list: vesting pairs, groups, reorganisations, lies. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { readFacts } from "../../src/evm/log/reads.ts";
import { transferEventSchema } from "../../src/rest/schema.ts";
import { type Anvil, startAnvil } from "../evm/anvil.ts";
import { startProxy } from "../evm/proxy.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { forgetRecords } from "../transfers/damage.ts";
import { evmAsset, index, type Project, serve, waitFor } from "./service.ts";

let chain: Anvil;
let database: TestDatabase;

beforeEach(async () => {
  chain = await startAnvil({ args: ["--slots-in-an-epoch", "1"] });
  database = await freshDatabase({ max: 8 });
});

afterEach(async () => {
  await chain.stop();
  await database.close();
});

const acme = (...tokens: Project["tokens"]): Project => ({ name: "acme", tokens });

test("a funding of version 3 is two records with consecutive ids, vesting on the second", async () => {
  const token = await chain.deploy("SecurityTokenV3", ["Acme Shares", "ACME", 6, 1_000_000]);
  await chain.send(token, "setTransferGroup", [chain.wallet(1), 7, true]);
  await chain.send(token, "createReleaseSchedule", [2, 60, 5_000, 3_600]);
  await chain.send(token, "fundReleaseSchedule", [chain.wallet(1), 500, 1_000, 0, []]);
  const asset = evmAsset({
    address: token.address,
    chainId: chain.chainId,
    rpc: [chain.url],
    network: "avalanche_fuji",
    type: "comakery_security_token_v3",
    groups: { "7": "Reg A" },
    schedules: { "0": "Gradual Release" },
  });
  await using _index = await index(database, [acme(asset)]);
  await using api = await serve(database, [acme(asset)]);

  const records = await api.until(({ length }) => length >= 3);

  for (const record of records) transferEventSchema.parse(record);
  const [minted, inbound, outbound] = records;
  expect(minted).toMatchObject({
    method_name: "constructor",
    amount: 1_000_000,
    sender_wallet: { address: `0x${"0".repeat(40)}` },
    sender_reg_group: null,
    recipient_reg_group: { name: "Group 0", blockchain_id: 0 },
    vesting_schedule: null,
    schedule_id: null,
    commencement_timestamp: null,
  });
  expect(inbound).toMatchObject({
    method_name: "fundReleaseSchedule",
    amount: 500,
    sender_wallet: { address: chain.wallet(0) },
    recipient_wallet: { address: token.address },
    vesting_schedule: null,
  });
  const { timestamp, number, transactions } = await chain.client.getBlock();
  const time = new Date(Number(timestamp) * 1_000).toISOString();
  expect(outbound).toEqual({
    id: Number(inbound?.id) + 1,
    block: Number(number),
    tx_hash: transactions[0],
    method_name: "fundReleaseSchedule",
    amount: 500,
    approved_on_chain_at: time,
    commencement_timestamp: 1_000,
    schedule_id: 0,
    created_at: time,
    updated_at: time,
    vesting_schedule: {
      name: "Gradual Release",
      release_count: 2,
      delay_until_first_release_in_seconds: 60,
      initial_release_portion_in_bips: 5_000,
      period_between_releases_in_seconds: 3_600,
    },
    recipient_wallet: { address: chain.wallet(1) },
    sender_wallet: { address: token.address },
    recipient_reg_group: { name: "Reg A", blockchain_id: 7 },
    sender_reg_group: { name: "Group 0", blockchain_id: 0 },
    token: {
      _blockchain: "avalanche_fuji",
      _token_type: "comakery_security_token_v3",
      id: expect.any(Number),
      contract_address: token.address,
      decimal_places: 6,
      name: "Acme Shares",
      symbol: "ACME",
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  });
  expect(Object.keys(outbound ?? {})).toEqual(Object.keys(transferEventSchema.shape));
});

test("a reorganisation withdraws its records, inserts the new ones in their place, and leaves others alone", async () => {
  const token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  const asset = evmAsset({
    address: token.address,
    chainId: chain.chainId,
    rpc: [chain.url],
    finality: 50,
  });
  await chain.send(token, "setTransferGroup", [chain.wallet(1), 3, true]);
  await chain.send(token, "transfer", [chain.wallet(1), 10]);
  await using _index = await index(database, [acme(asset)]);
  await using api = await serve(database, [acme(asset)]);
  const survivors = await api.until(({ length }) => length === 2);
  await chain.send(token, "setTransferGroup", [chain.wallet(1), 4, true]);
  await chain.send(token, "transfer", [chain.wallet(1), 20]);
  await chain.send(token, "transfer", [chain.wallet(2), 30]);
  const before = await api.until(({ length }) => length === 4);
  expect(before.slice(0, 2)).toEqual(survivors);

  await chain.request("anvil_rollback", [3]);
  await chain.send(token, "transfer", [chain.wallet(1), 40]);
  await chain.request("anvil_mine", ["0x3"]);

  const after = await api.until((records) => records.some(({ amount }) => amount === 40));
  expect(after.slice(0, 2)).toEqual(survivors);
  expect(after.map(({ amount }) => amount)).toEqual([1_000_000, 10, 40]);
  // The change of group is withdrawn too.
  expect(after[2]?.recipient_reg_group).toEqual({ name: "Group 3", blockchain_id: 3 });
});

test("records rebuilt from an empty database or from the log are byte-identical", async () => {
  const token = await chain.deploy("SecurityTokenV3", ["Acme Shares", "ACME", 6, 1_000_000]);
  const other = await chain.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 5_000]);
  const asset = evmAsset({
    address: token.address,
    chainId: chain.chainId,
    rpc: [chain.url],
    type: "comakery_security_token_v3",
  });
  const second = evmAsset({ address: other.address, chainId: chain.chainId, rpc: [chain.url] });
  await chain.send(token, "createReleaseSchedule", [1, 0, 10_000, 0]);
  await chain.request("evm_setAutomine", [false]);
  // Both tokens in one block, in turn.
  for (let n = 1; n <= 4; n += 1) {
    await chain.submit(token.address, chain.encode(token, "transfer", [chain.wallet(n), n]));
    await chain.submit(other.address, chain.encode(other, "transfer", [chain.wallet(n), n * 10]));
  }
  await chain.submit(
    token.address,
    chain.encode(token, "fundReleaseSchedule", [chain.wallet(1), 500, 1_000, 0, []]),
  );
  await chain.request("anvil_mine", ["0x1"]);
  const projects = [acme(asset, second)];

  const listed = async (on: TestDatabase) => {
    await using _index = await index(on, projects);
    await using api = await serve(on, projects);
    await api.until(({ length }) => length === 12);
    const { text } = await api.get("/r/api/v2/transfer_events");
    // When the token was first read is this database's own.
    return text.replaceAll(/("symbol":"\w+"),"created_at":"[^"]+","updated_at":"[^"]+"/g, "$1");
  };
  const first = await listed(database);
  await using elsewhere = await freshDatabase({ max: 8 });
  expect(await listed(elsewhere)).toBe(first);
  await forgetRecords(database);
  expect(await listed(database)).toBe(first);

  const records: { id: number; block: number; amount: number }[] = JSON.parse(first);
  const inBlock = records.filter(({ block }) => block === records.at(-1)?.block);
  expect(inBlock.map(({ amount }) => amount)).toEqual([1, 10, 2, 20, 3, 30, 4, 40, 500, 500]);
  expect(inBlock.map(({ id }) => id - (inBlock[0]?.id ?? 0))).toEqual(
    inBlock.map((_, place) => place),
  );
  expect(records.every(({ id }) => id > 0)).toBe(true);
});

test("a lying RPC is named in the health report and never becomes a record", async () => {
  const token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  await chain.send(token, "transfer", [chain.wallet(1), 10]);
  await using liar = await startProxy(chain.url, {
    answer: ({ method }, result) => {
      if (method !== "eth_getLogs" || !Array.isArray(result)) return result;
      return result.map((log) => ({ ...log, blockHash: `0x${"ab".repeat(32)}` }));
    },
  });
  const asset = evmAsset({ address: token.address, chainId: chain.chainId, rpc: [liar.url] });
  await using indexing = await index(database, [acme(asset)]);
  await using api = await serve(database, [acme(asset)]);

  const trouble = await waitFor(
    () => indexing.troubles.get(chain.chainId)?.reason ?? "",
    (reason) => reason !== "",
  );
  expect(trouble).toMatch(/untrue answer \(block hash of a log\)/);
  expect(await api.list()).toEqual([]);
  const { facts } = await readFacts(database.db, chain.chainId, token.address, 0n, 1);
  expect(facts).toEqual([]);
});

test("an RPC that recovered is no longer reported, even without a new block", async () => {
  const token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  let away = false;
  await using proxy = await startProxy(chain.url, {
    http: () => (away ? { status: 503 } : undefined),
  });
  const asset = evmAsset({ address: token.address, chainId: chain.chainId, rpc: [proxy.url] });
  await using indexing = await index(database, [acme(asset)]);
  await using api = await serve(database, [acme(asset)]);
  await api.until(({ length }) => length === 1);
  const troubles = () => indexing.troubles.size;

  away = true;
  await waitFor(troubles, (size) => size === 1);
  away = false;
  await waitFor(troubles, (size) => size === 0);
});
