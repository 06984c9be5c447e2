import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { detailsOf, watchHealth } from "../../src/http/health/health.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import type { Assets } from "../../src/settings/assets.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault } from "../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import { FAILURE_REASONS } from "../../src/ta/requests/failure-reasons.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { taDetails, taMetrics } from "../../src/ta/requests/health.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { submission } from "./submissions.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const assets: Assets = {
  projects: [
    {
      name: "acme",
      tokens: ["acme-a", "acme-b"].map((name) => ({
        name,
        ledger: "sui" as const,
        coinType: `0x7::${name.replace("-", "_")}::T`,
        whitelistGroupId: 1,
        ta: { callbackUrl: "https://hooks.acme.example/ta" },
      })),
    },
  ],
};

const fingerprint = fingerprints(randomBytes(32));

/** Accepts a request and returns its id. */
const accept = async (asset: string, investorId: string): Promise<string> => {
  const vault = openVault(database, ringOf([{ id: "test", key: randomBytes(32) }]));
  const { answer } = await createAcceptance({ database, vault })({
    asset,
    kind: "whitelist",
    submission: submission({ id: investorId }),
    fingerprint: fingerprint({
      keyId: "key_1",
      path: "/",
      canonicalBody: Buffer.from(asset + investorId),
      idempotencyKey: undefined,
    }),
  });
  return (JSON.parse(answer) as { requestId: string }).requestId;
};

/** What processing writes when a request ends. */
const end = (id: string, status: "SUCCESS" | "FAILED", reason: string | null = null) =>
  database.sql`
    update ta_requests set status = ${status}, reason = ${reason}, updated_at = now() where id = ${id}`;

test("health and metrics show open requests of each asset, their age and how they ended", async () => {
  await using health = watchHealth({
    progress: databaseProgress(database.db, []),
    version: "1",
    onError: () => undefined,
    details: detailsOf(
      async () => ({ state: "catching_up", members: { other: true } }),
      taDetails({ db: database.db, assets: () => assets }),
    ),
    observeEveryMs: 0,
    withinMs: 30_000,
    // Every look is a new one.
    now: (() => {
      let now = 0;
      return () => (now += 2_000);
    })(),
  });
  const registry = new Registry();
  taMetrics(registry, { health, db: database.db, assets: () => assets, lagSeconds: 0 });
  const figures = async () =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("holderbook_ta_"));

  expect((await health.report()).details).toEqual({
    other: true,
    transferAgent: ["acme-a", "acme-b"].map((asset) => ({
      asset,
      queued: 0,
      pending: 0,
      oldestSeconds: null,
      waitingLane: null,
    })),
  });
  expect(await figures()).toEqual([
    'holderbook_ta_requests_open{asset="acme-a",status="QUEUED"} 0',
    'holderbook_ta_requests_open{asset="acme-a",status="PENDING"} 0',
    'holderbook_ta_requests_open{asset="acme-b",status="QUEUED"} 0',
    'holderbook_ta_requests_open{asset="acme-b",status="PENDING"} 0',
    'holderbook_ta_oldest_open_request_seconds{asset="acme-a"} 0',
    'holderbook_ta_oldest_open_request_seconds{asset="acme-b"} 0',
    // Begun at 0, or the first failure of a kind would be no increase, and no alarm.
    ...["acme-a", "acme-b"].flatMap((asset) =>
      FAILURE_REASONS.map(
        (reason) =>
          `holderbook_ta_requests_ended_total{asset="${asset}",status="FAILED",reason="${reason}"} 0`,
      ),
    ),
  ]);

  const ids = [];
  for (const investor of ["i-1", "i-2", "i-3", "i-4"]) ids.push(await accept("acme-a", investor));
  const [first, second, third, fourth] = ids;
  // Taken out of the file; its requests are there all the same.
  await accept("acme-former", "i-5");
  await database.sql`
    update ta_requests set status = 'PENDING', created_at = now() - interval '90 s'
    where id = ${String(second)}`;
  await end(String(first), "SUCCESS");
  const [{ lane } = { lane: 0n }] = await database.sql<{ lane: bigint }[]>`
    select lane_id as lane from ta_requests where id = ${String(second)}`;
  const { status, details } = await health.report();
  expect(status).toBe("catching_up");
  expect(details?.transferAgent).toEqual([
    {
      asset: "acme-a",
      queued: 2,
      pending: 1,
      oldestSeconds: expect.closeTo(90, -1),
      waitingLane: String(lane),
    },
    { asset: "acme-b", queued: 0, pending: 0, oldestSeconds: null, waitingLane: null },
    {
      asset: "acme-former",
      queued: 1,
      pending: 0,
      oldestSeconds: expect.any(Number),
      waitingLane: null,
    },
  ]);

  await end(String(third), "FAILED", "ALREADY_WHITELISTED");
  await end(String(fourth), "FAILED", "ALREADY_WHITELISTED");
  const ended = (lines: readonly string[]) =>
    lines.filter((line) => /ended_total.* [1-9]/.test(line)).toSorted();
  const both = await Promise.all([figures(), figures()]);
  for (const lines of both) {
    expect(ended(lines)).toEqual([
      'holderbook_ta_requests_ended_total{asset="acme-a",status="FAILED",reason="ALREADY_WHITELISTED"} 2',
      'holderbook_ta_requests_ended_total{asset="acme-a",status="SUCCESS",reason=""} 1',
    ]);
  }
  await end(String(first), "FAILED", "CALLBACK_DELIVERY_FAILED");
  const lines = await figures();
  expect(ended(lines)).toContain(
    'holderbook_ta_requests_ended_total{asset="acme-a",status="FAILED",reason="CALLBACK_DELIVERY_FAILED"} 1',
  );
  expect(lines).toContain('holderbook_ta_requests_open{asset="acme-a",status="PENDING"} 1');
  expect(lines.join("")).not.toMatch(/i-\d|0xab/);
});
