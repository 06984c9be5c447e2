import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline, resetPipeline } from "../../src/pipelines/register.ts";
import { holderEvents } from "../../src/projections/holder-events.ts";
import { roleEvents, walletRoles } from "../../src/projections/roles.ts";
import { tokenActivity } from "../../src/projections/token-activity.ts";
import {
  ACME,
  address,
  batchOf,
  joinedGroup,
  minted,
  PACKAGE,
  roleChanged,
  type SaidCheckpoint,
  wantedBy,
} from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { plannedNodes } from "./query-plan.ts";

const [ALICE, TOKEN] = [address("a11ce"), address("71")];
const FOREIGN = "f".repeat(64);

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const pipeline of ledgerPipelines) await resetPipeline(database, pipeline);
});

/** Applies these checkpoints in batches of so many. */
const happened = async (checkpoints: readonly SaidCheckpoint[], perBatch = checkpoints.length) => {
  const [firstCheckpoint, nextCheckpoint] = [checkpoints[0]?.sequence ?? 0n, 1_000_000n];
  const log = { chainId: null, packages: [], firstCheckpoint, nextCheckpoint, last: null };
  for (const pipeline of ledgerPipelines) {
    await registerPipeline(database.sql, pipeline, log);
    for (let at = 0; at < checkpoints.length; at += perBatch) {
      const batch = batchOf(checkpoints.slice(at, at + perBatch));
      await applyBatch(database, pipeline, wantedBy(pipeline, batch));
    }
  }
};

const joined = (groupId: bigint) => joinedGroup({ addr: ALICE, groupId });
const groupsOf = (events: readonly { readonly groupId: bigint | null }[]) =>
  events.map(({ groupId }) => groupId);

test("a second is included from its first to its last millisecond", async () => {
  await happened(
    [999n, 1_000n, 1_999n, 2_000n].map((ms, n) => ({
      sequence: BigInt(n),
      timestampMs: 1_700_000_000_000n + ms,
      transactions: [[joined(BigInt(n))]],
    })),
  );
  const since = async (sinceTimestamp: bigint) =>
    groupsOf(await holderEvents(database.db, { coinType: ACME, sinceTimestamp, limit: 10 }));
  expect(await since(1_700_000_000n)).toEqual([0n, 1n, 2n, 3n]);
  expect(await since(1_700_000_001n)).toEqual([1n, 2n, 3n]);
  expect(await since(1_700_000_002n)).toEqual([3n]);
  expect(await since(1_700_000_003n)).toEqual([]);
  expect(await since(10n ** 30n)).toEqual([]);
});

test("a checkpoint whose time steps back keeps its position and is found by its own time", async () => {
  const times = [10n, 20n, 15n, 5n, 25n, 21n];
  for (const perBatch of [1, 6]) {
    for (const pipeline of ledgerPipelines) await resetPipeline(database, pipeline);
    await happened(
      times.map((seconds, n) => ({
        sequence: BigInt(n),
        timestampMs: seconds * 1_000n,
        transactions: [[joined(seconds)]],
      })),
      perBatch,
    );
    const since = async (sinceTimestamp: bigint) =>
      groupsOf(await holderEvents(database.db, { coinType: ACME, sinceTimestamp, limit: 10 }));
    expect(await since(0n)).toEqual(times);
    expect(await since(15n)).toEqual([20n, 15n, 25n, 21n]);
    expect(await since(21n)).toEqual([25n, 21n]);
    expect(await since(5n)).toEqual(times);
  }
});

test("paging by position and by second returns every event once while more arrive", async () => {
  const checkpoint = (sequence: bigint): SaidCheckpoint => ({
    sequence,
    transactions: [[joined(sequence * 2n), joined(sequence * 2n + 1n)]],
  });
  await happened([0n, 1n, 2n].map(checkpoint));
  const seen: (bigint | null)[] = [];
  let after: bigint | undefined;
  for (let page = 0; page < 5; page += 1) {
    if (page === 1) {
      const later = batchOf([3n, 4n].map(checkpoint));
      const lifecycle = ledgerPipelines.find(({ name }) => name === "holder_lifecycle");
      if (lifecycle === undefined) throw new Error("the pipeline has another name");
      await applyBatch(database, lifecycle, wantedBy(lifecycle, later));
    }
    const events = await holderEvents(database.db, {
      coinType: ACME,
      sinceTimestamp: 1_700_000_001n,
      after,
      limit: 2,
    });
    seen.push(...groupsOf(events));
    after = events.at(-1)?.position ?? after;
  }
  expect(seen).toEqual([2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n]);
});

test("finding a second skips over no earlier event", async () => {
  await database.sql`
    insert into holder_events (coin_type, position, event_type, tx_digest, timestamp_ms, reached_ms)
    select ${ACME}, n::int8 * 1000000000, 'address_frozen', 'x', n::int8 * 1000, n::int8 * 1000
    from generate_series(1, 50000) n`;
  await database.sql`analyze holder_events`;
  const nodes = await plannedNodes(database, (db) =>
    holderEvents(db, { coinType: ACME, sinceTimestamp: 40_000n, after: 7n, limit: 20 }),
  );
  const reading = nodes.filter(({ relation }) => relation === "holder_events");
  expect(nodes.map(({ type }) => type)).not.toContain("Sort");
  expect(reading.map(({ rows }) => rows).sort((a, b) => a - b)).toEqual([1, 20]);
  expect(reading.every(({ filtered }) => filtered === 0)).toBe(true);
});

test("the newest event decides a role; foreign types of the same name are listed and add no bit", async () => {
  const role = (name: string, granted: boolean, home = PACKAGE.slice(2), owner = ALICE) =>
    roleChanged({ owner, role: `${home}::roles::${name}`, granted });
  await happened(
    [
      {
        sequence: 0n,
        transactions: [
          [
            role("ContractAdmin", true),
            role("TimelockCanceler", true),
            role("ReserveAdmin", true),
            role("ReserveAdmin", false),
          ],
          [role("WalletsAdmin", true, FOREIGN), role("TransferAdmin", true, FOREIGN, TOKEN)],
        ],
      },
      {
        sequence: 1n,
        transactions: [[role("ContractAdmin", false), role("ContractAdmin", true)]],
      },
      { sequence: 2n, transactions: [[role("TimelockCanceler", false)]] },
    ],
    1,
  );
  const packages = [PACKAGE];
  expect(await walletRoles(database.db, { coinType: ACME, packages })).toEqual([
    { owner: TOKEN, roleBits: 0, roles: [`0x${FOREIGN}::roles::TransferAdmin`] },
    {
      owner: ALICE,
      roleBits: 1,
      roles: [`${PACKAGE}::roles::ContractAdmin`, `0x${FOREIGN}::roles::WalletsAdmin`],
    },
  ]);
  const events = await roleEvents(database.db, { coinType: ACME, packages, limit: 100 });
  expect(events.map(({ roleBit, granted }) => [roleBit, granted])).toEqual([
    [1, true],
    [16, true],
    [2, true],
    [2, false],
    [0, true],
    [0, true],
    [1, false],
    [1, true],
    [16, false],
  ]);
  // Bits follow the configuration of the process that asks.
  const all = await walletRoles(database.db, {
    coinType: ACME,
    packages: [PACKAGE, `0x${FOREIGN}`],
  });
  expect(all.map(({ roleBits }) => roleBits)).toEqual([8, 5]);
});

test("activity is read forwards and backwards, from any position, with an offset", async () => {
  await happened(
    [0n, 1n, 2n, 3n].map((sequence) => ({
      sequence,
      transactions: [[minted({ tokenId: TOKEN, to: ALICE, amount: sequence })]],
    })),
  );
  const read = async (query: Partial<Parameters<typeof tokenActivity>[1]>) => {
    const whole = { coinType: ACME, limit: 10, offset: 0, order: "asc" as const };
    return (await tokenActivity(database.db, { ...whole, ...query })).map(({ amount }) => amount);
  };
  expect(await read({})).toEqual([0n, 1n, 2n, 3n]);
  expect(await read({ order: "desc" })).toEqual([3n, 2n, 1n, 0n]);
  expect(await read({ offset: 1, limit: 2 })).toEqual([1n, 2n]);
  expect(await read({ after: 1_000_000_000n })).toEqual([2n, 3n]);
  expect(await read({ after: 1_000_000_000n, order: "desc" })).toEqual([0n]);
  expect(await read({ after: 10n ** 30n })).toEqual([]);
  expect(await read({ after: -1n })).toEqual([0n, 1n, 2n, 3n]);
  expect(await read({ coinType: "0x1::no::NO" })).toEqual([]);
});
