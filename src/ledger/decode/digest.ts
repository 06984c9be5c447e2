import { Buffer } from "node:buffer";
import { blake2b256 } from "../../values/blake2b.ts";

/** Types that have digests; their name is the digest's prefix. */
export type DigestOf =
  | "CheckpointSummary"
  | "CheckpointContents"
  | "TransactionData"
  | "TransactionEffects"
  | "TransactionEvents"
  | "Object";

const prefix = (of: DigestOf): Uint8Array => Buffer.from(`${of}::`, "ascii");

const PREFIXES: Readonly<Record<DigestOf, Uint8Array>> = {
  CheckpointSummary: prefix("CheckpointSummary"),
  CheckpointContents: prefix("CheckpointContents"),
  TransactionData: prefix("TransactionData"),
  TransactionEffects: prefix("TransactionEffects"),
  TransactionEvents: prefix("TransactionEvents"),
  Object: prefix("Object"),
};

/** The ledger's digest: BLAKE2b-256 over the type's name, `::` and BCS. */
export const digestOf = (of: DigestOf, bcs: Uint8Array): Uint8Array =>
  blake2b256(PREFIXES[of], bcs);
