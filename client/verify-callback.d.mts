/** A header that every callback has is missing or not of its form. Answer 400; stop. */
export declare class CallbackMalformedError extends Error {
  override readonly name: "CallbackMalformedError";
  readonly remedy: "stop";
}

/** No signature fits any of the keys: not from Holderbook, or changed on its way. Answer 401; stop. */
export declare class CallbackSignatureError extends Error {
  override readonly name: "CallbackSignatureError";
  readonly remedy: "stop";
}

/** Signed properly, but not now: an old message played again, or a clock that is wrong. Answer 400; stop. */
export declare class CallbackTooOldError extends Error {
  override readonly name: "CallbackTooOldError";
  readonly remedy: "stop";
}

/** `Headers`, Node's `request.headers`, or a plain object; names in any letter case. */
export type CallbackHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Base64 of 32 bytes, with or without `whpk_`; or an entry of `keys` of `GET /api/v1/callback_pk`. */
export type PublicKey = string | { readonly publicKey: string };

/** One key, several, or the whole answer of `GET /api/v1/callback_pk`. */
export type PublicKeys = PublicKey | readonly PublicKey[] | { readonly keys: readonly PublicKey[] };

/** A callback that is what it says it is. */
export type VerifiedCallback = {
  /** `webhook-id`: the same whenever the same message is delivered again. Act once per id. */
  readonly id: string;
  /** When this delivery was signed. */
  readonly signedAt: Date;
  /** The body as it was signed. */
  readonly body: string;
  /** The body parsed; an integer beyond 2^53 is a `bigint`, so that no amount is ever rounded. */
  json(): unknown;
};

/**
 * Verifies a callback by its `webhook-signature` (Standard Webhooks, Ed25519).
 *
 * `body` is the body exactly as received, before any parsing. `publicKeys` are the keys to trust: keep
 * those that `GET /api/v1/callback_pk` lists, and ask again when none fits. `toleranceSeconds` (300) is
 * how far the signature's time may be from `now`, either way.
 *
 * @throws CallbackMalformedError a header is missing or malformed
 * @throws CallbackSignatureError no signature fits any key
 * @throws CallbackTooOldError signed longer ago, or further ahead, than the tolerance
 * @throws KeyFormatError one of the public keys is not one
 * @throws TypeError called with something else than that, such as a body that was parsed
 */
export declare const verifyCallback: (callback: {
  readonly headers: CallbackHeaders;
  readonly body: string | Uint8Array;
  readonly publicKeys: PublicKeys;
  readonly toleranceSeconds?: number;
  readonly now?: Date;
}) => VerifiedCallback;

/**
 * Verifies `X-Request-Sig-B64` alone: the signature over the body, made the way requests are signed.
 * It says nothing about when or how often a body was sent; prefer `verifyCallback`.
 *
 * @throws CallbackMalformedError the signature is not base64
 * @throws CallbackSignatureError it fits no key
 */
export declare const verifyBodySignature: (signed: {
  /** Value of the header `X-Request-Sig-B64`. */
  readonly signature: string;
  readonly body: string | Uint8Array;
  readonly publicKeys: PublicKeys;
}) => void;
