/**
 * Signs like validators: BLS over BLS12-381, signatures in G1, public keys in G2.
 *
 * Uses mcl without its wrapper, which cannot set the tag and so needs twice the time to hash.
 * Verification is separate (`src/ledger/proof/bls.ts`); tests compare both with `@noble/curves`.
 */
import { BLS12_381, IRTF, MCLBN_COMPILED_TIME_VAR } from "mcl-wasm/dist/constants.js";
import createModule from "mcl-wasm/dist/mcl_c.js";

const TAG = Buffer.from("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_", "latin1");
/** The generator of G2, compressed. */
const GENERATOR = Buffer.from(
  "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e" +
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
  "hex",
);
/** Bytes of a scalar, and of points of G1 and G2, in mcl's memory. */
const SCALAR = 32;
const G1 = 3 * 48;
const G2 = 6 * 48;
/** Buffer for input and output: fits a summary with a large committee. */
const ROOM = 65_536;

/** mcl's C interface: pointers are offsets into its memory. */
type Mcl = {
  readonly HEAP8: Int8Array;
  _malloc(size: number): number;
  _mclBn_init(curve: number, compiledFor: number): number;
  _mclBn_setETHserialization(on: number): void;
  _mclBn_setMapToMode(mode: number): number;
  _mclBnG1_setDst(tag: number, length: number): number;
  _mclBnFr_setBigEndianMod(scalar: number, bytes: number, length: number): number;
  _mclBnG1_hashAndMapTo(point: number, bytes: number, length: number): number;
  _mclBnG1_mul(product: number, point: number, scalar: number): void;
  _mclBnG1_serialize(bytes: number, room: number, point: number): number;
  _mclBnG2_deserialize(point: number, bytes: number, length: number): number;
  _mclBnG2_mul(product: number, point: number, scalar: number): void;
  _mclBnG2_serialize(bytes: number, room: number, point: number): number;
};
const mcl: Mcl = await createModule({});
mcl._mclBn_init(BLS12_381, MCLBN_COMPILED_TIME_VAR);
mcl._mclBn_setETHserialization(1);
mcl._mclBn_setMapToMode(IRTF);

const scalar = mcl._malloc(SCALAR);
const g1 = mcl._malloc(G1);
const g2 = mcl._malloc(G2);
const generator = mcl._malloc(G2);
const room = mcl._malloc(ROOM);

/** Copies bytes into mcl's memory; returns their number. */
const put = (bytes: Uint8Array): number => {
  if (bytes.length > ROOM) throw new RangeError(`at most ${ROOM} bytes are signed`);
  mcl.HEAP8.set(bytes, room);
  return bytes.length;
};
const take = (length: number): Uint8Array =>
  Uint8Array.from(mcl.HEAP8.subarray(room, room + length));

mcl._mclBnG1_setDst(room, put(TAG));
mcl._mclBnG2_deserialize(generator, room, put(GENERATOR));

const setScalar = (secret: bigint): void => {
  const length = put(Buffer.from(secret.toString(16).padStart(2 * SCALAR, "0"), "hex"));
  mcl._mclBnFr_setBigEndianMod(scalar, room, length);
};

/** Compressed public key (96 bytes) of a secret. */
export const blsPublicKey = (secret: bigint): Uint8Array => {
  setScalar(secret);
  mcl._mclBnG2_mul(g2, generator, scalar);
  return take(mcl._mclBnG2_serialize(room, ROOM, g2));
};

/** Compressed signature (48 bytes); a sum of secrets gives the aggregated one. */
export const blsSign = (secret: bigint, message: Uint8Array): Uint8Array => {
  setScalar(secret);
  mcl._mclBnG1_hashAndMapTo(g1, room, put(message));
  mcl._mclBnG1_mul(g1, g1, scalar);
  return take(mcl._mclBnG1_serialize(room, ROOM, g1));
};
