/** Checks a statement against kept entries of the deployment's sequence. */
import { correctedBeside, correctionText, isAbout } from "../../../client/root-corrections.ts";
import { SequenceError } from "../../../client/verify-sequence.ts";
import {
  entryOf,
  isRootOf,
  type Statement,
  StatementError,
  verifyStatement,
} from "../../../client/verify-statement.ts";
import { entryHash } from "../../audit/sequence/sequence.ts";
import {
  type KeptEntries,
  passedOver,
  readEntries,
  revocationOf,
  type SignerShown,
  signerShown,
  verifyEntries,
} from "../../audit/verify/kept-entries.ts";

/** The entries' evidence about the statement's root and signer. */
export type StatementEntries = {
  /** Empty if they prove nothing about the root. */
  readonly shown: readonly string[];
  readonly notShown: readonly string[];
  readonly signer: SignerShown["how"];
};

/**
 * @param statement verified, except for the ownership of its key
 * @param paths files with entries
 * @param given the deployment's key, base64, if known: the statement's, or one that entries lead
 * from
 * @throws StatementError (stop) if entries are invalid, name another root, or revoke the
 * statement's key
 * @throws KeptHeadsError (stop) for a file with something else
 */
export const compareWithKept = async (
  statement: Statement,
  paths: readonly string[],
  given?: string,
): Promise<StatementEntries> => {
  try {
    const kept = await readEntries(paths, given ?? statement.publicKey);
    const signer = signerShown(kept, given, statement.publicKey);
    if (signer === undefined) verifyStatement(statement, { publicKey: given });
    verifyStatement(statement, { entries: kept.entries });
    const links = await linksTo(kept, statement);
    const shown = [...rootsIn(kept, statement), ...links];
    const { version, coinType, checkpoint } = statement;
    const none = `no entry that was kept names a root of version ${version} of ${coinType} at checkpoint ${checkpoint}${version === 1 ? "" : `, or the hash of entry ${statement.entry.number}`}`;
    return {
      shown,
      notShown: [
        // A lost or revoked key may explain both.
        ...new Set([
          ...(signer?.notShown ?? []),
          ...revokedOf(kept, statement, links),
          ...correctedBeside(statement, kept.corrections),
          ...(shown.length > 0 ? [] : [none, ...passedOver(kept)]),
        ]),
      ],
      signer: signer?.how ?? "itself",
    };
  } catch (error) {
    if (!(error instanceof SequenceError)) throw error;
    throw new StatementError([`of the entries that were kept, ${error.message}`]);
  }
};

/** The unproven part of a statement signed by a revoked key; entries may still prove its root. */
const revokedOf = (
  kept: KeptEntries,
  statement: Statement,
  links: readonly string[],
): readonly string[] => {
  const revoked = revocationOf(kept, statement.publicKey);
  if (revoked === undefined) return [];
  const { keyId, from, entry } = revoked;
  const says = `entry ${entry}, which was kept, revokes the key ${keyId} from entry ${from} on`;
  if (statement.version === 1) {
    return [`that it was signed before: ${says}, and a statement of version 1 names no entry`];
  }
  const { number } = statement.entry;
  const isKept = kept.entries.some((one) => one.number === number);
  if (BigInt(number) < BigInt(from) || isKept || links.length > 0) return [];
  throw new StatementError([`${says}; it is signed with that key, and names entry ${number}`]);
};

/** Entries from before a correction name the former root, or the same one again. */
const rootsIn = (
  { entries, corrections }: KeptEntries,
  statement: Statement,
): readonly string[] => {
  const { version, root, total } = statement;
  const own = corrections.filter(isAbout(statement)).filter((one) => one.version === `${version}`);
  return [
    ...own.map(correctionText),
    ...entries
      .filter(isRootOf(statement))
      .filter(({ body }) => body.root === root && body.total === total)
      .map(
        ({ number, at }) =>
          `entry ${number}, which was kept, names the same root; it is dated ${at}`,
      ),
  ];
};

/** The statement's entry must link to its neighbours; its successor proves it. */
const linksTo = async (
  { entries }: KeptEntries,
  statement: Statement,
): Promise<readonly string[]> => {
  if (statement.version === 1) return [];
  const own = entryOf(statement);
  const number = BigInt(own.number);
  const at = (place: bigint) => entries.filter((entry) => BigInt(entry.number) === place);
  const behind = at(number + 1n);
  const [same] = at(number);
  if (same !== undefined && entryHash(same) !== entryHash(own)) {
    throw new SequenceError(`entry ${number} is another one than the statement names`);
  }
  await verifyEntries([...at(number - 1n), own, ...behind], statement.publicKey);
  return behind.map(
    (entry) =>
      `entry ${entry.number}, which was kept, has the hash of entry ${number}, which names the root`,
  );
};
