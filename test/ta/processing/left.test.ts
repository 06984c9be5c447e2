import { setTimeout as delay } from "node:timers/promises";
import pino from "pino";
import { expect, test } from "vitest";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { warnOfLeftRequests } from "../../../src/ta/processing/processed-assets.ts";
import { until } from "../../lanes/until.ts";
import type { TestDatabase } from "../../postgres.ts";
import { acceptRequest, ended, renameAsset } from "./circle.ts";
import { EVM_ASSET, newEvmWallet, OWNER, startEvmCircle } from "./evm-circle.ts";

const holdersOf = ({ sql }: TestDatabase) =>
  sql<{ request_id: string }[]>`select request_id from ta_reservations`;

/** As if what is held had been held for two minutes. */
const letTimePass = ({ sql }: TestDatabase) =>
  sql`update ta_reservations set claimed_at = claimed_at - interval '2 minutes'`;

test("the transaction of a removed asset is settled by those waiting for its nonce, and its request ends when the asset is back", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database, token } = circle;
  const wallets = [newEvmWallet(), newEvmWallet()] as const;
  const groupOf = (wallet: string) => chain.read(token, "getTransferGroup", [wallet]);
  const killed = await circle.process(OWNER, {
    around: (relay) => ({
      ...relay,
      submit: (_signed, signal) => delay(60_000, undefined, { signal }),
    }),
  });
  const about = { asset: EVM_ASSET, wallet: wallets[0] };
  const first = await acceptRequest(database, { ...about, investorId: "l-1" });
  const stored = () => database.sql`select 1 from ta_transactions where request_id = ${first}`;
  await until("the transaction", stored, (rows) => rows.length === 1);
  await killed[Symbol.asyncDispose]();
  await renameAsset(database, EVM_ASSET, "taken out");

  {
    await using processing = await circle.process(OWNER);
    const next = { asset: EVM_ASSET, investorId: "l-2", wallet: wallets[1] };
    const second = await acceptRequest(database, next);
    const missing = () => processing.logged.filter((line) => line.includes("put it back into"));
    await until("the request that cannot go on", missing, (lines) => lines.length > 0);
    // What is held for a moment belongs to a worker that is still busy.
    expect(await holdersOf(database)).toEqual([{ request_id: first }]);
    await letTimePass(database);
    expect(await ended(database, second)).toMatchObject({ status: "SUCCESS", reason: null });
    expect(await groupOf(wallets[0])).toBe(5n);
    expect(await groupOf(wallets[1])).toBe(5n);
    expect(await holdersOf(database)).toEqual([]);
  }

  await renameAsset(database, "taken out", EVM_ASSET);
  await using _back = await circle.process(OWNER);
  expect(await ended(database, first)).toMatchObject({ status: "SUCCESS", reason: null });
});

test("a nonce held without a signed transaction is free for others, unless a worker is using it", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  const { sql } = database;
  const resource = `evm:${chain.chainId}:${evmKeySigner(OWNER).address}`;
  const left = await acceptRequest(database, { asset: "taken out", investorId: "l-3" });
  await sql`
    insert into ta_reservations (resource, payer, request_id, claimed_at)
    values (${resource}, ${resource}, ${left}, now() - interval '2 minutes')`;
  const lease = (until: string) => sql`
    update ta_lanes set leased_until = ${until}, wake_at = ${until}, token = gen_random_uuid()
    where investor_id = 'l-3'`;
  await lease("2100-01-01");
  await using processing = await circle.process(OWNER);
  const about = { asset: EVM_ASSET, wallet: newEvmWallet(), investorId: "l-4" };
  const id = await acceptRequest(database, about);
  const claimed = () => sql`select 1 from ta_wallet_claims where request_id = ${id}`;
  await until("the request to wait", claimed, (rows) => rows.length === 1);
  // Longer than a turn, after which it looks for what is held for nothing.
  await expect(ended(database, id, 3_000)).rejects.toThrow("PENDING");
  expect(await holdersOf(database)).toEqual([{ request_id: left }]);
  await lease("2000-01-01");
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  expect(processing.logged.join("")).not.toContain("l-3");
});

test("at start, open requests of assets no longer configured are named, with what they hold", async () => {
  await using circle = await startEvmCircle(4);
  const { database } = circle;
  const id = await acceptRequest(database, { asset: "taken out", investorId: "l-5" });
  await acceptRequest(database, { asset: EVM_ASSET, investorId: "l-6" });
  await database.sql`insert into ta_reservations (resource, payer, request_id) values ('evm:1:0x5', 'evm:1:0x5', ${id})`;
  const logged: string[] = [];
  const logger = pino({}, { write: (line: string) => void logged.push(line) });
  await warnOfLeftRequests(database.sql, new Set([EVM_ASSET]), logger);
  expect(logged.map((line): unknown => JSON.parse(line))).toMatchObject([
    {
      level: 40,
      asset: "taken out",
      requests: 1,
      holding: [{ requestId: id, resource: "evm:1:0x5", txId: null }],
      msg: expect.stringContaining("put it back"),
    },
  ]);
});
