/** Ed25519 keys as text: base64 of the 32 bytes, with or without the prefix of Standard Webhooks. */
import {
  createPrivateKey,
  createPublicKey,
  sign as cryptoSign,
  verify as cryptoVerify,
  generateKeyPairSync,
} from "node:crypto";

const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** A key is not base64 of the right number of bytes. The message never shows the key. */
export class KeyFormatError extends Error {
  name = "KeyFormatError";
  remedy = "stop";
}

/** The bytes of standard base64 with padding, or undefined. `Buffer.from` takes anything. */
export const strictBase64 = (text) => {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
};

/** Of the field that coordinates are in. */
const PRIME = 2n ** 255n - 19n;

/** The points of small order, by their y. OpenSSL takes them for keys. */
const SMALL = new Set([
  0n,
  1n,
  PRIME - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d7a6a17c7n,
]);

/** A point in its one form, and not one to which everybody can make signatures. */
const isPoint = (bytes) => {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) % 2n ** 255n;
  return y < PRIME && !SMALL.has(y);
};

export const publicKeyOf = (text) => {
  const bytes = strictBase64(withoutPrefix(text, "whpk_"));
  if (bytes?.length !== KEY_BYTES) {
    throw new KeyFormatError("a public key is base64 of 32 bytes, with or without whpk_ before it");
  }
  if (!isPoint(bytes)) {
    throw new KeyFormatError("a public key must not be one to which everybody can make signatures");
  }
  const jwk = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
  return createPublicKey({ key: jwk, format: "jwk" });
};

/** PKCS #8 of an Ed25519 key is this and the 32 bytes of the seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

export const secretKeyOf = (text) => {
  const bytes = strictBase64(withoutPrefix(text, "whsk_"));
  // Some tools write the seed with the public key behind it.
  if (bytes?.length !== KEY_BYTES && bytes?.length !== 2 * KEY_BYTES) {
    throw new KeyFormatError("a secret key is base64 of 32 bytes, with or without whsk_ before it");
  }
  const der = Buffer.concat([PKCS8_PREFIX, bytes.subarray(0, KEY_BYTES)]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
};

export const publicTextOf = (key) =>
  Buffer.from(key.export({ format: "jwk" }).x, "base64url").toString("base64");

export const generateKeyPair = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const seed = Buffer.from(privateKey.export({ format: "jwk" }).d, "base64url");
  return { publicKey: publicTextOf(publicKey), secretKey: seed.toString("base64") };
};

export const signBytes = (bytes, privateKey) =>
  cryptoSign(null, bytes, privateKey).toString("base64");

/** Node verifies with OpenSSL, whose time does not depend on how much of a signature is right. */
export const verifyBytes = (bytes, signature, publicKey) =>
  signature.length === SIGNATURE_BYTES && cryptoVerify(null, bytes, publicKey, signature);

const withoutPrefix = (text, prefix) => {
  if (typeof text !== "string") throw new KeyFormatError("a key is text");
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
};
