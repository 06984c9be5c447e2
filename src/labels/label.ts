/** A label's subject and text, as an operator gives them. */
import { canonicalAddress, canonicalType, MoveTypeError } from "../values/move-type.ts";
import type { LabelKind } from "./tables.ts";

/** What a label names, as stored: see the columns of `labels`. */
export type LabelSubject = {
  readonly kind: LabelKind;
  readonly coinType: string;
  readonly subject: string;
};

export type GivenLabel = LabelSubject & { readonly text: string; readonly isSealed: boolean };

/** Members of a subject as callers name them; absent ones are undefined. */
export type SubjectMembers = {
  readonly kind: LabelKind;
  readonly coinType?: string | undefined;
  readonly holderId?: string | undefined;
  readonly address?: string | undefined;
  readonly role?: string | undefined;
};

/** A member is missing, superfluous or malformed. The message names it and what fits. */
export class LabelError extends Error {
  override readonly name = "LabelError";
}

/** Characters of a label. */
export const MOST_CHARACTERS = 200;

/** Largest holder number: a u64. */
const MAX_U64 = 2n ** 64n - 1n;

type Member = "coinType" | "holderId" | "address" | "role";

/** Members that each kind has. */
export const MEMBERS_OF: Readonly<Record<LabelKind, readonly Member[]>> = {
  HOLDER: ["coinType", "holderId"],
  WALLET: ["address"],
  ROLE: ["coinType", "role"],
  TREASURY: ["coinType"],
};

const MEMBERS: readonly Member[] = ["coinType", "holderId", "address", "role"];

/**
 * The subject, canonical but for the letter case of the coin type's names.
 * @param nameOf how the caller names a member, for errors
 * @throws LabelError
 */
export const subjectOf = (
  given: SubjectMembers,
  nameOf: (member: Member) => string = (member) => member,
): LabelSubject => {
  const needed = MEMBERS_OF[given.kind];
  const kind = given.kind.toLowerCase();
  for (const member of MEMBERS) {
    const isThere = (given[member] ?? "") !== "";
    if (isThere && !needed.includes(member)) {
      throw new LabelError(`${nameOf(member)}: must be absent for a ${kind}`);
    }
    if (!isThere && needed.includes(member)) {
      throw new LabelError(`${nameOf(member)}: is missing; a ${kind} needs it`);
    }
  }
  const { coinType = "", holderId = "", address = "", role = "" } = given;
  return {
    kind: given.kind,
    coinType: coinType === "" ? "" : canonicalBy(canonicalType, coinType, nameOf("coinType")),
    subject:
      holderId !== ""
        ? holderNumber(holderId, nameOf("holderId"))
        : address !== ""
          ? canonicalBy(canonicalAddress, address, nameOf("address"))
          : roleOf(role, nameOf("role")),
  };
};

const canonicalBy = (canonical: (text: string) => string, text: string, name: string): string => {
  try {
    return canonical(text);
  } catch (error) {
    if (error instanceof MoveTypeError) throw new LabelError(`${name}: is ${error.message}`);
    throw error;
  }
};

const holderNumber = (text: string, name: string): string => {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > MAX_U64) {
    throw new LabelError(`${name}: must be a holder's number, such as 16`);
  }
  return `${BigInt(text)}`;
};

/** A role's type, canonical, or its bare name. */
const roleOf = (text: string, name: string): string => {
  if (text === "" || /^\w{1,128}$/.test(text)) return text;
  return canonicalBy(canonicalType, text, name);
};

/**
 * The text as stored: trimmed, with single spaces.
 * @throws LabelError
 */
export const labelText = (given: string, name = "text"): string => {
  const text = given.normalize("NFC").trim().replaceAll(/\s+/gu, " ");
  if (text === "") throw new LabelError(`${name}: must not be empty`);
  if ([...text].length > MOST_CHARACTERS) {
    throw new LabelError(`${name}: must have at most ${MOST_CHARACTERS} characters`);
  }
  // Control and formatting characters, which could turn or hide text beside it.
  if (!text.isWellFormed() || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)) {
    throw new LabelError(`${name}: must not have control characters`);
  }
  return text;
};

/** The text for comparisons: without case and accents. */
export const folded = (text: string): string =>
  text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().trim().replaceAll(/\s+/gu, " ");

/** Its words, folded, without repetitions: runs of letters and digits. */
export const wordsOf = (text: string): readonly string[] => [
  ...new Set(folded(text).match(/[\p{L}\p{N}]+/gu) ?? []),
];
