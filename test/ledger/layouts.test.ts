import { bcs } from "@mysten/sui/bcs";
import { toBase58 } from "@mysten/sui/utils";
import { describe, expect, test } from "vitest";
import { CheckpointDecodeError, Cursor } from "../../src/ledger/decode/cursor.ts";
import { readEffects } from "../../src/ledger/decode/effects.ts";
import { readTransactionData } from "../../src/ledger/decode/transaction-data.ts";
import { readTypeTag } from "../../src/ledger/decode/type-tag.ts";
import { everyExpiration, everyTransactionKind } from "./every-transaction.ts";
import { id } from "./fixture-object.ts";

const digest = toBase58(new Uint8Array(32).fill(1));
const u64s = (first: string, second: string) => ({ [first]: 1, [second]: 2 });
const location = { module: { address: id(2), name: "m" }, function: 1, instruction: 2 };

const argumentErrors = [
  ...[0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map((variant) => [variant]),
  [4, 9, 0],
  [5, 9, 0, 8, 0],
  [6, 9, 0],
];

/** Every way to fail, as the library writes it; those whose kinds nest further come as bytes. */
const failures: readonly (readonly [string, unknown])[] = [
  ...(
    "InsufficientGas InvalidGasObject InvariantViolation FeatureNotYetSupported InsufficientCoinBalance " +
    "CoinBalanceOverflow PublishErrorNonZeroAddress SuiMoveVerificationError FunctionNotFound ArityMismatch " +
    "VMVerificationOrDeserializationError VMInvariantViolation TypeArityMismatch NonEntryFunctionInvoked " +
    "InvalidTransferObject PublishUpgradeMissingDependency PublishUpgradeDependencyDowngrade " +
    "CertificateDenied SuiMoveVerificationTimedout SharedObjectOperationNotAllowed InputObjectDeleted " +
    "ExecutionCancelledDueToRandomnessUnavailable InvalidLinkage InsufficientBalanceForWithdraw"
  )
    .split(" ")
    .map((name) => [name, true] as const),
  ["MoveObjectTooBig", u64s("objectSize", "maxObjectSize")],
  ["MovePackageTooBig", u64s("objectSize", "maxObjectSize")],
  ["CircularObjectOwnership", { object: id(1) }],
  ["MovePrimitiveRuntimeError", null],
  ["MovePrimitiveRuntimeError", { ...location, functionName: "f" }],
  ["MoveAbort", [{ ...location, functionName: null }, 77]],
  ["TypeArgumentError", { argumentIdx: 1, kind: { TypeNotFound: true } }],
  ["TypeArgumentError", { argumentIdx: 1, kind: { ConstraintNotSatisfied: true } }],
  ["UnusedValueWithoutDrop", { resultIdx: 1, secondaryIdx: 2 }],
  ["InvalidPublicFunctionReturnType", { idx: 1 }],
  ["EffectsTooLarge", u64s("currentSize", "maxSize")],
  ...[
    { UnableToFetchPackage: { packageId: id(1) } },
    { NotAPackage: { objectId: id(1) } },
    { IncompatibleUpgrade: true },
    { DigestDoesNotMatch: { digest: [1, 2, 3] } },
    { UnknownUpgradePolicy: { policy: 5 } },
    { PackageIDDoesNotMatch: { packageId: id(1), ticketId: id(2) } },
  ].map((upgradeError) => ["PackageUpgradeError", { upgradeError }] as const),
  ["WrittenObjectsTooLarge", u64s("currentSize", "maxSize")],
  ["ExecutionCancelledDueToSharedObjectCongestion", { congested_objects: [id(1), id(2)] }],
  ["AddressDeniedForCoin", { address: id(1), coinType: "0x2::sui::SUI" }],
  ["CoinTypeGlobalPause", { coinType: "0x2::sui::SUI" }],
  ["MoveVectorElemTooBig", u64s("valueSize", "maxScaledSize")],
  ["MoveRawValueTooBig", u64s("valueSize", "maxScaledSize")],
  ["NonExclusiveWriteInputObjectModified", { id: id(1) }],
];

const effectsWith = (status: unknown): Uint8Array =>
  bcs.TransactionEffects.serialize({
    V2: {
      status,
      executedEpoch: 1,
      gasUsed: { computationCost: 1, storageCost: 2, storageRebate: 3, nonRefundableStorageFee: 4 },
      transactionDigest: digest,
      gasObjectIndex: 5,
      eventsDigest: digest,
      dependencies: [digest],
      lamportVersion: 9,
      changedObjects: [],
      unchangedConsensusObjects: [],
      auxDataDigest: digest,
    },
    // The library validates what it writes; the many ways to fail are beyond inference here.
  } as unknown as typeof bcs.TransactionEffects.$inferInput).toBytes();

const readWhole = <T>(bytes: Uint8Array, read: (cursor: Cursor) => T): T => {
  const cursor = new Cursor(bytes, 1n);
  const value = read(cursor);
  cursor.finish("the value");
  return value;
};

describe("effects", () => {
  test.each(failures)(
    "of a transaction that failed with %s are read to their end",
    (name, value) => {
      for (const command of [null, 3]) {
        const bytes = effectsWith({ Failure: { error: { [name]: value }, command } });
        const { writes, inputs, eventsAt } = readWhole(bytes, readEffects);
        expect([writes, inputs]).toEqual([[], []]);
        expect(Buffer.from(bytes).subarray(eventsAt ?? 0, (eventsAt ?? 0) + 32)).toEqual(
          Buffer.alloc(32, 1),
        );
      }
    },
  );

  test("of every failed argument are read to their end", () => {
    const template = Buffer.from(
      effectsWith({ Failure: { error: { InsufficientGas: true }, command: null } }),
    );
    for (const kind of argumentErrors) {
      // Effects V2, failure, CommandArgumentError of argument 1, its kind, then as in the template.
      const bytes = Buffer.concat([Buffer.of(1, 1, 19, 1, 0, ...kind), template.subarray(3)]);
      expect(readWhole(bytes, readEffects).writes).toEqual([]);
    }
    const unknown = Buffer.concat([Buffer.of(1, 1, 19, 1, 0, 20), template.subarray(3)]);
    expect(() => readWhole(unknown, readEffects)).toThrow(
      "unknown variant 20 of CommandArgumentError",
    );
  });

  test("of an unknown failure are refused with its variant and offset", () => {
    const bytes = effectsWith({ Failure: { error: { InsufficientGas: true }, command: null } });
    bytes[2] = 42;
    expect(() => readWhole(bytes, readEffects)).toThrow(
      "checkpoint 1, byte 2: unknown variant 42 of ExecutionFailureStatus",
    );
  });
});

describe("transaction data", () => {
  const encoded = (
    kind: (typeof everyTransactionKind)[number],
    expiration: (typeof everyExpiration)[number],
  ) =>
    bcs.TransactionData.serialize({
      V1: {
        kind,
        sender: id(0x5e),
        gasData: {
          payment: [{ objectId: id(1), version: 2, digest }],
          owner: id(2),
          price: 3,
          budget: 4,
        },
        expiration,
      },
    }).toBytes();

  test("of every kind of transaction, with every expiration, is read to its end", () => {
    expect(everyTransactionKind).toHaveLength(11);
    for (const kind of everyTransactionKind) {
      for (const expiration of everyExpiration) {
        const bytes = encoded(kind, expiration);
        const senderAt = readWhole(bytes, readTransactionData);
        expect(new Cursor(bytes, 1n).address(senderAt)).toBe(id(0x5e));
      }
    }
  });

  test("cut off anywhere is refused", () => {
    for (const kind of everyTransactionKind) {
      const bytes = encoded(kind, everyExpiration[4] ?? { None: true });
      for (let length = 0; length < bytes.length; length++) {
        const cut = bytes.subarray(0, length);
        expect(() => readWhole(cut, readTransactionData), `${length} bytes`).toThrow(
          CheckpointDecodeError,
        );
      }
    }
  });
});

describe("numbers and lengths", () => {
  const uleb = (...bytes: number[]) => readWhole(Uint8Array.from(bytes), (cursor) => cursor.uleb());

  test("in ULEB128 must use the fewest bytes and stay below 2^32", () => {
    expect([uleb(0), uleb(0x7f), uleb(0x80, 1)]).toEqual([0, 127, 128]);
    expect(uleb(0xff, 0xff, 0xff, 0xff, 0x0f)).toBe(2 ** 32 - 1);
    for (const bad of [
      [0x80, 0],
      [0xff, 0xff, 0xff, 0xff, 0x10],
      [0x80, 0x80, 0x80, 0x80, 0x80, 1],
      [0x80],
    ]) {
      expect(() => uleb(...bad)).toThrow(CheckpointDecodeError);
    }
  });

  test("a length beyond the remaining bytes is refused before reading", () => {
    const bytes = Buffer.of(0xff, 0xff, 0xff, 0xff, 0x07, 1, 2);
    expect(() => readWhole(bytes, (cursor) => cursor.length())).toThrow(
      "a length of 2147483647 exceeds the 2 bytes left",
    );
  });
});

describe("a type", () => {
  test("nested deeper than the network allows is refused without recursion", () => {
    const nested = (levels: number) => Buffer.concat([Buffer.alloc(levels, 6), Buffer.of(1)]);
    expect(readWhole(nested(100), readTypeTag)).toBe(
      `${"vector<".repeat(100)}u8${">".repeat(100)}`,
    );
    expect(() => readWhole(nested(1_000_000), readTypeTag)).toThrow("nested more than 128 levels");
  });

  test("with names that are not Move identifiers is refused", () => {
    for (const name of ["", "a<b", "1a", "a::b", "é"]) {
      const bytes = bcs.TypeTag.serialize({
        struct: { address: id(2), module: name, name: "N", typeParams: [] },
      }).toBytes();
      expect(() => readWhole(bytes, readTypeTag), name).toThrow("a Move identifier");
    }
  });
});
