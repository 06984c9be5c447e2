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
  /** That hold. */
  readonly entries: readonly SequenceEntry[];
  /**
   * They show nothing: by other keys, where these are passed over; behind an entry that says that the known key was
   * lost; or signed with a revoked key, in entries numbered from where it is not believed.
   */
  readonly notShown: readonly SequenceEntry[];
  /** Why a lost or revoked key leaves some of them without effect; empty where none does. */
  readonly why: readonly string[];
  /** Keys that are believed, base64: the given one, and those that entries signed with believed keys name. */
  readonly keys: readonly string[];
  /** Keys that the entries revoke: what they signed from entry `from` on is not believed, as `entry` says. */
  readonly revoked: readonly {
    readonly keyId: string;
    readonly from: string;
    readonly entry: string;
  }[];
  /** They begin with number 0 and leave none out. */
  readonly whole: boolean;
  readonly last: { readonly number: string; readonly hash: string };
  /** The last key that is believed, base64: another than the given one when an entry signed with the key before names it. */
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

export type KnownToKeeper = {
  /** The key that signed the first of them, base64, as the caller knows it. */
  readonly publicKey: string;
  /**
   * Whether entries that neither this key signed, nor one that entries here name as the next, are refused or passed
   * over. Passed over, the key may be any of the deployment's; an entry of an earlier key holds where the hashes of
   * entries without a gap lead back to it. One that claims to be of a known key is refused in any case.
   */
  readonly otherKeys?: "refused" | "passed over" | undefined;
  /** Whether a key signed a text, all base64 but the text; slow unless given, since it runs anywhere. */
  readonly isSigned?: ((signature: string, text: string, publicKey: string) => boolean) | undefined;
};

/**
 * Checks entries that were kept, the lowest number first; some may be left out, and then the hash of the one before is
 * checked for those that follow one another alone. Whether the deployment still has them is not asked:
 * `holderbook verify --log --head FILE` does.
 *
 * @param kept JSON texts, one a line, or entries as they were parsed
 * @throws SequenceError (stop)
 */
export declare const verifySequence: (
  kept: string | Iterable<unknown>,
  known: KnownToKeeper,
) => Promise<VerifiedSequence>;
