/**
 * Aggregated BLS signatures over BLS12-381 of Sui's validators: signatures in G1, keys in G2. The
 * curve is mcl's; hashing to it follows RFC 9380 here, because mcl knows only other ledgers' tags.
 */
import { hash } from "node:crypto";
import type { Fp, G1, G2 } from "mcl-wasm";

/** Domain separation tag (RFC 9380, 3.1). */
const TAG = Buffer.from("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_", "ascii");

/** The generator of G2, compressed. */
const G2_GENERATOR = Buffer.from(
  "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e" +
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
  "hex",
);

/** A validator's key, parsed and checked to lie in the group. */
export type PublicKey = { readonly bytes: Uint8Array; readonly point: G2 };

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

const SIGNATURE_BYTES = 48;

let loaded: Promise<Bls> | undefined;

/** Loads the curve once per process: some tens of milliseconds. */
export const loadBls = (): Promise<Bls> => {
  loaded ??= load();
  return loaded;
};

const load = async (): Promise<Bls> => {
  const { default: mcl } = await import("mcl-wasm");
  await mcl.init(mcl.BLS12_381);
  mcl.setETHserialization(true);
  mcl.setMapToMode(mcl.IRTF);
  // Refuses points outside the group when parsing.
  mcl.verifyOrderG1(true);
  mcl.verifyOrderG2(true);
  const point = <P extends G1 | G2>(empty: P, bytes: Uint8Array): P | null => {
    try {
      empty.deserialize(bytes);
      return empty.isZero() ? null : empty;
    } catch {
      return null;
    }
  };
  const generator = point(new mcl.G2(), G2_GENERATOR);
  if (generator === null)
    throw new Error("mcl refuses the generator of G2: a defect of this program");
  const againstGenerator = new mcl.PrecomputedG2(mcl.neg(generator));
  const element = (bytes: Uint8Array): Fp => {
    const field = new mcl.Fp();
    field.setBigEndianMod(bytes);
    return field;
  };
  const hashToCurve = (message: Uint8Array): G1 => {
    const uniform = expandMessage(message);
    const [left, right] = [element(uniform.subarray(0, 64)), element(uniform.subarray(64))];
    return mcl.add(left.mapToG1(), right.mapToG1());
  };
  const isValid: Bls["verify"] = (signature, message, signers) => {
    const signed = point(new mcl.G1(), signature);
    const [first, ...others] = signers;
    if (signed === null || first === undefined) return false;
    const together = others.reduce((sum, { point: key }) => mcl.add(sum, key), first.point);
    if (together.isZero()) return false;
    // e(hash, keys) = e(signature, generator), as one product that must be 1.
    const product = mcl.precomputedMillerLoop2mixed(
      hashToCurve(message),
      together,
      signed,
      againstGenerator,
    );
    return mcl.finalExp(product).isOne();
  };
  // Successive committees share most keys.
  const keys = new Map<string, PublicKey>();
  // Making a pack, checking it and comparing it with the ledger verify the same signatures.
  const valid = new Map<string, true>();
  return {
    publicKey: (bytes) => {
      const name = Buffer.from(bytes).toString("base64");
      const known = keys.get(name);
      if (known !== undefined) return known;
      const parsed = point(new mcl.G2(), bytes);
      if (parsed === null) return null;
      const key = { bytes: Uint8Array.from(bytes), point: parsed };
      remember(keys, KEYS_REMEMBERED, name, key);
      return key;
    },
    verify: (signature, message, signers) => {
      if (signature.length !== SIGNATURE_BYTES) return false;
      const name = nameOf(signature, message, signers);
      if (valid.has(name)) return true;
      if (!isValid(signature, message, signers)) return false;
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

/** RFC 9380, 5.3.1 (`expand_message_xmd`) with SHA-256: 128 bytes for two field elements. */
const expandMessage = (message: Uint8Array): Buffer => {
  const tag = Buffer.concat([TAG, Buffer.of(TAG.length)]);
  const sha256 = (...parts: readonly Uint8Array[]) =>
    hash("sha256", Buffer.concat([...parts, tag]), "buffer");
  const start = sha256(Buffer.alloc(64), message, Buffer.of(0, 128, 0));
  const blocks = [sha256(start, Buffer.of(1))];
  for (let i = 2; i <= 4; i++) {
    const mixed = blocks.at(-1)?.map((byte, at) => byte ^ (start[at] ?? 0)) ?? start;
    blocks.push(sha256(mixed, Buffer.of(i)));
  }
  return Buffer.concat(blocks);
};
