/** What every table of lanes has. */
import { sql } from "drizzle-orm";
import { type AnyPgColumn, index, smallint, uuid } from "drizzle-orm/pg-core";
import { at, int8 } from "../database/column-types.ts";

/** Columns of a table of lanes; beside them it has two columns of text that name a lane, unique together. */
export const laneColumns = () => ({
  /** What queues name; tells nothing about the lane's content. */
  id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
  /** Rises with every arrival. A lane is left as empty only at the value that the worker saw. */
  arrivals: int8("arrivals").notNull().default(sql`1`),
  /** When its first work may be tried. */
  dueAt: at("due_at").notNull().defaultNow(),
  /** When it is looked at next: due, or its wake-up or its worker is overdue; null while it rests without work. */
  wakeAt: at("wake_at").defaultNow(),
  /** Another one with every claim: what a former worker still writes is refused. */
  token: uuid("token").notNull().defaultRandom(),
  /** 0 to 3, another one with every wake-up: one that is stuck does not swallow the next. */
  wake: smallint("wake").notNull().default(0),
  /** Until then a worker has the lane; null: none has. */
  leasedUntil: at("leased_until"),
});

/** The index that finds due lanes; `name` is that of the table. */
export const wakeIndex = (name: string, { wakeAt }: { readonly wakeAt: AnyPgColumn }) =>
  index(`${name}_wake`).on(wakeAt).where(sql`wake_at is not null`);
