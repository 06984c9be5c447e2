/** Columns and index of every lane table. */
import { sql } from "drizzle-orm";
import { type AnyPgColumn, index, smallint, uuid } from "drizzle-orm/pg-core";
import { at, int8 } from "../database/column-types.ts";

/** A lane table also has two text columns that name a lane, unique together. */
export const laneColumns = () => ({
  /** The lane's number in queues; reveals nothing about its content. */
  id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
  /** Rises with every arrival. A worker leaves a lane as empty only if it is unchanged. */
  arrivals: int8("arrivals").notNull().default(sql`1`),
  /** Earliest time of its next work. */
  dueAt: at("due_at").notNull().defaultNow(),
  /** Next check: work is due, or a wake-up or worker is overdue; null while it rests. */
  wakeAt: at("wake_at").defaultNow(),
  /** New with every claim: fences off the former worker's writes. */
  token: uuid("token").notNull().defaultRandom(),
  /** 0 to 3, changes with every wake-up: a stuck wake-up does not swallow the next. */
  wake: smallint("wake").notNull().default(0),
  /** End of the worker's lease; null when free. */
  leasedUntil: at("leased_until"),
});

/** Index of due lanes; `name` is the table's. */
export const wakeIndex = (name: string, { wakeAt }: { readonly wakeAt: AnyPgColumn }) =>
  index(`${name}_wake`).on(wakeAt).where(sql`wake_at is not null`);
