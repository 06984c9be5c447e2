import { base58 } from "../../values/base58.ts";
import type { Cursor } from "./cursor.ts";
import { type DigestOf, digestOf } from "./digest.ts";
import type { Effects } from "./effects.ts";

/** A digest in the checkpoint, and the bytes it must match. */
export type Claim = {
  readonly of: DigestOf;
  /** Index of the transaction; null for the checkpoint's own. */
  readonly transaction: number | null;
  /** Offset of the object's id, for objects. */
  readonly idAt?: number;
  /** What the bytes say, for effects. */
  readonly effects?: Effects;
  /** The bytes, `end` excluded. */
  readonly start: number;
  readonly end: number;
  /** Offset of the expected digest. */
  readonly expectedAt: number;
};

type Contradiction = {
  /** The part and its location. */
  readonly where: string;
  /** Base58 digests: named by the checkpoint, computed from its bytes. */
  readonly expected: string;
  readonly found: string;
};

/** Handles claims of a decoder. */
export type Verifier = {
  /**
   * Whether inputs that a transaction changed are claims, too. They are part of no decoded value;
   * removed objects always are claims (when the effects have their digests).
   */
  readonly inputs: boolean;
  claim(cursor: Cursor, claim: Claim): void;
};

/** Refuses a checkpoint that contradicts a digest. */
export const refusing = (inputs: boolean): Verifier => ({
  inputs,
  claim: (cursor, claim) => {
    const wrong = contradiction(cursor, claim);
    if (wrong !== null) {
      cursor.fail(`${wrong.where} has digest ${wrong.found}, not ${wrong.expected}`, claim.start);
    }
  },
});

/** Recomputes a claim's digest; null when it matches. */
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
