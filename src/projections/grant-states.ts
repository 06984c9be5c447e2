/** How the grants of a coin stood after each checkpoint that wrote or ended one of them. */
import type { Sql } from "../database/connect.ts";
import { GRANT_COLUMNS, type GrantRow, grantOf, type TokenTimelock } from "./timelock-objects.ts";

/** A grant after a checkpoint. */
export type GrantState = {
  readonly checkpoint: bigint;
  /** As the checkpoint left it; where it has ended, as it was before. */
  readonly grant: TokenTimelock;
  /** True where the checkpoint replaced or ended the state: a state of the same checkpoint comes behind. */
  readonly isOver: boolean;
};

const states = (table: string, at: string, isOver: boolean): string => `
  select ${at} as at, ${isOver} as "isOver", ${GRANT_COLUMNS}
  from ${table} where coin_type = $1 and ${at} <= $2`;

const STATES = `
  ${states("timelock_objects", "checkpoint", false)}
  union all ${states("timelock_ranges", "checkpoint", false)}
  union all ${states("timelock_ranges", "until", true)}
  order by at, "objectId", "isOver" desc`;

/** Rows that are fetched at once. */
const AT_ONCE = 1_000;

/**
 * States of a coin's grants up to a checkpoint, by checkpoint, then by object. The order has no index:
 * Postgres sorts once, and hands the rows over in pieces.
 */
export async function* grantStates(
  sql: Sql,
  { coinType, upTo }: { readonly coinType: string; readonly upTo: bigint },
): AsyncGenerator<GrantState> {
  const pieces = sql
    .unsafe<(GrantRow & { readonly at: bigint; readonly isOver: boolean })[]>(STATES, [
      coinType,
      upTo,
    ])
    .cursor(AT_ONCE);
  for await (const rows of pieces) {
    for (const { at, isOver, ...row } of rows) {
      yield { checkpoint: at, isOver, grant: grantOf(row) };
    }
  }
}
