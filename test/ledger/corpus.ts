/** Made-up checkpoints that between them hold every shape the decoder must know. */
import { bcs } from "@mysten/sui/bcs";
import { everyExpiration, everyTransactionKind } from "./every-transaction.ts";
import { encodeFixture, type FixtureCheckpoint, structTag } from "./fixture.ts";
import type { FixtureChange } from "./fixture-effects.ts";
import { type FixtureObject, id } from "./fixture-object.ts";

/** The security-token package of the made-up checkpoints, its second version, and a foreign one. */
export const OURS = "0x00a7c3d9f1e2b4586079cafe12345678deadbeef00112233445566778899aabb";
export const OURS_V2 = "0xb1d0c2e3f4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f";
export const FOREIGN = "0x1f2e3d4c5b6a79880123456789abcdeffedcba98765432100f1e2d3c4b5a6978";
export const ISSUER = id("0x155e");
export const COIN = { struct: structTag(id("0xc011"), "acme", "ACME") };
export const COIN_TYPE = `${id("0xc011")}::acme::ACME`;

const token = (n: number, version: bigint, owner: FixtureObject["owner"] = { Shared: 3 }) => ({
  id: id(0x1000 + n),
  version,
  type: { Other: structTag(OURS, "shared_token", "SharedToken", [COIN]) },
  owner,
  rest: bcs
    .struct("t", { owner: bcs.Address, balance: bcs.u64() })
    .serialize({ owner: id(0xabc0 + n), balance: 1000n + BigInt(n) })
    .toBytes(),
});

const plain = (
  n: number,
  version: bigint,
  type: FixtureObject["type"],
  owner: FixtureObject["owner"] = { AddressOwner: ISSUER },
): FixtureObject => ({ id: id(0x2000 + n), version, type, owner, rest: new Uint8Array(8).fill(n) });

const changes: readonly FixtureChange[] = [
  { before: token(1, 9n), after: token(1, 20n), operation: "None" },
  { before: null, after: token(2, 20n), operation: "Created" },
  { before: token(3, 9n), after: null, operation: "Deleted" },
  { before: token(4, 9n), after: null, operation: "None" }, // wrapped
  { before: null, after: token(5, 20n), operation: "None" }, // unwrapped
  { before: null, after: null, operation: "Deleted" }, // unwrapped and deleted: never stood alone
  {
    before: plain(1, 8n, { GasCoin: true }),
    after: plain(1, 20n, { GasCoin: true }),
    operation: "None",
  },
  { before: null, after: plain(2, 20n, { StakedSui: true }), operation: "Created" },
  { before: null, after: plain(3, 20n, { Coin: COIN }), operation: "Created" },
  {
    before: null,
    after: plain(
      6,
      20n,
      {
        Other: structTag(id(2), "coin", "CoinMetadata", [COIN]),
      },
      { Immutable: true },
    ),
    operation: "Created",
  },
  {
    before: null,
    after: plain(
      7,
      20n,
      { Other: structTag(id(2), "coin_registry", "Currency", [COIN]) },
      { Shared: 20 },
    ),
    operation: "Created",
  },
  {
    before: null,
    after: plain(
      8,
      20n,
      {
        Other: structTag(FOREIGN, "shared_token", "SharedToken", [
          { vector: { vector: { u8: true } } },
          { struct: structTag(OURS_V2, "a", "B", [{ u256: true }, { bool: true }]) },
        ]),
      },
      { ConsensusAddressOwner: { startVersion: 20, owner: ISSUER } },
    ),
    operation: "Created",
  },
  {
    before: null,
    after: plain(
      9,
      20n,
      { Other: structTag(OURS_V2, "freeze_rule", "Rule") },
      { ObjectOwner: id(99) },
    ),
    operation: "Created",
  },
];

/** Only effects V2 know these. */
const newerChanges: readonly FixtureChange[] = [
  {
    before: null,
    after: plain(4, 20n, { SuiBalanceAccumulatorField: true }, { ObjectOwner: id(0xacc) }),
    operation: "Created",
  },
  {
    before: null,
    after: plain(5, 20n, { BalanceAccumulatorField: COIN }, { ObjectOwner: id(0xacc) }),
    operation: "Created",
  },
  {
    before: null,
    after: plain(
      10,
      20n,
      { Other: structTag(OURS_V2, "m", "N") },
      {
        Party: { startVersion: 20, defaultPermissions: 1, members: [[ISSUER, 127]] },
      },
    ),
    operation: "Created",
  },
];

const packageChange: FixtureChange = {
  before: null,
  after: { id: id(0x3000), version: 1n, type: null, owner: { Immutable: true } },
  operation: "Created",
};

const event = (address: string, module: string, name: string, n: number) => ({
  packageId: OURS_V2,
  type: structTag(address, module, name, [COIN]),
  contents: new Uint8Array(40).fill(n),
});

const events = [
  event(FOREIGN, "shared_token", "Transfer", 1),
  event(OURS, "shared_token", "Transfer", 2),
  event(OURS_V2, "freeze_rule", "AddressFrozen", 3),
];

const busy = (
  sequence: bigint,
  effects: "V1" | "V2",
  contents: "V1" | "V2",
): FixtureCheckpoint => ({
  sequence,
  contents,
  transactions: [
    { sender: ISSUER, effects, changes: [] },
    {
      sender: ISSUER,
      effects,
      events,
      changes:
        effects === "V1"
          ? changes.filter(({ before, after }) => before !== null || after !== null)
          : [...changes, ...newerChanges],
      ...(effects === "V2" && { accumulatorAt: id(0x4000) }),
    },
    {
      sender: id(0xf00),
      effects,
      failed: true,
      changes: [{ before: token(1, 20n), after: token(1, 21n), operation: "None" }],
    },
    { sender: ISSUER, effects, changes: [packageChange] },
  ],
});

/** All of them; small, because tests damage them thousands of times. */
export const corpus: readonly FixtureCheckpoint[] = [
  busy(1001n, "V2", "V1"),
  busy(1002n, "V1", "V2"),
  { sequence: 0n, transactions: [], endOfEpoch: true },
  {
    sequence: 1003n,
    transactions: [
      ...everyTransactionKind.map((kind) => ({ sender: id(0), kind })),
      ...everyExpiration.map((expiration) => ({ sender: ISSUER, expiration })),
    ],
  },
];

export const encodedCorpus = corpus.map(encodeFixture);
