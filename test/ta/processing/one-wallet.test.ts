import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SigningNotAllowedError, suiKeySigner } from "../../../src/ta/ledgers/signer.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, type Circle, ended, newWallet, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

/** Accepts a request of each investor for one wallet. */
const acceptFor = (wallet: string, investorIds: readonly string[]) =>
  Promise.all(
    investorIds.map((investorId) => acceptRequest(circle.database, { investorId, wallet })),
  );

const claims = () => circle.database.sql`select 1 from ta_wallet_claims`;

test("two investors name one wallet concurrently: one transaction, one success, one ALREADY_WHITELISTED", async () => {
  const { database } = circle;
  const ids = await acceptFor(newWallet(), ["w-1", "w-2"]);
  // Two processes, so that nothing in the memory of one keeps them apart.
  // What ends the first request wakes the second one's lane, which would else rest too long for this test.
  await using _one = await startProcessor(circle, { troubleMs: 60_000 });
  await using _other = await startProcessor(circle, { troubleMs: 60_000 });
  const done = await Promise.all(ids.map((id) => ended(database, id)));
  expect(done.map(({ status, reason }) => reason ?? status).toSorted()).toEqual([
    "ALREADY_WHITELISTED",
    "SUCCESS",
  ]);
  const digests = done.flatMap(({ tx_id }) => tx_id ?? []);
  expect(digests).toHaveLength(1);
  expect(await circle.taken()).toEqual(digests);
  expect(await claims()).toHaveLength(0);
});

test("the request that claimed a wallet keeps it over a restart of its process", async () => {
  const { database } = circle;
  const wallet = newWallet();
  let submitting = false;
  const before = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (_signed, signal) => {
        submitting = true;
        await delay(60_000, undefined, { signal });
      },
    }),
  });
  const ids = await acceptFor(wallet, ["w-3", "w-4"]);
  await until(
    "a submission that hangs",
    () => submitting,
    (seen) => seen,
  );
  await before[Symbol.asyncDispose]();
  const [held] = await database.sql<{ request_id: string }[]>`
    select request_id from ta_wallet_claims where wallet = ${wallet}`;
  await using _after = await startProcessor(circle);
  for (const done of await Promise.all(ids.map((id) => ended(database, id)))) {
    expect(done.reason).toBe(done.id === held?.request_id ? null : "ALREADY_WHITELISTED");
  }
  expect(await claims()).toHaveLength(0);
});

test("a failing request leaves the wallet to the next one", async () => {
  const { database } = circle;
  const key = suiKeySigner(circle.source.secretKey(circle.registrar));
  let asked = 0;
  const signer = {
    ...key,
    sign: (...about: Parameters<typeof key.sign>): Promise<string> => {
      asked += 1;
      if (asked === 1) throw new SigningNotAllowedError("not this one");
      return key.sign(...about);
    },
  };
  const ids = await acceptFor(newWallet(), ["w-5", "w-6"]);
  await using _processor = await startProcessor(circle, { signer });
  const done = await Promise.all(ids.map((id) => ended(database, id)));
  expect(done.map(({ reason }) => reason).toSorted()).toEqual(["SIGNING_NOT_ALLOWED", null]);
});

test("requests that wait for one wallet hold no worker from others, and all end", async () => {
  const { database } = circle;
  const wallet = newWallet();
  const release = new AbortController();
  let held = false;
  await using _processor = await startProcessor(circle, {
    concurrency: 2,
    // A turn longer than the test: a request that waited in it would keep its worker.
    turnMs: 60_000,
    around: (relay) => ({
      ...relay,
      submit: async (signed, signal, again) => {
        if (!held) {
          held = true;
          await delay(60_000, undefined, { signal: release.signal }).catch(() => undefined);
        }
        await relay.submit(signed, signal, again);
      },
    }),
  });
  const names = Array.from({ length: 12 }, (_, n) => `w-crowd-${n}`);
  const crowd = await acceptFor(wallet, names);
  await until(
    "the first of the crowd to be submitted",
    () => held,
    (seen) => seen,
  );
  const other = await acceptRequest(database, { investorId: "w-other" });
  expect((await ended(database, other)).status).toBe("SUCCESS");
  release.abort();
  const done = await Promise.all(crowd.map((id) => ended(database, id, 30_000)));
  expect(done.filter(({ status }) => status === "SUCCESS")).toHaveLength(1);
  expect(done.filter(({ reason }) => reason === "ALREADY_WHITELISTED")).toHaveLength(11);
});
