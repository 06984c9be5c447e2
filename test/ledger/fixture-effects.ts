/** Effects of made-up transactions, in both versions. */
import { bcs } from "@mysten/sui/bcs";
import { toBase58 } from "@mysten/sui/utils";
import { type FixtureObject, id, objectDigest } from "./fixture-object.ts";

/** An object as a transaction found and left it: null before is created or unwrapped, after is gone. */
export type FixtureChange = {
  readonly before: FixtureObject | null;
  readonly after: FixtureObject | null;
  readonly operation: "None" | "Created" | "Deleted";
};

/** What effects tell of a transaction besides its digests. */
export type FixtureOutcome = {
  readonly changes?: readonly FixtureChange[];
  readonly effects?: "V1" | "V2";
  readonly failed?: boolean;
  /** An address-balance change that stands among the changed objects (effects V2). */
  readonly accumulatorAt?: string;
};

/** BCS of a transaction's effects. */
export const encodeEffects = (outcome: FixtureOutcome, digests: EffectsDigests): Uint8Array =>
  (outcome.effects === "V1" ? effectsV1 : effectsV2)(outcome, digests);

type EffectsDigests = { readonly transactionDigest: string; readonly eventsDigest: string | null };

const status = ({ failed = false }: FixtureOutcome) =>
  failed ? { Failure: { error: { InsufficientGas: true }, command: 0 } } : { Success: true };

const GAS = { computationCost: 1, storageCost: 2, storageRebate: 3, nonRefundableStorageFee: 4 };

const effectsV2 = (outcome: FixtureOutcome, digests: EffectsDigests): Uint8Array => {
  const { changes = [], accumulatorAt } = outcome;
  const changed = changes.map(({ before, after, operation }) => ({
    objectId: (before ?? after)?.id ?? id(0),
    inputState:
      before === null
        ? { NotExist: true }
        : { Exist: [[before.version, objectDigest(before)], libraryOwner(before)] },
    outputState: after === null ? { NotExist: true } : outputState(after),
    idOperation: { [operation]: true },
  }));
  const lamport = changes.find(({ after }) => after !== null && after.type !== null)?.after
    ?.version;
  return serializeEffects({
    V2: {
      status: status(outcome),
      executedEpoch: 7,
      gasUsed: GAS,
      ...digests,
      gasObjectIndex: null,
      dependencies: [],
      lamportVersion: lamport ?? 0n,
      changedObjects: [
        ...changed.map(({ objectId, ...change }) => [objectId, change]),
        ...(accumulatorAt === undefined ? [] : [[accumulatorAt, ACCUMULATOR]]),
      ],
      unchangedConsensusObjects: [
        [id(6), { ReadOnlyRoot: [5, toBase58(new Uint8Array(32).fill(6))] }],
        [id(7), { Cancelled: 8 }],
        [id(8), { PerEpochConfig: true }],
      ],
      auxDataDigest: null,
    },
  });
};

const ACCUMULATOR = {
  inputState: { NotExist: true },
  outputState: {
    AccumulatorWriteV1: {
      address: { address: id(77), ty: "0x2::balance::Balance<0x2::sui::SUI>" },
      operation: { Merge: true },
      value: { Integer: 12 },
    },
  },
  idOperation: { None: true },
};

const outputState = (object: FixtureObject) =>
  object.type === null
    ? { PackageWrite: [object.version, objectDigest(object)] }
    : { ObjectWrite: [objectDigest(object), libraryOwner(object)] };

const effectsV1 = (outcome: FixtureOutcome, digests: EffectsDigests): Uint8Array => {
  const { changes = [] } = outcome;
  const ref = (object: FixtureObject) => ({
    objectId: object.id,
    version: object.version,
    digest: objectDigest(object),
  });
  const owned = (test: (change: FixtureChange) => boolean) =>
    changes.flatMap((change) => {
      const { after } = change;
      return after !== null && test(change) ? [[ref(after), libraryOwner(after)]] : [];
    });
  const gone = (operation: "Deleted" | "None") =>
    changes.flatMap(({ before, after, operation: did }) =>
      before !== null && after === null && did === operation ? [ref(before)] : [],
    );
  return serializeEffects({
    V1: {
      status: status(outcome),
      executedEpoch: 7,
      gasUsed: GAS,
      modifiedAtVersions: changes.flatMap(({ before }) =>
        before === null ? [] : [[before.id, before.version]],
      ),
      sharedObjects: [],
      ...digests,
      created: owned(({ before, operation }) => before === null && operation === "Created"),
      mutated: owned(({ before }) => before !== null),
      unwrapped: owned(({ before, operation }) => before === null && operation === "None"),
      deleted: gone("Deleted"),
      unwrappedThenDeleted: [],
      wrapped: gone("None"),
      gasObject: [
        { objectId: id(0), version: 0, digest: toBase58(new Uint8Array(32)) },
        { AddressOwner: id(0) },
      ],
      dependencies: [],
    },
  });
};

/** The library validates what it writes; its nested input types are beyond what TypeScript infers here. */
const serializeEffects = (effects: unknown): Uint8Array =>
  bcs.TransactionEffects.serialize(effects as typeof bcs.TransactionEffects.$inferInput).toBytes();

/** Owners as the library knows them (parties are newer: fixtures use them in objects of effects V2). */
const libraryOwner = ({ owner }: FixtureObject) => {
  if ("Shared" in owner) return { Shared: { initialSharedVersion: owner.Shared } };
  return "Party" in owner ? { Immutable: true } : owner;
};

/** Mutated, created, unwrapped: the order in which the network lists output objects. */
export const inOrder = (changes: readonly FixtureChange[]): readonly FixtureObject[] => {
  const written = (test: (change: FixtureChange) => boolean) =>
    changes.flatMap((change) => (change.after !== null && test(change) ? [change.after] : []));
  return [
    ...written(({ before }) => before !== null),
    ...written(({ before, operation }) => before === null && operation === "Created"),
    ...written(({ before, operation }) => before === null && operation !== "Created"),
  ];
};
