/** Entries of the deployment's sequence in files that somebody kept, verified by themselves: no database is needed. */
import {
  type SequenceEntry,
  SequenceError,
  type VerifiedSequence,
  verifySequence,
} from "../../client/verify-sequence.mjs";
import { isSigned } from "./is-signed.ts";
import { entryForm, KeptHeadsError, keptValues } from "./kept.ts";
import { entryHash } from "./sequence.ts";

/** Those that hold, the lowest number first; and those that show nothing, because a key that is not known signed them. */
export type KeptEntries = Pick<VerifiedSequence, "entries" | "notShown">;

/**
 * Reads and verifies them: signatures, the hash of the entry before, key changes, times, and that no two say different
 * things of the same.
 * @param publicKey a key of the deployment, base64
 * @throws SequenceError (stop) when something of it does not hold
 * @throws KeptHeadsError (stop) for a file that has something else
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
        throw new KeptHeadsError(path, `number ${at + 1} is no entry of the sequence`);
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

/** Verifies entries as a file would have them, the lowest number first. @throws SequenceError (stop) */
export const verifyEntries = (
  entries: readonly unknown[],
  publicKey: string,
): Promise<KeptEntries> =>
  verifySequence(entries, { publicKey, otherKeys: "passed over", isSigned });

/** What is said of those that show nothing. */
export const passedOver = ({ notShown }: KeptEntries): readonly string[] => {
  const [first] = notShown;
  if (first === undefined) return [];
  const which =
    notShown.length === 1
      ? `entry ${first.number} is`
      : `${notShown.length} entries, the first number ${first.number}, are`;
  return [
    `${which} signed with a key (${keyIds(notShown)}) that no entry here leads to: of before a key change, entries show something together with all behind them up to one that the next key signed`,
  ];
};

const keyIds = (entries: readonly SequenceEntry[]): string =>
  [...new Set(entries.map(({ keyId }) => keyId))].slice(0, 5).join(", ");
