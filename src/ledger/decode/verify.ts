import { base58 } from "../../values/base58.ts";
import type { Cursor } from "./cursor.ts";
import { type DigestOf, digestOf } from "./digest.ts";

/** A digest the checkpoint carries, and the bytes it must be the digest of. */
export type Claim = {
  readonly of: DigestOf;
  /** Index of the transaction; null for what belongs to the checkpoint. */
  readonly transaction: number | null;
  /** Offset of the object's id, for objects. */
  readonly idAt?: number;
  /** The bytes: from `start` to before `end`. */
  readonly start: number;
  readonly end: number;
  /** Offset of the digest expected. */
  readonly expectedAt: number;
};

/** What a claim that does not hold comes to. */
export type Contradiction = {
  /** Names the thing and where in the checkpoint it is. */
  readonly where: string;
  /** Base58 digests: the one the checkpoint names, the one its bytes have. */
  readonly expected: string;
  readonly found: string;
};

/** What a decoder does with the claims it meets. */
export type Verifier = {
  /**
   * Whether objects that a transaction changed are claims too, as it found them. They are part of no
   * decoded value; those it removed always are claims (where the effects name their digests).
   */
  readonly inputs: boolean;
  claim(cursor: Cursor, claim: Claim): void;
};

/** Refuses a checkpoint whose bytes contradict a digest. */
export const refusing = (inputs: boolean): Verifier => ({
  inputs,
  claim: (cursor, claim) => {
    const wrong = contradiction(cursor, claim);
    if (wrong !== null) {
      cursor.fail(`${wrong.where} has digest ${wrong.found}, not ${wrong.expected}`, claim.start);
    }
  },
});

/** Recomputes the digest of a claim; null when it holds. */
export const contradiction = (cursor: Cursor, claim: Claim): Contradiction | null => {
  const found = digestOf(claim.of, cursor.bytes.subarray(claim.start, claim.end));
  const { expectedAt } = claim;
  if (cursor.bytes.compare(found, 0, 32, expectedAt, expectedAt + 32) === 0) return null;
  return {
    where: place(cursor, claim),
    expected: base58(cursor.bytes, expectedAt),
    found: base58(found),
  };
};

const place = (cursor: Cursor, { of, transaction, idAt }: Claim): string => {
  const subject = idAt === undefined ? of : `${of} ${cursor.address(idAt)}`;
  return transaction === null ? subject : `${subject} of transaction ${transaction}`;
};
