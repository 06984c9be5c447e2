/** Ed25519 keys as text: base64 of 32 bytes, optionally with the Standard Webhooks prefix. */
import {
  createPrivateKey,
  createPublicKey,
  sign as cryptoSign,
  verify as cryptoVerify,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";

const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** A key is not base64 of the right number of bytes. Stop: correct it. The message never shows the key. */
export class KeyFormatError extends Error {
  override readonly name = "KeyFormatError";
  readonly remedy = "stop";
}

/** Strict base64 with padding; `Buffer.from` accepts anything. Undefined if malformed. */
export const strictBase64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
};

const PRIME = 2n ** 255n - 19n;

/** y coordinates of the small-order points, which OpenSSL accepts as keys. */
const SMALL = new Set([
  0n,
  1n,
  PRIME - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d7a6a17c7n,
]);

/** Canonical and not of small order: anyone can forge signatures for small-order keys. */
const isPoint = (bytes: Uint8Array) => {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) % 2n ** 255n;
  return y < PRIME && !SMALL.has(y);
};

/** @throws KeyFormatError */
export const publicKeyOf = (text: string): KeyObject => {
  const bytes = strictBase64(withoutPrefix(text, "whpk_"));
  if (bytes?.length !== KEY_BYTES) {
    throw new KeyFormatError("a public key is base64 of 32 bytes, with or without whpk_ before it");
  }
  if (!isPoint(bytes)) {
    throw new KeyFormatError(
      "a public key must not be weak: anyone can make signatures that fit it",
    );
  }
  const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
  return createPublicKey({ key: jwk, format: "jwk" });
};

/** PKCS #8 prefix of an Ed25519 key; the 32-byte seed follows (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** @throws KeyFormatError */
export const secretKeyOf = (text: string): KeyObject => {
  const bytes = strictBase64(withoutPrefix(text, "whsk_"));
  // Some tools append the public key to the seed.
  if (bytes?.length !== KEY_BYTES && bytes?.length !== 2 * KEY_BYTES) {
    throw new KeyFormatError("a secret key is base64 of 32 bytes, with or without whsk_ before it");
  }
  const der = Buffer.concat([PKCS8_PREFIX, bytes.subarray(0, KEY_BYTES)]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
};

/** Base64 of the 32 bytes. */
export const publicTextOf = (key: KeyObject): string =>
  Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url").toString("base64");

/** A new Ed25519 key pair; both are base64 of 32 bytes (the secret key is the seed of RFC 8032). */
export const generateKeyPair = (): { readonly publicKey: string; readonly secretKey: string } => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const seed = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  return { publicKey: publicTextOf(publicKey), secretKey: seed.toString("base64") };
};

/** Returns base64 of the 64-byte signature. */
export const signBytes = (bytes: Uint8Array, privateKey: KeyObject): string =>
  cryptoSign(null, bytes, privateKey).toString("base64");

/** OpenSSL compares in constant time. */
export const verifyBytes = (
  bytes: Uint8Array,
  signature: Uint8Array,
  publicKey: KeyObject,
): boolean =>
  signature.length === SIGNATURE_BYTES && cryptoVerify(null, bytes, publicKey, signature);

/** Takes `unknown` because untyped callers can pass anything. */
const withoutPrefix = (text: unknown, prefix: string) => {
  if (typeof text !== "string") throw new KeyFormatError("a key is text");
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
};
