/** A statement held against entries of the deployment's sequence that somebody kept. */
import { SequenceError } from "../../client/verify-sequence.mjs";
import {
  entryOf,
  isRootOf,
  type Statement,
  StatementError,
  verifyStatement,
} from "../../client/verify-statement.mjs";
import { type KeptEntries, passedOver, readEntries, verifyEntries } from "./kept-entries.ts";
import { entryHash } from "./sequence.ts";

/** What the entries show of the statement's root; nothing of it: `shown` is empty. */
export type StatementEntries = {
  readonly shown: readonly string[];
  readonly notShown: readonly string[];
};

/**
 * @param statement that was verified
 * @param paths files with entries
 * @throws StatementError (stop) when entries do not hold, or name another root than the statement
 * @throws KeptHeadsError (stop) for a file that has something else
 */
export const heldAgainstKept = async (
  statement: Statement,
  paths: readonly string[],
): Promise<StatementEntries> => {
  try {
    const kept = await readEntries(paths, statement.publicKey);
    verifyStatement(statement, { entries: kept.entries });
    const shown = [...rootsIn(kept, statement), ...(await linksTo(kept, statement))];
    const { version, coinType, checkpoint } = statement;
    const none = `no entry that was kept names a root of version ${version} of ${coinType} at checkpoint ${checkpoint}${version === 1 ? "" : `, or the hash of entry ${statement.entry.number}`}`;
    return { shown, notShown: shown.length > 0 ? [] : [none, ...passedOver(kept)] };
  } catch (error) {
    if (!(error instanceof SequenceError)) throw error;
    throw new StatementError([`of the entries that were kept, ${error.message}`]);
  }
};

const rootsIn = ({ entries }: KeptEntries, statement: Statement): readonly string[] =>
  entries
    .filter(isRootOf(statement))
    .map(
      ({ number, at }) => `entry ${number}, which was kept, names the same root; it is dated ${at}`,
    );

/** The entry that the statement names must fit between those before and behind it; one behind it proves it. */
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
