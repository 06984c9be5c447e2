import { sql } from "drizzle-orm";
import { check, index, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import { at, int8 } from "../database/column-types.ts";

/** What operators paused, and when it was resumed; rows are kept. */
export const pauses = pgTable(
  "pauses",
  {
    id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
    kind: text("kind").notNull(),
    /** A pipeline's or asset's name, or a callback endpoint's key. */
    name: text("name").notNull(),
    /** The operator's words; never published. */
    reason: text("reason"),
    at: at("at").notNull().default(sql`clock_timestamp()`),
    by: text("by").notNull(),
    /** Null while it is paused. */
    endedAt: at("ended_at"),
    endedBy: text("ended_by"),
  },
  (t) => [
    check("pauses_kind", sql`${t.kind} in ('pipeline', 'asset', 'receiver')`),
    uniqueIndex("pauses_active").on(t.kind, t.name).where(sql`ended_at is null`),
    index("pauses_ended").on(t.endedAt).where(sql`ended_at is not null`),
  ],
);
