/**
 * Coins whose newest proof of completeness names a missing change. They are served like coins in
 * quarantine: every guarded statement sees them as held by `COMPLETENESS`, from the first checkpoint
 * that may lack the change.
 */
import { pgTable, text } from "drizzle-orm/pg-core";
import { at, identifier, int8 } from "../database/column-types.ts";

/**
 * One row per incomplete coin. A trigger of `completeness` keeps it (drizzle/0028_incomplete.sql):
 * each proof replaces what is noted of the coins that it covers.
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
