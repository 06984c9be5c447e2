/** What has a canonical form. A `bigint` is printed in full, never rounded and never quoted. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The value has no canonical form; the message names the place inside it. Stop: correct the value. */
export declare class NotCanonicalError extends Error {
  override readonly name: "NotCanonicalError";
  readonly remedy: "stop";
}

/**
 * The canonical text (RFC 8785) of a JSON value.
 *
 * @throws NotCanonicalError for what JSON cannot hold: NaN, infinities, lone surrogates, class
 *   instances, nesting of more than 100 levels
 */
export declare const canonicalJson: (value: JsonValue) => string;
