/**
 * What makes a request the same one as before.
 *
 * An `Idempotency-Key` that the signature covers decides alone: a new one is a new request. One that
 * nothing signs can only say that a request is the same; anybody could write a new one beside what
 * somebody else signed, so there the body decides too.
 *
 * Only digests are kept, keyed with a secret that is not in the database: whoever has a backup cannot
 * try out whose data a body held.
 */
import { createHmac, createSecretKey, hkdfSync } from "node:crypto";

const HOUR_SECONDS = 60 * 60;

/** How long a body, and a redelivery of which the body alone is signed, is remembered. */
const BODY_SECONDS = 24 * HOUR_SECONDS;

/**
 * How long a bound signature is remembered: longer than it is good for (300 s before and after its time,
 * and as long as a body may take), whatever the clocks of our processes say.
 */
const SIGNATURE_SECONDS = HOUR_SECONDS;

/** A request as replays recognise it. */
export type Fingerprint = {
  /** `api_keys.id`. */
  readonly keyId: string;
  /** Of path and body: the same `Idempotency-Key` with another one is refused. */
  readonly body: Uint8Array;
  /** Of path and `Idempotency-Key`, where there is one. */
  readonly key: Uint8Array | undefined;
  /** What else is had by the same request alone. */
  readonly same: Uint8Array;
  /** How long that is remembered. */
  readonly sameSeconds: number;
  /** Whether `same` decides under a new `Idempotency-Key` as well. */
  readonly sameDecides: boolean;
};

/** A request of which somebody proved that he asks for it. */
export type AskedRequest = {
  readonly keyId: string;
  /** Path of the operation, such as `/api/v1/investor/kyc`. */
  readonly path: string;
  readonly canonicalBody: Uint8Array;
  readonly idempotencyKey: string | undefined;
  /** What a bound signature covers; undefined where the body alone is signed. */
  readonly bound?: Uint8Array | undefined;
  /** Whether it sends a callback again: its body says nothing. */
  readonly redelivery?: boolean;
};

/** Recognises requests. */
export type Fingerprints = (request: AskedRequest) => Fingerprint;

/** `secret` is any secret of the deployment, the same in all processes and outside the database. */
export const fingerprints = (secret: Uint8Array): Fingerprints => {
  // A key object: Node prepares one of bytes anew for each digest, which takes longer than the digest.
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
