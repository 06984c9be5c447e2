/**
 * Protobuf of `sui.rpc.v2.Checkpoint`, hand-written because the message types of `@mysten/sui` take
 * longer than the whole simulation. Tests compare the bytes.
 */
import { base58 } from "../../src/values/base58.ts";
import type { ExecutedTransaction, SealedCheckpoint, StoredObject } from "./checkpoint.ts";

/** Wire types of protobuf. */
const VARINT = 0;
const BYTES = 2;

/** An encoded field, in pieces. */
type Field = readonly Uint8Array[];

const varint = (value: bigint): Uint8Array => {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
};

/** Key and length of a field; most are small. */
const head = (field: number, length: number): Uint8Array => {
  const key = (field << 3) | BYTES;
  return length < 0x80
    ? Uint8Array.of(key, length)
    : Uint8Array.from([key, ...varint(BigInt(length))]);
};

const number = (field: number, value: bigint): Field => [
  Uint8Array.of((field << 3) | VARINT),
  varint(value),
];

const bytes = (field: number, value: Uint8Array): Field => [head(field, value.length), value];

const text = (field: number, value: string): Field => bytes(field, Buffer.from(value, "latin1"));

const message = (field: number, ...fields: readonly Field[]): Field => {
  const pieces = fields.flat();
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return [head(field, length), ...pieces];
};

/** A `Bcs` message, always field 1, with its type's name. */
const part = (name: string, value: Uint8Array): Field => message(1, text(1, name), bytes(2, value));

/** `bcs` and `digest`, the first two fields of most messages. */
const digested = (
  field: number,
  name: string,
  value: Uint8Array,
  digest: Uint8Array | null,
): Field =>
  message(field, part(name, value), ...(digest === null ? [] : [text(2, base58(digest))]));

type TransactionField = (transaction: ExecutedTransaction) => Field;
type ObjectField = (object: StoredObject) => Field;

/** A transaction of a checkpoint. */
export const transactionField: TransactionField = (transaction) =>
  message(
    6,
    text(1, base58(transaction.digest)),
    digested(2, "TransactionData", transaction.data, transaction.digest),
    ...transaction.signatures.map((value) => message(3, part("UserSignatureBytes", value))),
    digested(4, "TransactionEffects", transaction.effects, transaction.effectsDigest),
    ...(transaction.events === null
      ? []
      : [digested(5, "TransactionEvents", transaction.events, transaction.eventsDigest)]),
  );

/** An object of a checkpoint's object set. */
export const objectField: ObjectField = (object) =>
  message(
    1,
    part("Object", object.bytes),
    text(2, object.id),
    number(3, object.version),
    text(4, base58(object.digest)),
  );

/**
 * Writes the fields that public object stores fill in, every part as BCS. The object set has all
 * versions changed (before and after) or read, each once, by id and version.
 *
 * @param encoded encodes transactions and objects; a caller that repeats some can keep their bytes
 */
export const encodeProtobuf = (
  checkpoint: SealedCheckpoint,
  encoded: { readonly transaction: TransactionField; readonly object: ObjectField } = {
    transaction: transactionField,
    object: objectField,
  },
): Uint8Array => {
  const { certificate } = checkpoint;
  const fields: readonly Field[] = [
    number(1, checkpoint.sequence),
    text(2, base58(checkpoint.digest)),
    digested(3, "CheckpointSummary", checkpoint.summary, checkpoint.digest),
    message(
      4,
      number(1, certificate.epoch),
      bytes(2, certificate.signature),
      bytes(3, certificate.signers),
    ),
    digested(5, "CheckpointContents", checkpoint.contents, checkpoint.contentDigest),
    ...checkpoint.transactions.map(encoded.transaction),
    message(7, ...objectSet(checkpoint).map(encoded.object)),
  ];
  return new Uint8Array(Buffer.concat(fields.flat()));
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
