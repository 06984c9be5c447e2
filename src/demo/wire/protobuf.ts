import { GrpcTypes } from "@mysten/sui/grpc";
import { base58 } from "../../ledger/decode/base58.ts";
import { quorumSignature, type SealedCheckpoint, type StoredObject } from "./checkpoint.ts";

/** A part as the public object stores carry it: BCS with the name of its type. */
const part = (name: string, value: Uint8Array): GrpcTypes.Bcs => ({ name, value });

/**
 * Protobuf of `sui.rpc.v2.Checkpoint`: the fields that the public object stores fill in, every part
 * as BCS. The object set holds what transactions changed (before and after) and what they only read,
 * each version once, by id and version.
 */
export const encodeProtobuf = (checkpoint: SealedCheckpoint): Uint8Array => {
  const quorum = quorumSignature(checkpoint);
  return GrpcTypes.Checkpoint.toBinary({
    sequenceNumber: checkpoint.sequence,
    digest: base58(checkpoint.digest),
    summary: {
      bcs: part("CheckpointSummary", checkpoint.summary),
      digest: base58(checkpoint.digest),
      commitments: [],
    },
    signature: { epoch: quorum.epoch, signature: quorum.signature, bitmap: quorum.signers },
    contents: {
      bcs: part("CheckpointContents", checkpoint.contents),
      digest: base58(checkpoint.contentDigest),
      transactions: [],
    },
    transactions: checkpoint.transactions.map((transaction) => ({
      digest: base58(transaction.digest),
      transaction: {
        bcs: part("TransactionData", transaction.data),
        digest: base58(transaction.digest),
      },
      signatures: transaction.signatures.map((bytes) => ({
        bcs: part("UserSignatureBytes", bytes),
        signature: { oneofKind: undefined },
      })),
      effects: {
        bcs: part("TransactionEffects", transaction.effects),
        digest: base58(transaction.effectsDigest),
        dependencies: [],
        changedObjects: [],
        unchangedConsensusObjects: [],
        unchangedLoadedRuntimeObjects: [],
      },
      ...(transaction.events !== null && {
        events: {
          bcs: part("TransactionEvents", transaction.events),
          ...(transaction.eventsDigest !== null && { digest: base58(transaction.eventsDigest) }),
          events: [],
        },
      }),
      balanceChanges: [],
    })),
    objects: {
      objects: objectSet(checkpoint).map((object) => ({
        bcs: part("Object", object.bytes),
        objectId: object.id,
        version: object.version,
        digest: base58(object.digest),
      })),
    },
  });
};

const objectSet = (checkpoint: SealedCheckpoint): readonly StoredObject[] => {
  const versions = new Map<string, StoredObject>();
  for (const { inputs, outputs, reads } of checkpoint.transactions) {
    for (const objects of [inputs, outputs, reads]) {
      for (const object of objects) versions.set(`${object.id}${object.version}`, object);
    }
  }
  return [...versions.values()].sort((a, b) => {
    if (a.id !== b.id) return a.id < b.id ? -1 : 1;
    return a.version < b.version ? -1 : 1;
  });
};
