import type { KeyObject } from "node:crypto";

/** Bytes of an Ed25519 signature. */
export declare const SIGNATURE_BYTES: 64;

/** A key is not base64 of the right number of bytes. Stop: correct it. The message never shows the key. */
export declare class KeyFormatError extends Error {
  override readonly name: "KeyFormatError";
  readonly remedy: "stop";
}

/** The bytes of standard base64 with padding; undefined for anything else. */
export declare const strictBase64: (text: string) => Buffer | undefined;

/** @throws KeyFormatError */
export declare const publicKeyOf: (text: string) => KeyObject;

/** @throws KeyFormatError */
export declare const secretKeyOf: (text: string) => KeyObject;

/** Base64 of the 32 bytes. */
export declare const publicTextOf: (key: KeyObject) => string;

/** A new Ed25519 key pair; both are base64 of 32 bytes (the secret key is the seed of RFC 8032). */
export declare const generateKeyPair: () => {
  readonly publicKey: string;
  readonly secretKey: string;
};

/** Base64 of the 64 bytes of the signature. */
export declare const signBytes: (bytes: Uint8Array, privateKey: KeyObject) => string;

export declare const verifyBytes: (
  bytes: Uint8Array,
  signature: Uint8Array,
  publicKey: KeyObject,
) => boolean;
