/** Connection of the tables' owner, used to migrate and then closed. */
import { postgresUrl } from "../values/postgres-hosts.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { connect, type Database } from "./connect.ts";
import { isUnreachable } from "./database-error.ts";
import { loginRole } from "./service-role.ts";

/** DATABASE_OWNER_URL names another database than DATABASE_URL. Stop; name the same one. */
export class OtherDatabaseError extends Error {
  override readonly name = "OtherDatabaseError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("DATABASE_OWNER_URL leads to another database than DATABASE_URL: name the same one");
  }
}

export const ownerSettings = (url: string) => ({ url, applicationName: "holderbook-owner" });

/**
 * The service's role on the owner's database; created if missing and the owner may.
 * @throws OtherDatabaseError (stop)
 */
export const serviceRoleAt = async (url: string, owner: Database): Promise<string> => {
  await using service = connect({ url, max: 1, applicationName: "holderbook" });
  const ask = async ({ sql }: Database) => {
    const [row] = await sql<{ role: string; place: string }[]>`
      select current_user as role, concat_ws(' ', pg_postmaster_start_time(), oid) as place
      from pg_database where datname = current_database()`;
    return row;
  };
  const own = await ask(owner);
  const asked = await ask(service).catch(async (error: unknown) => {
    if (!isUnreachable(error) || !(await makeMissing(url, owner))) throw error;
    return ask(service);
  });
  if (asked === undefined || asked.place !== own?.place) throw new OtherDatabaseError();
  return asked.role;
};

/** Whether a role was created. */
const makeMissing = async (url: string, { sql }: Database): Promise<boolean> => {
  const { username, password } = new URL(postgresUrl(url).hosts[0].url);
  const name = decodeURIComponent(username);
  const [missing] = await sql`
    select from pg_roles
    where rolname = current_user and (rolsuper or rolcreaterole)
      and not exists (select from pg_roles where rolname = ${name})`;
  if (missing === undefined || name === "" || password === "") return false;
  await sql.unsafe(loginRole("create", name, decodeURIComponent(password)));
  return true;
};
