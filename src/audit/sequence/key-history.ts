/** The deployment's keys with what the sequence says of them. */
import type { Sql } from "../../database/connect.ts";
import { type PublicDeploymentKey, publicDeploymentKeys } from "./deployment-key.ts";
import { entriesAt, type SequenceEntry, textIn } from "./sequence.ts";

export type ListedKey = PublicDeploymentKey & {
  /** What it signed in entries numbered `from` and above is not believed; null while it is not revoked. */
  readonly revoked: {
    /** Number of the entry that says so, decimal. */
    readonly entry: string;
    readonly from: string;
    readonly why: string;
    /** ISO 8601. */
    readonly at: string;
  } | null;
  /** The entry that says that it was lost, signed by the key that took its place; null unless one does. */
  readonly lost: { readonly entry: string; readonly at: string } | null;
};

export type KeyHistory = {
  /** The newest first. */
  readonly keys: readonly ListedKey[];
  /** Entries that name a key or revoke one, ascending. Whether they hold is not looked at. */
  readonly entries: readonly SequenceEntry[];
};

/** Of several revocations of a key the one from the lowest entry on counts. */
export const keyHistory = async ({ sql }: { readonly sql: Sql }): Promise<KeyHistory> => {
  const listed = await publicDeploymentKeys({ sql });
  const numbers = await sql<{ number: bigint }[]>`
    select number from log_sequence where kind = 'key' and number > 0
    union all
    select number from log_sequence where kind = 'correction' and body::jsonb ->> 'of' = 'key'
    order by number`;
  const found = await entriesAt(
    { sql },
    numbers.map(({ number }) => number),
  );
  const entries = numbers.flatMap(({ number }) => found.get(number) ?? []);
  const keys = listed.map((key) => {
    const of = (kind: string, member: string) =>
      entries.filter((entry) => entry.kind === kind && textIn(entry.body, member) === key.keyId);
    const [lost] = of("key", "lost");
    const [revoked] = of("correction", "keyId").toSorted((a, b) => fromOf(a) - fromOf(b));
    return {
      ...key,
      revoked: revoked === undefined ? null : revocationIn(revoked),
      lost: lost === undefined ? null : { entry: lost.number, at: lost.at },
    };
  });
  return { keys, entries };
};

const fromOf = ({ body }: SequenceEntry): number => Number(textIn(body, "from"));

const revocationIn = ({ number, body, at }: SequenceEntry): NonNullable<ListedKey["revoked"]> => ({
  entry: number,
  from: textIn(body, "from"),
  why: textIn(body, "why"),
  at,
});

/** What a lost or revoked key leaves to be believed, in words. */
export const keysOnFaith = async (sql: Sql): Promise<readonly string[]> => {
  const { keys, entries } = await keyHistory({ sql });
  const faith: string[] = [];
  for (const { number, body } of entries) {
    if (textIn(body, "lost") === "") continue;
    faith.push(
      `that ${textIn(body, "keyId")} is the deployment's key: entry ${number} says that ${textIn(body, "lost")}, the one before, was lost, which it alone signed`,
    );
  }
  for (const { keyId, revoked } of keys) {
    if (revoked === null) continue;
    const [left] = await sql<{ last: bigint | null }[]>`
      select max(number) as last from log_sequence
      where key_id = ${keyId} and number >= ${revoked.from}`;
    if (left === undefined || left.last === null) continue;
    faith.push(
      `that entries ${revoked.from} to ${left.last} of the sequence are the deployment's, as far as ${keyId} signed them: entry ${revoked.entry} revokes that key from there on, and what speaks for them is that later keys signed their hashes`,
    );
  }
  return faith;
};
