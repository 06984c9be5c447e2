/**
 * Objects that another object wraps for a while, from bytes to answers. Validators refuse to wrap shared
 * objects, so no ledger of ours holds such bytes: they are made up here.
 */
import { expect, test } from "vitest";
import { sharedToken, timelock } from "../../src/ledger/contract/objects.ts";
import type { Encoding } from "../../src/ledger/decode/checkpoint.ts";
import { tokenBalance } from "../../src/projections/balances.ts";
import { tokenObjects } from "../../src/projections/shared-token-objects.ts";
import { tokenTimelocks } from "../../src/projections/timelock-objects.ts";
import { COIN, COIN_TYPE, FOREIGN, ISSUER, OURS, OURS_V2 } from "../ledger/corpus.ts";
import { encodeFixture, structTag } from "../ledger/fixture.ts";
import type { FixtureChange } from "../ledger/fixture-effects.ts";
import { type FixtureObject, id } from "../ledger/fixture-object.ts";
import { freshDatabase } from "../postgres.ts";
import { follow } from "./following.ts";

const OWNER = id(0xabc);
const [TOKEN, GRANT, CUSTODY] = [id(0x1001), id(0x1002), id(0x1003)];
const ID_BYTES = 32;

const tokenType = structTag(OURS, "shared_token", "SharedToken", [COIN]);
const grantType = structTag(OURS_V2, "timelock", "Timelock", [COIN]);

const token = (version: bigint): FixtureObject => ({
  id: TOKEN,
  version,
  type: { Other: tokenType },
  owner: { Shared: 1 },
  rest: sharedToken.serialize({ id: TOKEN, owner: OWNER, balance: 70n }).toBytes().slice(ID_BYTES),
});

const grant = (version: bigint): FixtureObject => ({
  id: GRANT,
  version,
  type: { Other: grantType },
  owner: { Shared: 1 },
  rest: timelock
    .serialize({
      id: GRANT,
      owner: OWNER,
      funder: ISSUER,
      releaseScheduleId: 1n,
      releaseCount: 1n,
      delayUntilFirstReleaseMs: 0n,
      periodBetweenReleasesMs: 0n,
      initialReleasePortionBps: 0n,
      commencementTimestampMs: 0n,
      totalAmount: 30n,
      tokensTransferred: 0n,
      leftBalance: 30n,
    })
    .toBytes()
    .slice(ID_BYTES),
});

/** The wrapping object: its own address is foreign, its type parameter and its contents are ours. */
const custody = (version: bigint): FixtureObject => ({
  id: CUSTODY,
  version,
  type: { Other: structTag(FOREIGN, "custody", "Custody", [{ struct: tokenType }]) },
  owner: { AddressOwner: OWNER },
  rest: Uint8Array.from([...Buffer.from(TOKEN.slice(2), "hex"), ...(token(version).rest ?? [])]),
});

/** What each checkpoint changes: both objects are created, wrapped, unwrapped again. */
const CHANGES: readonly (readonly FixtureChange[])[] = [
  [
    { before: null, after: token(10n), operation: "Created" },
    { before: null, after: grant(10n), operation: "Created" },
  ],
  [
    { before: token(10n), after: null, operation: "None" },
    { before: grant(10n), after: null, operation: "None" },
    { before: null, after: custody(20n), operation: "Created" },
  ],
  [
    { before: custody(20n), after: null, operation: "Deleted" },
    { before: null, after: token(30n), operation: "None" },
    { before: null, after: grant(30n), operation: "None" },
  ],
];

/** What is served after each of them. */
const HELD = [
  { balance: 100n, timelockBalance: 30n, objects: [10n], grants: [GRANT] },
  { balance: 0n, timelockBalance: 0n, objects: [], grants: [] },
  { balance: 100n, timelockBalance: 30n, objects: [30n], grants: [GRANT] },
];

const raws = (encoding: Encoding, effects: "V1" | "V2") =>
  CHANGES.map((changes, sequence) => {
    const transactions = [{ sender: OWNER, effects, changes }];
    return encodeFixture({ sequence: BigInt(sequence), transactions })[encoding];
  });

const heldIn = async ({ db }: Awaited<ReturnType<typeof freshDatabase>>) => {
  const { balance, timelockBalance } = await tokenBalance(db, {
    coinType: COIN_TYPE,
    owner: OWNER,
  });
  const objects = await tokenObjects(db, { coinType: COIN_TYPE, owner: OWNER, limit: 10 });
  const grants = await tokenTimelocks(db, { coinType: COIN_TYPE, limit: 10 });
  return {
    balance,
    timelockBalance,
    objects: objects.map(({ version }) => version),
    grants: grants.map(({ objectId }) => objectId),
  };
};

test.each([
  ["bcs", "V1"],
  ["bcs", "V2"],
  ["protobuf", "V1"],
  ["protobuf", "V2"],
] as const)(
  "a token and a grant are in no balance while they are wrapped, and back once unwrapped (%s, effects %s)",
  async (encoding, effects) => {
    await using database = await freshDatabase();
    const following = await follow(database, { chainId: "made-up", packages: [OURS, OURS_V2] });
    for (const [sequence, raw] of raws(encoding, effects).entries()) {
      await following.append([raw]);
      await following.project(100);
      expect(await heldIn(database), `after checkpoint ${sequence}`).toEqual(HELD[sequence]);
    }
  },
);

test("objects wrapped and unwrapped in one batch end in their final state", async () => {
  await using database = await freshDatabase();
  const following = await follow(database, { chainId: "made-up", packages: [OURS, OURS_V2] });
  await following.append(raws("bcs", "V2"));
  await following.project(100);
  expect(await heldIn(database)).toEqual(HELD[2]);
});
