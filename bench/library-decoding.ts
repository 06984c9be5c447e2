/**
 * Decodes a checkpoint with `@mysten/sui`: its message types, BCS types, type texts and digests;
 * objects and the summary, which it lacks, from its BCS primitives. Gives our decoder's values but
 * checks none: it copies the named digests, where ours computes the summary's.
 */

import { bcs, TypeTagSerializer } from "@mysten/sui/bcs";
import { GrpcTypes } from "@mysten/sui/grpc";
import { toBase58 } from "@mysten/sui/utils";
import type {
  Checkpoint,
  Event,
  OutputObject,
  Owner,
  RemovedObject,
  Transaction,
} from "../src/ledger/decode/checkpoint.ts";
import { events, object, summary } from "../test/ledger/wire-types.ts";

/** An object by id and version. */
type Objects = ReadonlyMap<string, typeof object.$inferType>;

/** Decodes a `sui.rpc.v2.Checkpoint` with effects of version 2. */
export const decodeByLibrary = (bytes: Uint8Array): Checkpoint => {
  const message = GrpcTypes.Checkpoint.fromBinary(bytes);
  const head = summary.parse(bytesOf(message.summary?.bcs));
  const objects = new Map(
    (message.objects?.objects ?? []).map((each) => {
      const value = object.parse(bytesOf(each.bcs));
      return [keyOf(idOf(value), versionOf(value)), value] as const;
    }),
  );
  return {
    sequence: BigInt(head.sequenceNumber),
    epoch: BigInt(head.epoch),
    timestampMs: BigInt(head.timestampMs),
    digest: message.digest ?? "",
    contentDigest: toBase58(head.contentDigest),
    previousDigest: head.previousDigest === null ? null : toBase58(head.previousDigest),
    transactions: message.transactions.map((each) => transactionOf(each, objects)),
  };
};

const transactionOf = (
  { transaction, effects, events: emitted }: GrpcTypes.ExecutedTransaction,
  objects: Objects,
): Transaction => {
  const data = bcs.TransactionData.parse(bytesOf(transaction?.bcs));
  const after = bcs.TransactionEffects.parse(bytesOf(effects?.bcs));
  if (data.V1 === undefined || after.V2 === undefined) throw new Error("of another version");
  const { changedObjects, lamportVersion, transactionDigest } = after.V2;
  const outputObjects: OutputObject[] = [];
  const removedObjects: RemovedObject[] = [];
  for (const [id, { inputState, outputState }] of changedObjects) {
    if (outputState.ObjectWrite !== undefined) {
      const written = outputOf(id, objects.get(keyOf(id, lamportVersion)));
      const versionBefore = inputState.Exist ? BigInt(inputState.Exist[0][0]) : null;
      if (written !== null) outputObjects.push({ ...written, versionBefore });
    } else if (outputState.NotExist !== undefined && inputState.Exist !== undefined) {
      const [[version]] = inputState.Exist;
      const type = typeOf(objects.get(keyOf(id, version)));
      if (type !== null) removedObjects.push({ id, version: BigInt(version), type });
    }
  }
  return {
    digest: transactionDigest,
    sender: data.V1.sender,
    events: emitted?.bcs === undefined ? [] : events.parse(bytesOf(emitted.bcs)).map(eventOf),
    outputObjects,
    // Not compared.
    packages: [],
    removedObjects,
  };
};

const eventOf = (
  { packageId, module, sender, type, contents }: (typeof events.$inferType)[number],
  index: number,
): Event => ({
  index,
  packageId,
  module,
  sender,
  type: textOf(type),
  contents: contents.slice(),
});

const outputOf = (
  id: string,
  value: typeof object.$inferType | undefined,
): Omit<OutputObject, "versionBefore"> | null => {
  const type = typeOf(value);
  if (value?.data.Move === undefined || type === null) return null;
  const { version, contents } = value.data.Move;
  return {
    id,
    version: BigInt(version),
    type,
    owner: ownerOf(value.owner),
    previousTransaction: toBase58(value.previousTransaction),
    contents: contents.slice(),
  };
};

const ownerOf = (owner: (typeof object.$inferType)["owner"]): Owner => {
  if (owner.AddressOwner !== undefined) return { kind: "address", address: owner.AddressOwner };
  if (owner.ObjectOwner !== undefined) return { kind: "object", address: owner.ObjectOwner };
  if (owner.Immutable !== undefined) return { kind: "immutable" };
  if (owner.Shared !== undefined) {
    return { kind: "shared", initialSharedVersion: BigInt(owner.Shared) };
  }
  throw new Error("an owner that the demo ledger does not have");
};

const SUI = `0x${"2".padStart(64, "0")}`;
const GAS_COIN = `${SUI}::coin::Coin<${SUI}::sui::SUI>`;

/** Null for a package or a missing object. */
const typeOf = (value: typeof object.$inferType | undefined): string | null => {
  if (value?.data.Move === undefined) return null;
  const { type } = value.data.Move;
  if (type.Other !== undefined) return textOf(type.Other);
  if (type.GasCoin !== undefined) return GAS_COIN;
  if (type.Coin !== undefined) return `${SUI}::coin::Coin<${type.Coin.replaceAll(", ", ",")}>`;
  throw new Error("a type that the demo ledger does not have");
};

const textOf = (struct: typeof bcs.StructTag.$inferType): string =>
  TypeTagSerializer.tagToString({ struct }).replaceAll(", ", ",");

const keyOf = (id: string, version: string): string => `${id} ${version}`;

const idOf = ({ data: { Move, Package } }: typeof object.$inferType): string =>
  Move === undefined
    ? (Package?.id ?? "")
    : `0x${Buffer.from(Move.contents.buffer, Move.contents.byteOffset, 32).toString("hex")}`;

const versionOf = ({ data: { Move, Package } }: typeof object.$inferType): string =>
  Move?.version ?? Package?.version ?? "";

const bytesOf = (part: GrpcTypes.Bcs | undefined): Uint8Array => {
  if (part?.value === undefined) throw new Error("a part is missing");
  return part.value;
};
