/**
 * Fingerprints recognise equal requests.
 *
 * A signed `Idempotency-Key` decides alone: a new key is a new request. An unsigned key can only
 * mark a request as equal: any reader of a signed request could send it under a new key, so the
 * body decides too.
 *
 * Digests are keyed with a secret outside the database: a stolen backup cannot be searched for a
 * person's data by trying bodies.
 */
import { createHmac, createSecretKey, hkdfSync } from "node:crypto";

const HOUR_SECONDS = 60 * 60;

/** Retention of bodies, and of redeliveries whose signature covers only the body. */
const BODY_SECONDS = 24 * HOUR_SECONDS;

/** Longer than bound signatures are valid (300 s around their time, plus a body's), with skew. */
const SIGNATURE_SECONDS = HOUR_SECONDS;

export type Fingerprint = {
  /** `api_keys.id`. */
  readonly keyId: string;
  /** Digest of path and body: an `Idempotency-Key` with another body is refused. */
  readonly body: Uint8Array;
  /** Digest of path and `Idempotency-Key`, if any. */
  readonly key: Uint8Array | undefined;
  /** Digest shared by equal requests under any `Idempotency-Key`. */
  readonly same: Uint8Array;
  /** Retention of `same`. */
  readonly sameSeconds: number;
  /** Whether `same` also decides under a new `Idempotency-Key`. */
  readonly sameDecides: boolean;
};

/** With a verified signature. */
type SignedRequest = {
  readonly keyId: string;
  /** Path of the operation, such as `/api/v1/investor/kyc`. */
  readonly path: string;
  readonly canonicalBody: Uint8Array;
  readonly idempotencyKey: string | undefined;
  /** Signed content of a bound signature; undefined where only the body is signed. */
  readonly bound?: Uint8Array | undefined;
  /** Whether it is a redelivery, whose body is always empty. */
  readonly redelivery?: boolean;
};

export type Fingerprints = (request: SignedRequest) => Fingerprint;

/** `secret` is shared by all processes of the deployment and kept outside the database. */
export const fingerprints = (secret: Uint8Array): Fingerprints => {
  // A key object: converting bytes per digest takes longer than the digest.
  const key = createSecretKey(
    Buffer.from(hkdfSync("sha256", secret, "", "holderbook ta answers", 32)),
  );
  const digest = (...parts: readonly (string | Uint8Array)[]) => {
    const mac = createHmac("sha256", key);
    // NUL-separated; paths and keys hold no NUL.
    for (const part of parts) mac.update(part).update("\0");
    return mac.digest();
  };
  return ({ keyId, path, canonicalBody, idempotencyKey, bound, redelivery = false }) => {
    const body = digest("body", path, canonicalBody);
    const same = redelivery
      ? bound === undefined
        ? digest("redelivery", path)
        : digest("signature", bound)
      : body;
    return {
      keyId,
      body,
      key: idempotencyKey === undefined ? undefined : digest("key", path, idempotencyKey),
      same,
      sameSeconds: redelivery && bound !== undefined ? SIGNATURE_SECONDS : BODY_SECONDS,
      sameDecides: bound === undefined,
    };
  };
};
