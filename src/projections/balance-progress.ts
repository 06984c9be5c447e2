/**
 * The two pipelines behind balances. While `timelock_objects` trails `shared_token_objects` by more
 * than 1000 checkpoints, balances omit grants: one claimed in between would count twice.
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

/** Next checkpoint of a pipeline; 0 before its first run. */
const next = (watermark: string): string =>
  `coalesce((select max(next_checkpoint) from ${watermark}), 0)`;

/**
 * SQL: true when grants count. An expression, so that both watermarks and the rows share a
 * snapshot; a subquery, so that Postgres evaluates it once and skips the branch it rules out.
 */
export const GRANTS_INCLUDED = `(select ${next(grants)} + ${GRANT_LAG_LIMIT} >= ${next(tokens)})`;

/** SQL: true unless an upgrade's token table is still being filled. */
export const TOKENS_FILLED = `coalesce((select layout from ${tokens}), ${LAYOUT_WITH_PAST}) >= ${LAYOUT_WITH_PAST}`;

/** First position not committed by both balance pipelines, and whether both have their history. */
export const CHANGES_COMMITTED = `
  select least(${next(tokens)}, ${next(grants)}) * 1000000000 as ending,
         coalesce((select min(layout) from (
           select layout from ${tokens} union all select layout from ${grants}
         ) of_both), ${LAYOUT_WITH_PAST}) >= ${LAYOUT_WITH_PAST} as filled,
         (select held from ${tokens}) as tokens_held, (select held from ${grants}) as grants_held`;

/**
 * SQL beside `progress`, a row of `CHANGES_COMMITTED`: the first position of a coin that is not served, because one of
 * the pipelines has not committed it, or holds the coin.
 */
export const changesEnding = (coinType: string): string => `
  least(progress.ending, 1000000000 * least((progress.tokens_held -> ${coinType} ->> 'from')::int8,
                                            (progress.grants_held -> ${coinType} ->> 'from')::int8))`;

/**
 * The grant index trails too far: a list could hold grants that are gone. Retry when
 * `timelock_objects` has caught up.
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
