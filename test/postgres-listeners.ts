/** Listeners of a database, and what they are told. */
import { setTimeout as wait } from "node:timers/promises";
import { ASKED_CHANNEL } from "../src/log/between.ts";
import type { TestDatabase } from "./postgres.ts";

/** Waits until a connection listens for questions. */
export const listening = async ({ sql }: TestDatabase, withinMs = 10_000): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const [row] = await sql<{ listeners: bigint }[]>`
      select count(*) as listeners from pg_stat_activity
      where datname = current_database() and query ilike ${`listen "${ASKED_CHANNEL}"%`}`;
    if ((row?.listeners ?? 0n) > 0n) return;
    if (performance.now() > deadline) throw new Error("nothing listens for questions");
    await wait(10);
  }
};

/** Sends a question as it stands. */
export const notify = ({ sql }: TestDatabase, payload: string): Promise<unknown> =>
  sql`select pg_notify(${ASKED_CHANNEL}, ${payload})`;
