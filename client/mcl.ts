/**
 * BLS12-381 as validators use it, by the curve of `mcl-wasm`, which the caller installs. Hashing to
 * the curve follows RFC 9380 here, because mcl knows only other ledgers' tags.
 */
import type Mcl from "mcl-wasm";
import type { Fp, G1, G2 } from "mcl-wasm";
import { sha256 } from "./noble.mjs";
import type { Validators } from "./validators.ts";

/** Domain separation tag (RFC 9380, 3.1), and its length in a byte: 43 is `+`. */
const TAG = new TextEncoder().encode("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_+");

/** The generator of G2, compressed. */
const G2_GENERATOR = Uint8Array.from(
  (
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e" +
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
  ).match(/../g) ?? [],
  (byte) => Number.parseInt(byte, 16),
);

export const SIGNATURE_BYTES = 48;

/**
 * For `verifyAuditPack`, in browsers and Node. Loads the curve: some tens of milliseconds.
 * @param mcl the default export of `mcl-wasm`
 */
export const validatorsOf = async (mcl: typeof Mcl): Promise<Validators<G2>> => {
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
  return {
    publicKey: (bytes) => point(new mcl.G2(), bytes),
    verify: (signature, message, keys) => {
      if (signature.length !== SIGNATURE_BYTES) return false;
      const signed = point(new mcl.G1(), signature);
      const [first, ...others] = keys;
      if (signed === null || first === undefined) return false;
      const together = others.reduce((sum, key) => mcl.add(sum, key), first);
      if (together.isZero()) return false;
      const uniform = expandMessage(message);
      const [left, right] = [element(uniform.subarray(0, 64)), element(uniform.subarray(64))];
      const hashed: G1 = mcl.add(left.mapToG1(), right.mapToG1());
      // e(hash, keys) = e(signature, generator), as one product that must be 1.
      const product = mcl.precomputedMillerLoop2mixed(hashed, together, signed, againstGenerator);
      return mcl.finalExp(product).isOne();
    },
  };
};

/** RFC 9380, 5.3.1 (`expand_message_xmd`) with SHA-256: 128 bytes for two field elements. */
const expandMessage = (message: Uint8Array): Uint8Array => {
  const start = sha256(joined(new Uint8Array(64), message, Uint8Array.of(0, 128, 0), TAG));
  const blocks = [sha256(joined(start, Uint8Array.of(1), TAG))];
  for (let number = 2; number <= 4; number++) {
    const mixed = blocks.at(-1)?.map((byte, at) => byte ^ (start[at] ?? 0)) ?? start;
    blocks.push(sha256(joined(mixed, Uint8Array.of(number), TAG)));
  }
  return joined(...blocks);
};

const joined = (...pieces: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
};
