import type { JsonValue } from "./canonical-json.mjs";

/** Headers to send, names in lower case. */
export type SignedHeaders = Readonly<Record<string, string>>;

/**
 * Signs a request to the transfer agent API with the secret key of the pair whose public key is
 * registered for the asset.
 *
 * With `body` (POST): send `body` of the result, byte for byte, with `headers`. With `method` and
 * `path` (GET of the request status and of the delivery log): `path` begins with `/` and includes the
 * query; the signature is good for 300 s.
 *
 * @throws KeyFormatError the secret key is not base64 of 32 bytes
 * @throws NotCanonicalError the body has no canonical form
 */
export declare const signRequest: {
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
