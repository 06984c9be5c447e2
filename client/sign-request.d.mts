import type { JsonValue } from "./canonical-json.mjs";

/** Headers to send, names in lower case. */
export type SignedHeaders = Readonly<Record<string, string>>;

/**
 * Signs a request to the transfer agent API with the secret key of the pair whose public key is
 * registered for the asset.
 *
 * With `body` and `path` (POST): the signature is bound to the path, the time, the `Idempotency-Key`
 * and the body, and is good for 300 s. Send `body` of the result, byte for byte, with `headers`, which
 * hold the `Idempotency-Key` too; sign anew before sending again. `path` is what the service gets: it
 * begins with `/` and includes the query, if any.
 *
 * With `body` alone: the older form, which covers the body and nothing else; a key made with
 * `--require-bound` does not take it.
 *
 * With `method` and `path` (GET of the request status and of the delivery log): as bound, without a body.
 *
 * @throws KeyFormatError the secret key is not base64 of 32 bytes
 * @throws NotCanonicalError the body has no canonical form
 */
export declare const signRequest: {
  (request: {
    readonly secretKey: string;
    readonly body: JsonValue;
    readonly path: string;
    /** POST unless given. */
    readonly method?: string;
    /** 1 to 255 visible ASCII characters. */
    readonly idempotencyKey?: string | undefined;
    readonly now?: Date;
  }): {
    readonly body: string;
    readonly headers: SignedHeaders;
  };
  (request: {
    readonly secretKey: string;
    readonly body: JsonValue;
  }): {
    readonly body: string;
    readonly headers: SignedHeaders;
  };
  (request: {
    readonly secretKey: string;
    readonly method: string;
    readonly path: string;
    readonly now?: Date;
  }): { readonly headers: SignedHeaders };
};

/** What the signature of a request without a body covers; `timestamp` in unix seconds. */
export declare const readContent: (request: {
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
}) => Uint8Array;

/** What a bound signature covers; `body` is the canonical form, `timestamp` in unix seconds. */
export declare const boundContent: (request: {
  readonly method: string;
  readonly path: string;
  readonly timestamp: number;
  readonly idempotencyKey: string | undefined;
  readonly body: Uint8Array;
}) => Uint8Array;
