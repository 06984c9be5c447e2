/** Finds transactions by their digests in the tables that have them. */
import { type Reads, read } from "../database/readers.ts";
import { WITHOUT_EVENT } from "./balance-changes.ts";

/** A transaction that the register knows; `position` is that of one of its rows. */
export type FoundTransaction = {
  readonly txDigest: string;
  readonly position: bigint;
  /** Time of the checkpoint, Unix milliseconds. */
  readonly timestampMs: bigint;
};

const inTable = (table: string, condition: string): string => `
  (select tx_digest as "txDigest", position, timestamp_ms as "timestampMs" from ${table}
   where tx_digest >= $1 and tx_digest < $2 ${condition}
   order by ${table}.tx_digest limit (select $3::int8))`;

const FOUND = `
  select distinct on ("txDigest") * from (
    ${inTable("token_activity", "")}
    union all ${inTable("token_changes", `and ${WITHOUT_EVENT}`)}
    union all ${inTable("grant_changes", `and ${WITHOUT_EVENT}`)}
    union all ${inTable("holder_events", "")}
    union all ${inTable("role_events", "")}
  ) as found
  order by "txDigest", position limit (select $3::int8)`;

/**
 * Transactions with a row in any table, by digest; each is a range of five indexes.
 * @param digests from `from` to `before`, excluded, in the order of their bytes
 */
export const transactionsWithin = (
  on: Reads,
  {
    from,
    before,
    limit,
  }: { readonly from: string; readonly before: string; readonly limit: number },
): Promise<FoundTransaction[]> => read<FoundTransaction>(on, FOUND, [from, before, limit]);

/** Sorts before all characters of digests. */
const BEFORE_DIGITS = " ";

/** Null when no table has it. */
export const transactionOf = async (
  on: Reads,
  digest: string,
): Promise<FoundTransaction | null> => {
  const range = { from: digest, before: `${digest}${BEFORE_DIGITS}`, limit: 1 };
  const [found] = await transactionsWithin(on, range);
  return found ?? null;
};
