import { jsonb, pgTable } from "drizzle-orm/pg-core";
import { at, int8 } from "../database/column-types.ts";

/** At most 1,440 rows: older ones are removed as one is written. */
export const statusHistory = pgTable("status_history", {
  /** A whole minute, by the database's clock. */
  at: at("at").primaryKey(),
  /** Next checkpoint of the log; null before the first. */
  next: int8("next"),
  /** Age of each pipeline's last checkpoint, seconds, by the pipeline's name. */
  lagSeconds: jsonb("lag_seconds").notNull(),
});
