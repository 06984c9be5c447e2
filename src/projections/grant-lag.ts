/**
 * Whether what the grants hold may be told: while `timelock_objects` is more than 1000 checkpoints
 * behind `shared_token_objects`, a grant claimed in between would count twice, once as a grant and once
 * as the tokens it became.
 *
 * An expression rather than a query, so that a read takes both watermarks and its own rows in one
 * snapshot.
 */
import { getTableName } from "drizzle-orm";
import type { Remedy } from "../waiting/remedy.ts";
import {
  timelockObjectsWatermark as grants,
  sharedTokenObjectsWatermark as tokens,
} from "./watermarks.ts";

/** Checkpoints the grant index may trail by. */
const GRANT_LAG_LIMIT = 1000n;

/** Next checkpoint of a pipeline; 0 for one that has never run. */
const next = (watermark: typeof tokens | typeof grants): string =>
  `coalesce((select max(next_checkpoint) from ${getTableName(watermark)}), 0)`;

/**
 * SQL, true when grants are to be counted. A subquery, so that Postgres evaluates it once and, when it
 * decides a query, does not even start.
 */
export const GRANTS_INCLUDED = `(select ${next(grants)} + ${GRANT_LAG_LIMIT} >= ${next(tokens)})`;

/**
 * The grant index is too far behind to list grants: the list could hold some that are gone. Ask again
 * when `timelock_objects` has caught up.
 */
export class GrantIndexBehindError extends Error {
  override readonly name = "GrantIndexBehindError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      `the grant index (timelock_objects) is more than ${GRANT_LAG_LIMIT} checkpoints behind the token index (shared_token_objects)`,
    );
  }
}
