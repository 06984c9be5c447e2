import type { Sql } from "../session.ts";
import { POSITION_COLUMNS, type ServerPosition } from "./position.ts";

/** Which database a server holds: equal on its replicas. */
export type Identity = { readonly system: string; readonly database: string };

export const IDENTITY_COLUMNS =
  "(select system_identifier::text from pg_control_system()) as system, current_database()::text as database";

const PRIMARY = `select ${POSITION_COLUMNS}, ${IDENTITY_COLUMNS}`;

/** Where the primary is, and which one it is. */
export const askPrimary = async (sql: Sql): Promise<ServerPosition & Identity> => {
  const rows = await sql.unsafe<(ServerPosition & Identity)[]>(PRIMARY, [], { prepare: true });
  const [at] = rows;
  if (at === undefined) throw new Error("the primary did not say where it is");
  return at;
};
