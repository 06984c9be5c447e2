import { blake2b } from "@noble/hashes/blake2.js";

/** The signed or stored values of the network that have a digest. */
export type Digested =
  | "CheckpointSummary"
  | "CheckpointContents"
  | "TransactionData"
  | "TransactionEffects"
  | "TransactionEvents"
  | "Object";

const prefixes: Readonly<Record<Digested, Uint8Array>> = {
  CheckpointSummary: Buffer.from("CheckpointSummary::"),
  CheckpointContents: Buffer.from("CheckpointContents::"),
  TransactionData: Buffer.from("TransactionData::"),
  TransactionEffects: Buffer.from("TransactionEffects::"),
  TransactionEvents: Buffer.from("TransactionEvents::"),
  Object: Buffer.from("Object::"),
};

/** Digest of a value: BLAKE2b-256 over its type's name, `::` and its BCS bytes. */
export const digestOf = (kind: Digested, bytes: Uint8Array): Uint8Array =>
  hash(prefixes[kind], bytes);

/** BLAKE2b-256 over the parts, one after the other. */
export const hash = (...parts: readonly Uint8Array[]): Uint8Array => {
  let length = 0;
  for (const part of parts) length += part.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return blake2b(all, { dkLen: 32 });
};
