/** Verifies sequence entries in saved files on their own, without a database. */
import {
  type SequenceEntry,
  SequenceError,
  type VerifiedSequence,
  verifySequence,
} from "../../../client/verify-sequence.ts";
import { isSigned, keyIdOf } from "../sequence/deployment-key.ts";
import { entryHash } from "../sequence/sequence.ts";
import { entryForm, KeptHeadsError, keptValues } from "./kept-files.ts";

/** Valid entries, lowest number first, and those of unknown keys, which prove nothing. */
export type KeptEntries = Pick<
  VerifiedSequence,
  "entries" | "notShown" | "corrections" | "why" | "keys" | "revoked"
>;

/**
 * Reads and verifies entries: signatures, previous hashes, key changes, times, and that no two
 * contradict each other.
 * @param publicKey a key of the deployment, base64
 * @throws SequenceError (stop) when something is invalid
 * @throws KeptHeadsError (stop) for a file with other content
 */
export const readEntries = async (
  paths: readonly string[],
  publicKey: string,
): Promise<KeptEntries> => {
  const kept = new Map<bigint, { readonly value: unknown; readonly hash: string }>();
  for (const path of paths) {
    for (const [at, value] of (await keptValues(path)).entries()) {
      const { data } = entryForm.safeParse(value);
      if (data === undefined) {
        throw new KeptHeadsError(path, `number ${at + 1} is not an entry of the sequence`);
      }
      const number = BigInt(data.number);
      const hash = entryHash(data);
      if (kept.has(number) && kept.get(number)?.hash !== hash) {
        throw new SequenceError(
          `entry ${number} was kept twice, and the two differ: one number was given to two entries`,
        );
      }
      kept.set(number, { value, hash });
    }
  }
  const ascending = [...kept].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { value }]) => value);
  return verifyEntries(ascending, publicKey);
};

/** Verifies entries in memory, lowest number first. @throws SequenceError (stop) */
export const verifyEntries = (
  entries: readonly unknown[],
  publicKey: string,
): Promise<KeptEntries> =>
  verifySequence(entries, { publicKey, otherKeys: "passed over", isSigned });

/** Describes the entries that prove nothing. */
export const passedOver = ({ notShown, why }: KeptEntries): readonly string[] => {
  const [first] = notShown;
  if (first === undefined || why.length > 0) return why;
  const which =
    notShown.length === 1
      ? `entry ${first.number} is`
      : `${notShown.length} entries, the first number ${first.number}, are`;
  return [
    `${which} signed with a key (${keyIds(notShown)}) that no entry here leads to: entries from before a key change count only together with all later ones up to one that the next key signed`,
  ];
};

const keyIds = (entries: readonly SequenceEntry[]): string =>
  [...new Set(entries.map(({ keyId }) => keyId))].slice(0, 5).join(", ");

/** Whose key signed: the given one, one that entries lead to from it, or only the file's own. */
export type SignerShown = {
  readonly how: "given" | "led to" | "itself";
  /** Why it cannot be shown to be the deployment's, if a key was given. */
  readonly notShown: readonly string[];
};

/**
 * @param given the deployment's key as the caller knows it; undefined: not checked
 * @param own the file's key
 * @returns undefined for a key that the entries do not name: it is not the given one
 */
export const signerShown = (
  { entries, notShown, keys, why }: KeptEntries,
  given: string | undefined,
  own: string,
): SignerShown | undefined => {
  if (given === undefined) return { how: "itself", notShown: [] };
  if (own === given) return { how: "given", notShown: [] };
  // Valid entries also name earlier keys, which their hashes lead back to.
  const names = ({ kind, body }: SequenceEntry) => kind === "key" && body.publicKey === own;
  if (keys.includes(own) || entries.some(names)) return { how: "led to", notShown: [] };
  return why.length > 0 && notShown.some(names) ? { how: "itself", notShown: why } : undefined;
};

/** Revocation of a key (base64) by these entries. */
export const revocationOf = ({ revoked }: KeptEntries, publicKey: string) =>
  revoked.find(({ keyId }) => keyId === keyIdOf(publicKey));
