/** The deployment's keys, with their revocations and losses from the sequence. */
import type { Sql } from "../../database/connect.ts";
import { type PublicDeploymentKey, publicDeploymentKeys } from "./deployment-key.ts";
import { entriesAt, type SequenceEntry, textIn } from "./sequence.ts";

export type ListedKey = PublicDeploymentKey & {
  /** Its signatures in entries from `from` on are not trusted; null unless revoked. */
  readonly revoked: {
    /** Number of the revoking entry, decimal. */
    readonly entry: string;
    readonly from: string;
    readonly why: string;
    /** ISO 8601. */
    readonly at: string;
  } | null;
  /** The entry that declares it lost, signed by its successor; null if none. */
  readonly lost: { readonly entry: string; readonly at: string } | null;
};

type KeyHistory = {
  /** Newest first. */
  readonly keys: readonly ListedKey[];
  /** Entries that name or revoke a key, ascending; not verified. */
  readonly entries: readonly SequenceEntry[];
};

/** The revocation from the lowest entry wins. */
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

/** Assumptions that a lost or revoked key leaves, in words. */
export const keysOnFaith = async (sql: Sql): Promise<readonly string[]> => {
  const { keys, entries } = await keyHistory({ sql });
  const faith: string[] = [];
  for (const { number, body } of entries) {
    if (textIn(body, "lost") === "") continue;
    faith.push(
      `that ${textIn(body, "keyId")} is the deployment's key: entry ${number}, which that key alone signed, says that ${textIn(body, "lost")}, the one before, was lost`,
    );
  }
  for (const { keyId, revoked } of keys) {
    if (revoked === null) continue;
    const [left] = await sql<{ last: bigint | null }[]>`
      select max(number) as last from log_sequence
      where key_id = ${keyId} and number >= ${revoked.from}`;
    if (left === undefined || left.last === null) continue;
    faith.push(
      `that entries ${revoked.from} to ${left.last} of the sequence are the deployment's, as far as ${keyId} signed them: entry ${revoked.entry} revokes that key from there on; only later keys, which signed their hashes, vouch for them`,
    );
  }
  return faith;
};
