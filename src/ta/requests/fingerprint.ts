/**
 * Which requests are equal to an earlier one.
 *
 * An `Idempotency-Key` that the signature covers decides alone: a new key is a new request. A key that no
 * signature covers can only mark a request as equal: any reader of a signed request could send it under a
 * new key, so there the body decides too.
 *
 * Only digests are kept, keyed with a secret outside the database: a stolen backup cannot be searched for
 * a person's data by trying bodies.
 */
import { createHmac, createSecretKey, hkdfSync } from "node:crypto";

const HOUR_SECONDS = 60 * 60;

/** How long a body is remembered, and a redelivery whose signature covers the body alone. */
const BODY_SECONDS = 24 * HOUR_SECONDS;

/**
 * How long a bound signature is remembered: longer than it is valid (300 s before and after its time,
 * plus the time a body may take), even if the clocks of our processes differ.
 */
const SIGNATURE_SECONDS = HOUR_SECONDS;

/** What replays of a request are recognised by. */
export type Fingerprint = {
  /** `api_keys.id`. */
  readonly keyId: string;
  /** Of path and body: the same `Idempotency-Key` with another one is refused. */
  readonly body: Uint8Array;
  /** Of path and `Idempotency-Key`, where there is one. */
  readonly key: Uint8Array | undefined;
  /** What an equal request has too, whatever its `Idempotency-Key`. */
  readonly same: Uint8Array;
  /** How long `same` is remembered. */
  readonly sameSeconds: number;
  /** Whether `same` decides under a new `Idempotency-Key` as well. */
  readonly sameDecides: boolean;
};

/** A request whose signature was checked. */
export type AskedRequest = {
  readonly keyId: string;
  /** Path of the operation, such as `/api/v1/investor/kyc`. */
  readonly path: string;
  readonly canonicalBody: Uint8Array;
  readonly idempotencyKey: string | undefined;
  /** What a bound signature covers; undefined where the body alone is signed. */
  readonly bound?: Uint8Array | undefined;
  /** Whether it sends a callback again: then its body is always empty. */
  readonly redelivery?: boolean;
};

export type Fingerprints = (request: AskedRequest) => Fingerprint;

/** `secret` is any secret of the deployment, the same in all processes and outside the database. */
export const fingerprints = (secret: Uint8Array): Fingerprints => {
  // A key object: Node would convert bytes for each digest, which takes longer than the digest.
  const key = createSecretKey(
    Buffer.from(hkdfSync("sha256", secret, "", "holderbook ta answers", 32)),
  );
  const digest = (...parts: readonly (string | Uint8Array)[]) => {
    const mac = createHmac("sha256", key);
    // Paths and keys hold no NUL, so parts cannot run into one another.
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
