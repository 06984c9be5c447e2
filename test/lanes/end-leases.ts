import type { Database } from "../../src/database/connect.ts";
import type { Lanes } from "../../src/lanes/lanes.ts";

/** As if the leases of all lanes of these kinds had run out: what a killed process had is due at once. */
export const endLeases = async (
  { sql }: Pick<Database, "sql">,
  ...kinds: readonly Lanes[]
): Promise<void> => {
  for (const { table } of kinds) {
    await sql`
      update ${sql(table)} set leased_until = now(), wake_at = now() where leased_until is not null`;
  }
};
