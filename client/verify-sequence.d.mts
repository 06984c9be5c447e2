import type { JsonValue } from "./canonical-json.mjs";

/** An entry of the deployment's signed sequence, as `GET /sequence` lists it. */
export type SequenceEntry = {
  /** From 0, decimal. */
  readonly number: string;
  /** SHA-256 of the entry before, hex; 64 zeros for number 0. */
  readonly previous: string;
  readonly kind: "root" | "head" | "coin" | "blocks" | "inputs" | "key" | "correction" | "act";
  /** Numbers are decimal texts. */
  readonly body: { readonly [name: string]: JsonValue };
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  readonly keyId: string;
  /** Base64 of 64 bytes. */
  readonly signature: string;
};

export type VerifiedSequence = {
  readonly entries: readonly SequenceEntry[];
  /** They begin with number 0 and leave none out. */
  readonly whole: boolean;
  readonly last: { readonly number: string; readonly hash: string };
  /** The key that signs what comes behind, base64: another one when an entry signed with the key before names it. */
  readonly publicKey: string;
};

/** Entries that do not hold; the message names the entry, and is fit for a terminal. */
export declare class SequenceError extends Error {
  override readonly name: "SequenceError";
  readonly remedy: "stop";
}

/** SHA-256 of an entry, hex: `previous` of the next one. */
export declare const entryHash: (
  entry: Pick<SequenceEntry, "number" | "previous" | "kind" | "body" | "at">,
) => Promise<string>;

/**
 * Checks entries that were kept, the lowest number first; some may be left out, and then the hash of the one before is
 * checked for those that follow one another alone. Whether the deployment still has them is not asked:
 * `holderbook verify --log --head FILE` does.
 *
 * @param kept JSON texts, one a line, or entries as they were parsed
 * @param known.publicKey the key that signed the first of them, base64, as the caller knows it
 * @throws SequenceError (stop)
 */
export declare const verifySequence: (
  kept: string | Iterable<unknown>,
  known: { readonly publicKey: string },
) => Promise<VerifiedSequence>;
