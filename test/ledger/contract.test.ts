import { BcsType } from "@mysten/sui/bcs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as events from "../../src/ledger/contract/events.ts";
import { ContractLayoutError, type Decode } from "../../src/ledger/contract/layout.ts";
import * as objects from "../../src/ledger/contract/objects.ts";
import { roleBitOf } from "../../src/ledger/contract/roles.ts";
import { canonicalTypeName } from "../../src/values/move-type.ts";

const address = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}`);
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

type Case = {
  readonly layout: { serialize(value: never): { toBytes(): Uint8Array } };
  readonly decode: Decode<unknown>;
  readonly values: fc.Arbitrary<Readonly<Record<string, unknown>>>;
  /** Bytes of a value whose vectors and texts are empty. */
  readonly size: number;
};

const balanceOf = { id: address, owner: address };
const cases: Readonly<Record<string, Case>> = {
  SharedToken: {
    layout: objects.sharedToken,
    decode: objects.decodeSharedToken,
    values: fc.record({ ...balanceOf, balance: u64 }),
    size: 72,
  },
  Timelock: {
    layout: objects.timelock,
    decode: objects.decodeTimelock,
    values: fc.record({
      ...balanceOf,
      funder: address,
      releaseScheduleId: u64,
      releaseCount: u64,
      delayUntilFirstReleaseMs: u64,
      periodBetweenReleasesMs: u64,
      initialReleasePortionBps: u64,
      commencementTimestampMs: u64,
      totalAmount: u64,
      tokensTransferred: u64,
      leftBalance: u64,
    }),
    size: 3 * 32 + 9 * 8,
  },
  Mint: {
    layout: events.mint,
    decode: events.decodeMint,
    values: fc.record({ tokenId: address, to: address, amount: u64 }),
    size: 72,
  },
  Burn: {
    layout: events.burn,
    decode: events.decodeBurn,
    values: fc.record({ tokenId: address, from: address, amount: u64 }),
    size: 72,
  },
  Transfer: {
    layout: events.transfer,
    decode: events.decodeTransfer,
    values: fc.record({ tokenId: address, from: address, to: address, amount: u64 }),
    size: 104,
  },
  ForceTransfer: {
    layout: events.transfer,
    decode: events.decodeForceTransfer,
    values: fc.record({ tokenId: address, from: address, to: address, amount: u64 }),
    size: 104,
  },
  HolderAdded: {
    layout: events.holderAdded,
    decode: events.decodeHolderAdded,
    values: fc.record({ holderId: u64, addresses: fc.array(address, { maxLength: 5 }) }),
    size: 9,
  },
  HolderRemoved: {
    layout: events.holderRemoved,
    decode: events.decodeHolderRemoved,
    values: fc.record({ holderId: u64 }),
    size: 8,
  },
  HolderAddressAdded: {
    layout: events.holderAddress,
    decode: events.decodeHolderAddressAdded,
    values: fc.record({ holderId: u64, addr: address }),
    size: 40,
  },
  HolderAddressRemoved: {
    layout: events.holderAddress,
    decode: events.decodeHolderAddressRemoved,
    values: fc.record({ holderId: u64, addr: address }),
    size: 40,
  },
  AddressJoinedGroup: {
    layout: events.addressGroup,
    decode: events.decodeAddressJoinedGroup,
    values: fc.record({ addr: address, groupId: u64 }),
    size: 40,
  },
  AddressLeftGroup: {
    layout: events.addressGroup,
    decode: events.decodeAddressLeftGroup,
    values: fc.record({ addr: address, groupId: u64 }),
    size: 40,
  },
  AddressFrozen: {
    layout: events.addressFrozen,
    decode: events.decodeAddressFrozen,
    values: fc.record({ addr: address, isFrozen: fc.boolean() }),
    size: 33,
  },
};

const encode = (layout: Case["layout"], value: unknown): Uint8Array => {
  if (!(layout instanceof BcsType)) throw new Error("not a layout");
  return layout.serialize(value).toBytes();
};

describe.each(Object.entries(cases))("%s", (_, { layout, decode, values, size }) => {
  test("round-trips through its bytes", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(decode(encode(layout, value))).toEqual(value);
      }),
    );
  });

  test("has exactly the bytes of its fields: more or fewer are a named error", () => {
    const [value] = fc.sample(values, 1);
    const bytes = encode(layout, value);
    expect(bytes.length).toBeGreaterThanOrEqual(size);
    // Rows of a database are views into larger buffers: what lies behind them must not be read.
    const roomy = Buffer.concat([bytes, Buffer.alloc(64)]);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decode(bytes.subarray(0, length))).toThrow(ContractLayoutError);
      expect(() => decode(roomy.subarray(0, length))).toThrow(ContractLayoutError);
    }
    expect(() => decode(Buffer.concat([bytes, Buffer.of(0)]))).toThrow("1 bytes are left over");
  });
});

test("amounts, ids and times keep all 64 bits", () => {
  const bytes = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 0xab), Buffer.alloc(8, 0xff)]);
  expect(objects.decodeSharedToken(bytes)).toEqual({
    id: `0x${"01".repeat(32)}`,
    owner: `0x${"ab".repeat(32)}`,
    balance: 18_446_744_073_709_551_615n,
  });
});

test("bytes after a coin's decimals are not read", () => {
  const id = Buffer.alloc(32, 7);
  const rest = Buffer.alloc(100, 0xee);
  const text = `0x${"07".repeat(32)}`;
  for (const more of [rest, Buffer.alloc(0)]) {
    for (const decode of [objects.decodeCoinMetadata, objects.decodeCurrency]) {
      expect(decode(Buffer.concat([id, Buffer.of(9), more]))).toEqual({ id: text, decimals: 9 });
    }
  }
  expect(() => objects.decodeCoinMetadata(id)).toThrow(ContractLayoutError);
});

describe("a role", () => {
  const ours = `0x${"00a7".padStart(64, "0")}`;
  const foreign = `0x${"f".repeat(64)}`;
  const owner = `0x${"05".repeat(32)}`;

  test("is read from its TypeName, which has no 0x, into a canonical type", () => {
    const role = `${ours.slice(2)}::roles::WalletsAdmin`;
    const bytes = encode(events.roleChange, { owner, role, granted: true });
    expect(events.decodeRoleChange(bytes)).toEqual({
      owner,
      role: `${ours}::roles::WalletsAdmin`,
      granted: true,
    });
    expect(canonicalTypeName(`${ours.slice(2)}::m::R<u8,${foreign.slice(2)}::a::B>`)).toBe(
      `${ours}::m::R<u8,${foreign}::a::B>`,
    );
  });

  test("with an invalid type, or granted neither true nor false, is a named error", () => {
    const encoded = (role: string) => encode(events.roleChange, { owner, role, granted: false });
    expect(() => events.decodeRoleChange(encoded("nonsense"))).toThrow(ContractLayoutError);
    const bytes = encoded(`${ours.slice(2)}::roles::WalletsAdmin`);
    bytes[bytes.length - 1] = 2;
    expect(() => events.decodeRoleChange(bytes)).toThrow("a boolean is 0 or 1, found 2");
  });

  test("has its bit in any version of our package, and none elsewhere", () => {
    const packages = [ours, `0x${"b2".padStart(64, "0")}`];
    const bits = [
      "ContractAdmin",
      "ReserveAdmin",
      "WalletsAdmin",
      "TransferAdmin",
      "TimelockCanceler",
    ].map((name) => packages.map((address) => roleBitOf(`${address}::roles::${name}`, packages)));
    expect(bits).toEqual([1, 2, 4, 8, 16].map((bit) => [bit, bit]));
    for (const role of [
      `${foreign}::roles::ContractAdmin`,
      `${ours}::rules::ContractAdmin`,
      `${ours}::roles::contractAdmin`,
      `${ours}::roles::ContractAdmin<u8>`,
      `${ours}::roles::constructor`,
      "u64",
      `vector<${ours}::roles::ContractAdmin>`,
    ]) {
      expect(roleBitOf(role, packages), role).toBe(0);
    }
  });
});
