/** Aggregated BLS signatures of validators, with what was parsed and found valid before. */
import { hash } from "node:crypto";
import type { G2 } from "mcl-wasm";
import { SIGNATURE_BYTES, validatorsOf } from "../../../client/mcl.ts";
import { createKeySums } from "./key-sums.ts";

/** A validator's key, parsed and checked to lie in the group. */
export type PublicKey = {
  readonly bytes: Uint8Array;
  readonly point: G2;
  /** Of parsing, from 0. */
  readonly number: number;
};

export type Bls = {
  /**
   * Parses a compressed 96-byte key in about a millisecond, or returns it as parsed before. Null when
   * it is not in the group, or its neutral element.
   */
  publicKey(bytes: Uint8Array): PublicKey | null;
  /** Whether the 48-byte signature is valid for all these keys. False for malformed ones. */
  verify(signature: Uint8Array, message: Uint8Array, signers: readonly PublicKey[]): boolean;
};

/** The newest of each are remembered, in about three megabytes. */
const KEYS_REMEMBERED = 2_000;
const SIGNATURES_REMEMBERED = 10_000;

let loaded: Promise<Bls> | undefined;

/** Loads the curve once per process: some tens of milliseconds. */
export const loadBls = (): Promise<Bls> => {
  loaded ??= load();
  return loaded;
};

const load = async (): Promise<Bls> => {
  const { default: mcl } = await import("mcl-wasm");
  const curve = await validatorsOf(mcl);
  // Successive committees share most keys.
  const keys = new Map<string, PublicKey>();
  // Making a pack, checking it and comparing it with the ledger verify the same signatures.
  const valid = new Map<string, true>();
  const partialSums = createKeySums(mcl.add);
  let parsedKeys = 0;
  return {
    publicKey: (bytes) => {
      const name = Buffer.from(bytes).toString("base64");
      const known = keys.get(name);
      if (known !== undefined) return known;
      const parsed = curve.publicKey(bytes);
      if (parsed === null) return null;
      const key = { bytes: Uint8Array.from(bytes), point: parsed, number: parsedKeys };
      parsedKeys += 1;
      remember(keys, KEYS_REMEMBERED, name, key);
      return key;
    },
    verify: (signature, message, signers) => {
      if (signature.length !== SIGNATURE_BYTES) return false;
      const name = nameOf(signature, message, signers);
      if (valid.has(name)) return true;
      if (!curve.verify(signature, message, partialSums(signers))) return false;
      remember(valid, SIGNATURES_REMEMBERED, name, true);
      return true;
    },
  };
};

const remember = <Value>(
  newest: Map<string, Value>,
  most: number,
  name: string,
  value: Value,
): void => {
  for (const oldest of newest.keys()) {
    if (newest.size < most) break;
    newest.delete(oldest);
  }
  newest.set(name, value);
};

/** Identifies a verification. The message comes last because its length varies. */
const nameOf: (...of: Parameters<Bls["verify"]>) => string = (signature, message, signers) => {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(signers.length);
  const keys = signers.map(({ bytes }) => bytes);
  return hash("sha256", Buffer.concat([signature, count, ...keys, message]), "base64");
};
