/** Makes what readers said of their chains older, by an interval of Postgres, as if nobody had read since. */
import type { TestDatabase } from "../postgres.ts";

export const ageNotes = async ({ sql }: Pick<TestDatabase, "sql">, by: string): Promise<void> => {
  await sql`update evm_chain_notes set written_at = written_at - ${by}::interval`;
};
