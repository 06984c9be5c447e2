/**
 * The two pipelines that balances come from. Declared together because a balance depends on how far apart they
 * are: while `timelock_objects` is more than 1000 checkpoints behind `shared_token_objects`, grants are left
 * out. A grant claimed in between would count twice, once as a grant and once as the tokens it became.
 */
import { getTableName } from "drizzle-orm";
import type { Remedy } from "../waiting/remedy.ts";
import { LAYOUT_WITH_PAST, progressTables } from "./progress-tables.ts";

export const tokenProgress = progressTables("shared_token_objects");
export const { watermark: sharedTokenObjectsWatermark, digests: sharedTokenObjectsDigests } =
  tokenProgress;

export const grantProgress = progressTables("timelock_objects");
export const { watermark: timelockObjectsWatermark, digests: timelockObjectsDigests } =
  grantProgress;

const tokens = getTableName(sharedTokenObjectsWatermark);
const grants = getTableName(timelockObjectsWatermark);

/** Checkpoints the grant index may trail by. */
const GRANT_LAG_LIMIT = 1000n;

/** Next checkpoint of a pipeline; 0 for one that has never run. */
const next = (watermark: string): string =>
  `coalesce((select max(next_checkpoint) from ${watermark}), 0)`;

/**
 * SQL, true when grants are to be counted. An expression, so that a read takes both watermarks and its rows in
 * one snapshot; a subquery, so that Postgres evaluates it once and, when it decides a query, does not even start.
 */
export const GRANTS_INCLUDED = `(select ${next(grants)} + ${GRANT_LAG_LIMIT} >= ${next(tokens)})`;

/** SQL, true unless the table of tokens is still being filled after an upgrade. */
export const TOKENS_FILLED = `coalesce((select layout from ${tokens}), ${LAYOUT_WITH_PAST}) >= ${LAYOUT_WITH_PAST}`;

/** The first position that the balance pipelines have not both committed, and whether both have a past at all. */
export const CHANGES_COMMITTED = `
  select least(${next(tokens)}, ${next(grants)}) * 1000000000 as ending,
         coalesce((select min(layout) from (
           select layout from ${tokens} union all select layout from ${grants}
         ) of_both), ${LAYOUT_WITH_PAST}) >= ${LAYOUT_WITH_PAST} as filled`;

/**
 * The grant index is too far behind to list grants: the list could hold some that are gone. Ask again
 * when `timelock_objects` has caught up.
 */
export class GrantIndexBehindError extends Error {
  override readonly name = "GrantIndexBehindError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      `the grant index (${grantProgress.name}) is more than ${GRANT_LAG_LIMIT} checkpoints behind the token index (${tokenProgress.name})`,
    );
  }
}
