import type { Cursor } from "./cursor.ts";
import { executionStatus } from "./execution-status.ts";
import { digest, nothing, oneOf, optional, record, u32, u64, vector } from "./layout.ts";
import { skipOwner } from "./object.ts";
import { skipTypeTag } from "./type-tag.ts";

/** An object or package written by a transaction, as in its effects. */
export type Write = {
  readonly idAt: number;
  readonly versionAt: number;
  /** Offset of the object's digest. */
  readonly digestAt: number;
};

/** An object before a transaction changed or removed it. */
export type Input = {
  readonly idAt: number;
  readonly versionAt: number;
  /** Offset of its digest; null in effects V1, which have none. */
  readonly digestAt: number | null;
  /** Deleted or wrapped. */
  readonly removed: boolean;
};

/** An object that a transaction deleted or wrapped, also one that was wrapped before. */
export type Removal = {
  readonly idAt: number;
  /** Offset of the transaction's version. */
  readonly versionAt: number;
  readonly how: "deleted" | "wrapped";
};

/** Effects of a transaction, as offsets into the cursor's bytes. */
export type Effects = {
  /** Offset of the transaction's digest. */
  readonly transactionAt: number;
  /** Offset of the events' digest; null without events. */
  readonly eventsAt: number | null;
  /** Mutated, then created, then unwrapped: the checkpoint's order of output objects. */
  readonly writes: readonly Write[];
  /** Changed or removed objects, in the checkpoint's order of input objects. */
  readonly inputs: readonly Input[];
  /** Empty in effects V1. */
  readonly removals: readonly Removal[];
};

/** Reads `TransactionEffects`, both versions. */
export const readEffects = (cursor: Cursor): Effects =>
  cursor.variant("TransactionEffects", 2) === 0 ? readV1(cursor) : readV2(cursor);

const readV1 = (cursor: Cursor): Effects => {
  executionStatus(cursor);
  cursor.skip(8 + GAS_COST); // executed epoch, gas used
  const before: { idAt: number; versionAt: number }[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    before.push({ idAt: cursor.skip(32), versionAt: cursor.skip(8) });
  }
  skipRefs(cursor); // shared objects read
  const transactionAt = cursor.digest();
  const created = readOwnedRefs(cursor);
  const mutated = readOwnedRefs(cursor);
  const unwrapped = readOwnedRefs(cursor);
  const removed = new Set<string>();
  readRemoved(cursor, removed); // deleted
  skipRefs(cursor); // unwrapped, then deleted: they were no inputs
  readRemoved(cursor, removed); // wrapped
  readRef(cursor); // gas object
  skipOwner(cursor);
  const eventsAt = cursor.option() ? cursor.digest() : null;
  skipDigests(cursor); // dependencies
  const inputs = before.map(({ idAt, versionAt }) => {
    return { idAt, versionAt, digestAt: null, removed: removed.has(idKey(cursor, idAt)) };
  });
  const writes = [...mutated, ...created, ...unwrapped];
  return { transactionAt, eventsAt, writes, inputs, removals: [] };
};

const readV2 = (cursor: Cursor): Effects => {
  executionStatus(cursor);
  cursor.skip(8 + GAS_COST); // executed epoch, gas used
  const transactionAt = cursor.digest();
  skipGasIndex(cursor);
  const eventsAt = cursor.option() ? cursor.digest() : null;
  skipDigests(cursor); // dependencies
  const lamportVersionAt = cursor.skip(8);
  const mutated: Write[] = [];
  const created: Write[] = [];
  const unwrapped: Write[] = [];
  const inputs: Input[] = [];
  const removals: Removal[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    const idAt = cursor.skip(32);
    const before = readInputState(cursor);
    const after = readOutputState(cursor, lamportVersionAt);
    const operation = cursor.variant("IDOperation", 3);
    if (before !== null) {
      const { versionAt, digestAt } = before;
      inputs.push({ idAt, versionAt, digestAt, removed: after === null });
    }
    // Neither an object created and wrapped at once nor a change of an address balance is removed.
    if (after === null && (operation === DELETED || before !== null)) {
      const how = operation === DELETED ? "deleted" : "wrapped";
      removals.push({ idAt, versionAt: lamportVersionAt, how });
    }
    if (after !== null) {
      const { versionAt, digestAt } = after;
      const group = before !== null ? mutated : operation === CREATED ? created : unwrapped;
      group.push({ idAt, versionAt, digestAt });
    }
  }
  skipUnchanged(cursor);
  skipAuxiliaryDigest(cursor);
  const writes = [...mutated, ...created, ...unwrapped];
  return { transactionAt, eventsAt, writes, inputs, removals };
};

const CREATED = 1;
const DELETED = 2;
/** Computation, storage, rebate, non-refundable fee. */
const GAS_COST = 4 * 8;

const skipGasIndex = optional(u32);
const skipDigests = vector(digest);
const skipAuxiliaryDigest = optional(digest);

/** Consensus objects that were read or unusable. */
const skipUnchanged = vector(
  record(
    (cursor) => cursor.skip(32),
    oneOf("UnchangedConsensusKind", [
      record(u64, digest), // 0 ReadOnlyRoot
      u64, // 1 MutateConsensusStreamEnded
      u64, // 2 ReadConsensusStreamEnded
      u64, // 3 Cancelled
      nothing, // 4 PerEpochConfig
    ]),
  ),
);

type State = { readonly versionAt: number; readonly digestAt: number };

/** `ObjectIn`: null when it did not exist. */
const readInputState = (cursor: Cursor): State | null => {
  if (cursor.variant("ObjectIn", 2) === 0) return null;
  const versionAt = cursor.skip(8);
  const digestAt = cursor.digest();
  skipOwner(cursor);
  return { versionAt, digestAt };
};

/** `ObjectOut`: null when no object or package was written. */
const readOutputState = (cursor: Cursor, lamportVersionAt: number): State | null => {
  switch (cursor.variant("ObjectOut", 4)) {
    case 0: // NotExist
      return null;
    case 1: {
      const digestAt = cursor.digest();
      skipOwner(cursor);
      return { versionAt: lamportVersionAt, digestAt };
    }
    case 2: // PackageWrite: packages have versions of their own
      return { versionAt: cursor.skip(8), digestAt: cursor.digest() };
    default: // AccumulatorWriteV1: a change of an address balance, settled by a later transaction
      cursor.skip(32);
      skipTypeTag(cursor);
      cursor.variant("AccumulatorOperation", 2);
      skipAccumulatorValue(cursor);
      return null;
  }
};

const skipAccumulatorValue = oneOf("AccumulatorValue", [
  u64, // 0 Integer
  record(u64, u64), // 1 IntegerTuple
  vector(record(u64, digest)), // 2 EventDigest
]);

const readRef = (cursor: Cursor): Write => ({
  idAt: cursor.skip(32),
  versionAt: cursor.skip(8),
  digestAt: cursor.digest(),
});

const readOwnedRefs = (cursor: Cursor): Write[] => {
  const refs: Write[] = [];
  for (let left = cursor.length(); left > 0; left--) {
    refs.push(readRef(cursor));
    skipOwner(cursor);
  }
  return refs;
};

const skipRefs = (cursor: Cursor): void => {
  for (let left = cursor.length(); left > 0; left--) readRef(cursor);
};

const readRemoved = (cursor: Cursor, removed: Set<string>): void => {
  for (let left = cursor.length(); left > 0; left--) {
    removed.add(idKey(cursor, readRef(cursor).idAt));
  }
};

const idKey = (cursor: Cursor, idAt: number): string =>
  cursor.bytes.toString("latin1", idAt, idAt + 32);
