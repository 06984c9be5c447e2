/**
 * Coins whose newest proof of completeness names a missing change, or of which guided reading lacks
 * one. They are served like coins in quarantine: every guarded statement sees them as held by
 * `COMPLETENESS`, from the first checkpoint that may lack the change.
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { at, identifier, int8 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";

type MissingChange = {
  readonly coinType: string;
  readonly objectId: string;
  readonly version: bigint;
  /** First checkpoint that may lack it. */
  readonly from: bigint;
  readonly reason: string;
};

/** Notes coins of which a reader knows that changes are missing, until their next proof of completeness. */
export const noteIncomplete = async (
  sql: Sql,
  missing: readonly MissingChange[],
): Promise<void> => {
  for (const [coinType, ofCoin] of Map.groupBy(missing, (one) => one.coinType)) {
    const [first, ...others] = ofCoin.toSorted((a, b) => Number(a.from - b.from));
    if (first === undefined) continue;
    const more = others.length === 0 ? "" : `; and ${others.length} more`;
    const reason = `object ${first.objectId}, version ${first.version}: ${first.reason.slice(0, LONGEST_REASON)}${more}`;
    await sql`
      insert into public.incomplete_coins (coin_type, from_checkpoint, reason, since)
      values (${coinType}, ${first.from}, ${reason}, now())
      on conflict (coin_type) do nothing`;
  }
};

const LONGEST_REASON = 300;

/**
 * One row per incomplete coin. A trigger of `completeness` keeps it
 * (drizzle/0029_incomplete_later.sql): each proof replaces what is noted of the coins and
 * checkpoints that it covers.
 */
export const incompleteCoins = pgTable("incomplete_coins", {
  coinType: identifier("coin_type").primaryKey(),
  /** First checkpoint whose rows may lack a change. */
  fromCheckpoint: int8("from_checkpoint").notNull(),
  /** Names the object and its missing version. */
  reason: text("reason").notNull(),
  since: at("since").notNull(),
});

/** Stands where a held coin names its pipeline. */
export const COMPLETENESS = "completeness";

/** SQL of the incomplete coins, as a watermark's `held` (held-coins.ts); null when there are none. */
export const INCOMPLETE_HELD = `
  (select json_object_agg(coin_type, json_build_object(
            'from', from_checkpoint::text, 'reason', reason, 'fact', null,
            'since', to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
   from public.incomplete_coins)`;

/** SQL of the last checkpoint through which all coins are proven complete; null when never. */
export const COMPLETE_THROUGH = `
  (select least(through, (select min(from_checkpoint) - 1 from public.incomplete_coins))
   from public.completeness where coin_type is null and incomplete = '[]'::jsonb
   order by id desc limit 1)`;
