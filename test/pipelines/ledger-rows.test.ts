import { expect, test } from "vitest";
import * as names from "../../src/ledger/contract/names.ts";
import { holderLifecyclePipeline } from "../../src/pipelines/holder-lifecycle.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { makeRows } from "../../src/pipelines/pipeline.ts";
import { roleChangesPipeline } from "../../src/pipelines/role-changes.ts";
import { sharedTokenObjectsPipeline } from "../../src/pipelines/shared-token-objects.ts";
import { timelockObjectsPipeline } from "../../src/pipelines/timelock-objects.ts";
import { tokenActivityPipeline } from "../../src/pipelines/token-activity.ts";
import { UndecodableFactError } from "../../src/pipelines/undecodable-fact.ts";
import { ALL } from "../../src/projections/needed.ts";
import { freshDatabase } from "../postgres.ts";
import * as say from "./token-facts.ts";
import { ACME, address, BETA, batchOf, digestOf, type Said, SIGNER } from "./token-facts.ts";

const [ALICE, BOB, TOKEN, GRANT] = [address("a11ce"), address("b0b"), address("71"), address("91")];

/** Facts of checkpoint 42, one transaction each. */
const facts = (...transactions: readonly (readonly Said[])[]) =>
  batchOf([{ sequence: 42n, transactions }]).facts;

const at42 = (transaction: number, index: number) => ({
  coinType: ACME,
  position: 42_000_000_000n + BigInt(transaction) * 10_000n + BigInt(index),
  txDigest: digestOf(42n, transaction),
  timestampMs: 1_700_000_042_000n,
});

test("each movement becomes a row; a mint has no sender and a burn no recipient", () => {
  const rows = tokenActivityPipeline.rows(
    facts(
      [
        say.minted({ tokenId: TOKEN, to: ALICE, amount: 2n ** 64n - 1n }),
        say.transferred({ tokenId: TOKEN, from: ALICE, to: BOB, amount: 2n }),
      ],
      [
        say.forceTransferred({ tokenId: TOKEN, from: BOB, to: ALICE, amount: 3n }),
        say.burned({ tokenId: TOKEN, from: ALICE, amount: 0n }),
      ],
    ),
    undefined,
  );
  const same = { signer: SIGNER, tokenObjectId: TOKEN };
  expect(rows).toEqual([
    {
      ...at42(0, 0),
      ...same,
      activityType: "mint",
      fromAddress: null,
      toAddress: ALICE,
      amount: 18_446_744_073_709_551_615n,
    },
    {
      ...at42(0, 1),
      ...same,
      activityType: "transfer",
      fromAddress: ALICE,
      toAddress: BOB,
      amount: 2n,
    },
    {
      ...at42(1, 0),
      ...same,
      activityType: "force_transfer",
      fromAddress: BOB,
      toAddress: ALICE,
      amount: 3n,
    },
    {
      ...at42(1, 1),
      ...same,
      activityType: "burn",
      fromAddress: ALICE,
      toAddress: null,
      amount: 0n,
    },
  ]);
});

test("every kind of register event becomes a row with that kind's values only", () => {
  const nothing = { holderId: null, address: null, groupId: null, isFrozen: null };
  const { events } = holderLifecyclePipeline.rows(
    facts([
      say.addressAdded({ holderId: 0n, addr: ALICE }),
      say.holderAddedTo({ holderId: 0n, addresses: [ALICE, BOB] }),
      say.addressRemoved({ holderId: 0n, addr: BOB }),
      say.holderRemovedFrom({ holderId: 0n }),
      say.joinedGroup({ addr: ALICE, groupId: 0n }),
      say.leftGroup({ addr: ALICE, groupId: 4n }),
      say.frozen({ addr: BOB, isFrozen: false }),
    ]),
    new Map(),
  );
  expect(events).toEqual([
    { ...at42(0, 0), ...nothing, eventType: "holder_address_added", holderId: 0n, address: ALICE },
    { ...at42(0, 1), ...nothing, eventType: "holder_added", holderId: 0n },
    { ...at42(0, 2), ...nothing, eventType: "holder_address_removed", holderId: 0n, address: BOB },
    { ...at42(0, 3), ...nothing, eventType: "holder_removed", holderId: 0n },
    { ...at42(0, 4), ...nothing, eventType: "address_joined_group", address: ALICE, groupId: 0n },
    { ...at42(0, 5), ...nothing, eventType: "address_left_group", address: ALICE, groupId: 4n },
    { ...at42(0, 6), ...nothing, eventType: "address_frozen", address: BOB, isFrozen: false },
  ]);
});

test("a role is stored as its canonical type, whichever package it is from", () => {
  const { events } = roleChangesPipeline.rows(
    facts([
      say.roleChanged({ owner: BOB, role: `${say.PACKAGE.slice(2)}::roles::Any`, granted: true }),
      say.roleChanged({ owner: BOB, role: `${"F".repeat(64)}::roles::Any`, granted: false }),
    ]),
    new Map(),
  );
  const same = { owner: BOB, signer: SIGNER };
  expect(events).toEqual([
    { ...at42(0, 0), ...same, role: `${say.PACKAGE}::roles::Any`, granted: true },
    { ...at42(0, 1), ...same, role: `0x${"f".repeat(64)}::roles::Any`, granted: false },
  ]);
});

test("a role whose type is too long for a key makes no row, and affects no other", () => {
  const role = (name: string) => `${say.PACKAGE.slice(2)}::roles::${name}`;
  const long = [role("R".repeat(1_024)), `${role("R")}<${role("R".repeat(20_000))}>`];
  const { events } = roleChangesPipeline.rows(
    facts(
      [...long, role("Any")].map((type) =>
        say.roleChanged({ owner: BOB, role: type, granted: true }),
      ),
    ),
    new Map(),
  );
  expect(events).toMatchObject([{ ...at42(0, 2), role: `0x${role("Any")}` }]);
});

const OBJECTS: ReadonlySet<string> = new Set([
  names.SHARED_TOKEN,
  names.TIMELOCK,
  names.TREASURY,
  names.COIN_METADATA,
  names.CURRENCY,
]);

const emptyTables = () => ({
  tokens: new Map(),
  grants: new Map(),
  decoded: new Map(),
  balances: new Map(),
});

test("an object written several times counts in its final state", () => {
  const written = (balance: bigint) => say.token({ id: TOKEN, owner: ALICE, balance });
  const gone = say.removed(names.SHARED_TOKEN, TOKEN);
  const end = (...transactions: readonly (readonly Said[])[]) =>
    sharedTokenObjectsPipeline.rows(facts(...transactions), emptyTables()).objects;
  const standing = (balance: bigint, transaction: number) => [
    {
      coinType: ACME,
      objectId: TOKEN,
      state: {
        coinType: ACME,
        owner: ALICE,
        balance,
        version: say.versionOf(42n, transaction),
        checkpoint: 42n,
      },
    },
  ];

  expect(end([written(1n)], [written(2n)], [written(2n)])).toEqual(standing(2n, 2));
  expect(end([written(1n)], [gone])).toEqual([{ coinType: ACME, objectId: TOKEN, state: null }]);
  expect(end([gone], [written(7n)])).toEqual(standing(7n, 1));
  expect(end([gone], [written(7n)], [gone])).toEqual([
    { coinType: ACME, objectId: TOKEN, state: null },
  ]);
});

test("a grant is stored with its whole schedule", () => {
  const { objects } = timelockObjectsPipeline.rows(
    facts([say.grant({ id: GRANT, owner: BOB, leftBalance: 77n, tokensTransferred: 5n })]),
    emptyTables(),
  );
  expect(objects).toEqual([
    {
      coinType: ACME,
      objectId: GRANT,
      state: {
        coinType: ACME,
        owner: BOB,
        funder: SIGNER,
        releaseScheduleId: 3n,
        releaseCount: 12n,
        delayUntilFirstReleaseMs: 1_000n,
        periodBetweenReleasesMs: 86_400_000n,
        initialReleasePortionBps: 2_500n,
        commencementTimestampMs: 1_700_000_000_000n,
        totalAmount: 1_000n,
        tokensTransferred: 5n,
        leftBalance: 77n,
        version: say.versionOf(42n, 0),
        checkpoint: 42n,
      },
    },
  ]);
});

test("contents that do not match the layout stop the pipeline, naming their position", async () => {
  await using database = await freshDatabase();
  for (const pipeline of ledgerPipelines) {
    for (const name of pipeline.facts) {
      const isObject = OBJECTS.has(name);
      const common = { name, coinType: BETA, contents: new Uint8Array(3) };
      const damaged: Said = isObject
        ? { ...common, kind: "object", objectId: TOKEN }
        : { ...common, kind: "event" };
      const place = /checkpoint 42, transaction 1 \(Tx42x1\), index 0/;

      const failed = await makeRows(pipeline, facts([], [damaged]), database).catch(
        (error: unknown) => error,
      );
      expect(failed, name).toBeInstanceOf(UndecodableFactError);
      expect(String(failed), name).toContain(pipeline.name);
      expect(String(failed), name).toContain(`${say.PACKAGE}::${name}<${BETA}>`);
      expect(String(failed), name).toMatch(place);
    }
  }
});

test("a type that names no coin stops the pipeline too", () => {
  const nameless: Said = { ...say.token({ id: TOKEN, owner: BOB, balance: 1n }), coinType: null };
  expect(() => sharedTokenObjectsPipeline.rows(facts([nameless]), emptyTables())).toThrow(
    /the type names no coin/,
  );
});

test("the pipelines want every name of the contract they fold, and those of _meta come first", () => {
  expect(ledgerPipelines.map(({ name }) => name).slice(0, ALL.length)).toEqual(
    ALL.map(({ name }) => name),
  );
  const wanted = new Set(ledgerPipelines.flatMap(({ facts }) => facts));
  const folded = Object.values(names).filter((name) => /::/.test(name));
  expect([...wanted].sort()).toEqual(folded.sort());
});
