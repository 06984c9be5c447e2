import type { Db } from "../../database/connect.ts";
import type { Caller } from "./authenticate.ts";

/**
 * The keys (`api_keys.id`) whose requests are a caller's own: his, and those that were revoked and
 * handed over to it, or to one that was. What a key asked for that nobody took over is nobody's here.
 */
export const ownKeys = async (
  { sql }: Pick<Db, "sql">,
  { id }: Pick<Caller, "id">,
): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    with recursive own as (
      select id from api_keys where id = ${id}
      union
      select former.id from own join api_keys former on former.handed_to = own.id
    )
    select id from own`;
  return rows.map((row) => row.id);
};
