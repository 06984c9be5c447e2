/** `holderbook ta requests` and `ta request`: an operator sees where requests stand, and no investor. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { runCommand } from "../../commands/run-command.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, ended, newWallet, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

const overview = z.object({
  id: z.string(),
  asset: z.string(),
  kind: z.string(),
  status: z.string(),
  reason: z.string().nullable(),
  ageSeconds: z.int().min(0),
  txId: z.string().nullable(),
  waitsFor: z.string().nullable(),
  purse: z.string().nullable(),
});

test("an operator sees what every open request waits for, and nothing about investors", async () => {
  await using circle = await startCircle();
  const { database } = circle;
  const release = new AbortController();
  await using _processor = await startProcessor(circle, {
    turnMs: 60_000,
    around: (relay) => ({
      ...relay,
      submit: async (signed, signal, again) => {
        await delay(120_000, undefined, { signal: release.signal }).catch(() => undefined);
        await relay.submit(signed, signal, again);
      },
    }),
  });
  const wallet = newWallet();
  const investor = "the-operator-must-not-see-me";
  const done = await acceptRequest(database, { investorId: `${investor}-0`, kind: "kyc" });
  await ended(database, done);
  const failed = await acceptRequest(database, { investorId: `${investor}-0`, stored: false });
  await ended(database, failed);
  const first = await acceptRequest(database, { investorId: `${investor}-1`, wallet });
  const signed = () => database.sql<{ tx_id: string; message: string }[]>`
    select tx_id, message from ta_requests where id = ${first} and tx_id is not null`;
  const [transaction] = await until("a signed transaction", signed, ({ length }) => length === 1);
  const behind = await acceptRequest(database, { investorId: `${investor}-1` });
  const sameWallet = await acceptRequest(database, { investorId: `${investor}-2`, wallet });
  const elsewhere = await acceptRequest(database, { investorId: investor, asset: "demo-b" });
  const [purse] = await database.sql<
    { purse: string }[]
  >`select resource as purse from ta_reservations`;

  const run = async (...args: readonly string[]) => {
    const ran = await runCommand(["ta", ...args], { DATABASE_URL: database.url });
    expect(ran.stdout).not.toContain(investor);
    expect(ran.stdout).not.toContain(wallet);
    return ran;
  };
  const list = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run("requests", ...args);
    expect(code, stderr).toBe(0);
    const lines = stdout.split("\n").slice(0, -1);
    return lines.map((line) => overview.parse(JSON.parse(line)));
  };
  const open = await until(
    "the request for the same wallet to be taken up",
    () => list("--open"),
    (all) => all.every(({ id, status }) => id !== sameWallet || status === "PENDING"),
  );
  const pending = { kind: "whitelist", status: "PENDING", reason: null, asset: "demo-a" };
  expect(open).toMatchObject([
    {
      ...pending,
      id: first,
      txId: transaction?.tx_id,
      waitsFor: `its transaction (signed transaction ${transaction?.tx_id})`,
      purse: purse?.purse,
    },
    { id: behind, status: "QUEUED", waitsFor: `the investor's request before it, ${first}` },
    { ...pending, id: sameWallet, waitsFor: `the request that has its wallet, ${first}` },
    { id: elsewhere, asset: "demo-b", waitsFor: "a process that works for demo-b", purse: null },
  ]);
  expect((await list("--open", "--asset", "demo-b")).map(({ id }) => id)).toEqual([elsewhere]);
  expect((await list("--limit", "1")).map(({ id }) => id)).toEqual([elsewhere]);
  expect((await list()).slice(-2)).toMatchObject([
    { id: failed, status: "FAILED", reason: "PII_STORAGE_ERROR", waitsFor: null },
    { id: done, kind: "kyc", status: "SUCCESS", reason: null, waitsFor: null },
  ]);
  expect(await run("requests", "--asset", "demo-c")).toMatchObject({ code: 2 });

  const one = await run("request", first);
  expect(JSON.parse(one.stdout)).toMatchObject({
    id: first,
    message: transaction?.message,
    history: [
      {
        status: "QUEUED",
        message: expect.stringMatching(/^accepted/),
        at: expect.stringMatching(/^20.*Z$/),
      },
      { status: "QUEUED", message: expect.stringContaining("stored") },
      { status: "PENDING", message: "taken up" },
      { status: "PENDING", message: expect.stringContaining("the wallet is in no group") },
      { status: "PENDING", message: transaction?.message },
    ],
  });
  for (const id of [randomUUID(), "no-id"]) expect((await run("request", id)).code).toBe(2);
  release.abort();
  expect((await ended(database, first)).status).toBe("SUCCESS");
}, 180_000);
