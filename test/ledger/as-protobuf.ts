import { GrpcTypes } from "@mysten/sui/grpc";
import { readCheckpointData } from "./wire-types.ts";

type ObjectPart = ReturnType<typeof readCheckpointData>["transactions"][number]["inputs"][number];

const part = (name: string, value: Uint8Array): GrpcTypes.Bcs => ({ name, value });

/**
 * Encodes the BCS of a `CheckpointData` as `sui.rpc.v2.Checkpoint`, with the parts that the public
 * object stores carry: every part as BCS, objects once per version in one set for all transactions.
 * Uses the message types of `@mysten/sui`.
 */
export const asProtobuf = (bcs: Uint8Array): Uint8Array => {
  const { summary, certificate, contents, transactions } = readCheckpointData(bcs);
  const sequenceNumber = BigInt(summary.value.sequenceNumber);
  return GrpcTypes.Checkpoint.toBinary({
    sequenceNumber,
    summary: { bcs: part("CheckpointSummary", summary.bytes), sequenceNumber, commitments: [] },
    signature: {
      epoch: BigInt(certificate.epoch),
      signature: Uint8Array.from(certificate.signature),
      bitmap: Uint8Array.from(certificate.signers),
    },
    contents: { bcs: part("CheckpointContents", contents.bytes), transactions: [] },
    transactions: transactions.map(({ signed, effects, events }) => ({
      transaction: { bcs: part("TransactionData", signed[0]?.data.bytes ?? new Uint8Array()) },
      signatures: [],
      effects: {
        bcs: part("TransactionEffects", effects.bytes),
        dependencies: [],
        changedObjects: [],
        unchangedConsensusObjects: [],
        unchangedLoadedRuntimeObjects: [],
      },
      ...(events !== null && {
        events: { bcs: part("TransactionEvents", events.bytes), events: [] },
      }),
      balanceChanges: [],
    })),
    objects: { objects: objectSet(transactions.flatMap((t) => [...t.inputs, ...t.outputs])) },
  });
};

const objectSet = (objects: readonly ObjectPart[]): GrpcTypes.Object[] => {
  const byKey = new Map<string, GrpcTypes.Object>();
  for (const { value, bytes } of objects) {
    const { Move, Package } = value.data;
    const objectId = Move === undefined ? Package?.id : `0x${hex(Move.contents.slice(0, 32))}`;
    const version = Move?.version ?? Package?.version ?? "0";
    byKey.set(`${objectId} ${version.padStart(20, "0")}`, {
      bcs: part("Object", bytes),
      ...(objectId !== undefined && { objectId }),
      version: BigInt(version),
    });
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
};

const hex = (bytes: Iterable<number>): string =>
  Buffer.from(Uint8Array.from(bytes)).toString("hex");
