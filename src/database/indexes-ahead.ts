/**
 * Indexes of pending migrations, built before their transaction while other processes go on writing. The migration's
 * own statement (`CREATE INDEX IF NOT EXISTS`) then finds them. Unique ones are for keys:
 * `ADD CONSTRAINT … PRIMARY KEY USING INDEX` takes a lock, but no time.
 */
import postgres from "postgres";
import type { Database } from "./connect.ts";
import { acquireWriterLock } from "./writer-lock.ts";

const MADE = /^create (?:unique )?index if not exists "(\w+)"/im;

/** `undefined_column`, `undefined_table`: another pending migration adds them. */
const isLater = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && /^(42703|42P01)$/.test(error.code);

/**
 * Takes turns with other processes; waits for older transactions without holding anyone up.
 * @param statements of pending migrations; others than these are left alone
 */
export const buildAhead = async (
  database: Database,
  statements: readonly string[],
): Promise<void> => {
  const wanted = statements.filter((statement) => MADE.test(statement));
  if (wanted.length === 0) return;
  const { signal } = new AbortController();
  await using lock = await acquireWriterLock(database, "indexes of a migration", { signal });
  const { sql } = lock.session;
  for (const statement of wanted) {
    const name = MADE.exec(statement)?.[1] ?? "";
    const [found] = await sql<{ whole: boolean }[]>`
      select indisvalid as whole from pg_index where indexrelid = to_regclass(${`public.${name}`})`;
    if (found?.whole) continue;
    // Of a build that was interrupted.
    if (found !== undefined) await sql`drop index concurrently public.${sql(name)}`;
    const concurrently = statement.replace(/create (?:unique )?index/i, "$& concurrently");
    await sql.unsafe(concurrently).catch((error: unknown) => {
      if (!isLater(error)) throw error;
    });
  }
};
