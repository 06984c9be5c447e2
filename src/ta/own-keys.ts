import type { Db } from "../database/connect.ts";
import type { Caller } from "./authenticate.ts";

/**
 * The keys (`api_keys.id`) whose requests are a caller's own: his, and those of his asset that were
 * revoked. Keys are replaced, and what was asked with a former one must still be found.
 */
export const ownKeys = async (
  { sql }: Pick<Db, "sql">,
  { id, asset }: Pick<Caller, "id" | "asset">,
): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from api_keys
    where id = ${id} or (kind = 'ta' and subject = ${asset.name} and revoked_at is not null)`;
  return rows.map((row) => row.id);
};
