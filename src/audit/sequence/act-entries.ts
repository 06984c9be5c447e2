/**
 * Entries of the sequence about operators' acts: body `{ act, sha256 }`, its number and the SHA-256 of its line. Whoever
 * keeps one can tell whether a line that is shown of the act was changed; salted, the hash tells nothing of it.
 */
import type { Sql } from "../../database/connect.ts";
import { actHash, actsAfter } from "./acts.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { appendEntry, lockSequence } from "./sequence.ts";

const PUBLISHED = `
  coalesce((select (body::jsonb ->> 'act')::int8 from log_sequence
            where kind = 'act' and body::jsonb ->> 'act' ~ '^[0-9]{1,18}$' order by number desc limit 1), 0)`;

/** Number of the last act that was published; 0 before the first. */
const lastPublished = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql.unsafe<{ published: bigint }[]>(`select ${PUBLISHED} as published`);
  return row?.published ?? 0n;
};

/** More than anybody types in the life of a deployment. */
const MOST_ACTS = 1_000_000;

/** How many acts have no entry. */
export const unpublishedActs = async (sql: Sql): Promise<number> => {
  const [row] = await sql.unsafe<{ count: number }[]>(
    `select count(*)::int4 as count from operator_acts where number > ${PUBLISHED}`,
  );
  return row?.count ?? 0;
};

/**
 * Publishes acts that have no entry, in their order; returns whether some are left.
 * @param sql of a transaction
 * @param most so many at once: nobody else appends to the sequence meanwhile
 * @throws SequenceLostError (stop), SequenceKeyError (stop)
 */
export const publishActs = async (
  sql: Sql,
  key: DeploymentKey,
  most = MOST_ACTS,
): Promise<boolean> => {
  if ((await unpublishedActs(sql)) === 0) return false;
  // Two at once would both have found them unpublished.
  await lockSequence(sql);
  const acts = await actsAfter(sql, await lastPublished(sql), most);
  for (const act of acts) {
    await appendEntry(sql, key, "act", { act: act.number, sha256: actHash(act) });
  }
  return acts.length === most;
};
