/** The service's role: what it may, on every table there is, and what it cannot. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { DatabaseRightsError, lacksOf, waysAround } from "../../src/database/service-role.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";

let roles: TwoRoles;
let owner: Database;
let service: Database;

beforeAll(async () => {
  roles = await twoRoles(inject("postgresUrl"));
  owner = connect({ url: roles.urls.owner, max: 2, applicationName: "owner" });
  service = connect({ url: roles.urls.service, max: 2, applicationName: "service" });
  await migrate(owner, roles.service);
});
afterAll(async () => {
  await service?.close();
  await owner?.close();
  await roles?.[Symbol.asyncDispose]();
});

/** Rights on every table of ours, in the order in which they are told here. */
const rightsOf = async (role: string) => {
  const rows = await owner.sql<{ name: string; append_only: boolean; rights: string }[]>`
    select c.oid::regclass::text as name,
      exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
              where t.tgrelid = c.oid and p.proname = 'log_refuse_change') as append_only,
      (select coalesce(string_agg(right_, ' '), '')
       from unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) as right_
       where has_table_privilege(${role}, c.oid, right_)) as rights
    from pg_class c
    where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1`;
  return rows.map(({ name, append_only: isAppendOnly, rights }) => ({
    name,
    isAppendOnly,
    rights,
  }));
};

const asWanted = (tables: Awaited<ReturnType<typeof rightsOf>>) =>
  tables.map((table) => ({
    ...table,
    rights: rightsWanted(table),
  }));

const rightsWanted = ({ name, isAppendOnly }: Awaited<ReturnType<typeof rightsOf>>[number]) => {
  // The owner's commands alone write it.
  if (name === "log_archived") return "SELECT";
  return isAppendOnly ? "SELECT INSERT" : "SELECT INSERT UPDATE DELETE";
};

test("the service's role reads and appends to append-only tables and writes all others, nothing more", async () => {
  const tables = await rightsOf(roles.service);
  expect(tables.filter(({ isAppendOnly }) => isAppendOnly).length).toBeGreaterThan(13);
  expect(tables).toEqual(asWanted(tables));
  expect(await lacksOf(service.sql)).toEqual([]);
  expect(await waysAround(service.sql)).toEqual([]);
});

test("the service makes partitions of the log with its owner's function, which it then can only append to", async () => {
  await service.sql`select log_partitions('log_facts', 120000000, 120000001)`;
  const tables = await rightsOf(roles.service);
  expect(tables.filter(({ name }) => name.startsWith("log_facts_from_"))).toHaveLength(4);
  expect(tables).toEqual(asWanted(tables));
  expect(await lacksOf(service.sql)).toEqual([]);
  expect(await waysAround(service.sql)).toEqual([]);
});

test("the owner's function makes partitions of the log's tables alone, and not thousands", async () => {
  await service.sql`
    create table holderbook_queue.log_facts (checkpoint int8 not null) partition by range (checkpoint)`;
  try {
    await expect(
      service.sql`select log_partitions('holderbook_queue.log_facts', 0, 1)`,
    ).rejects.toThrow("is not the table of a log");
  } finally {
    await service.sql`drop table holderbook_queue.log_facts`;
  }
  await expect(service.sql`select log_partitions('log_facts', 0, ${2n ** 62n})`).rejects.toThrow(
    "at most 100 partitions at once",
  );
});

/** What a thief of the service's password would try, each in a transaction of its own. */
const ATTACKS: readonly (readonly [what: string, statement: string, refusal: RegExp])[] = [
  ["switch a trigger off", "alter table log_facts disable trigger all", /must be owner/],
  ["drop a trigger", "drop trigger log_facts_append_only on log_facts", /must be owner/],
  ["drop a table", "drop table log_facts", /must be owner/],
  [
    "have facts count as archived",
    "insert into log_archived (event, first_checkpoint, before_checkpoint, facts, hash, root) values ('archived', 0, 1, 0, '', '')",
    /permission denied for table log_archived/,
  ],
  ["add a rule", "create rule r as on insert to log_facts do instead nothing", /must be owner/],
  ["set replication", "set session_replication_role = replica", /permission denied to set/],
  ["truncate", "truncate log_facts", /permission denied for table/],
  ["update", "update log_facts set name = 'x'", /permission denied for table/],
  ["delete", "delete from log_sequence", /permission denied for table/],
  ["lock readers out", "lock table log_chain in access exclusive mode", /permission denied/],
  [
    "add a trigger",
    "create trigger t before insert on log_facts for each row execute function log_refuse_change()",
    /permission denied for table/,
  ],
  [
    "add a foreign key",
    "create table holderbook_folded.t (n int8 references log_chain (checkpoint))",
    /permission denied for table/,
  ],
  [
    "replace the triggers' function",
    `create or replace function log_refuse_change() returns trigger language plpgsql as
       'begin return null; end'`,
    /permission denied for schema public|must be owner/,
  ],
  ["drop that function", "drop function log_refuse_change() cascade", /must be owner/],
  ["shadow a table", "create table public.log (n int)", /permission denied for schema public/],
  [
    "overload a function",
    "create function public.balances_refuse(text) returns text language sql as 'select 1'",
    /permission denied for schema public/,
  ],
  ["make a schema", "create schema elsewhere", /permission denied for database/],
  ["say that it was migrated", "delete from drizzle.__drizzle_migrations", /permission denied/],
  ["write to that schema", "create table drizzle.t (n int)", /permission denied for schema/],
  ["take a table", "alter table log_facts owner to current_user", /must be owner/],
  [
    "become a superuser",
    "alter role current_user superuser",
    /permission denied|must be superuser/,
  ],
  ["make a role", "create role helper", /permission denied to create role/],
  ["read files", "copy log_inputs from '/etc/passwd'", /permission denied/],
  ["run a program", "copy log_facts to program 'true'", /permission denied/],
  [
    "set it for all",
    "alter database postgres set session_replication_role = replica",
    /must be owner|permission/,
  ],
];

test.each(ATTACKS)("the service's role cannot %s", async (_what, statement, refusal) => {
  await expect(service.transaction(({ sql }) => sql.unsafe(statement).execute())).rejects.toThrow(
    refusal,
  );
});

test("the service's role cannot act as the owner", async () => {
  const [{ name } = { name: "" }] = await owner.sql<{ name: string }[]>`
    select quote_ident(current_user) as name`;
  for (const statement of [`set role ${name}`, `set session authorization ${name}`]) {
    await expect(service.transaction(({ sql }) => sql.unsafe(statement).execute())).rejects.toThrow(
      /permission denied/,
    );
  }
});

test("a search path set by the service's role leads none of our connections to its own tables", async () => {
  const [{ role } = { role: "" }] = await service.sql<{ role: string }[]>`
    select quote_ident(current_user) as role`;
  await service.sql`create table holderbook_queue.log_facts (n int)`;
  await service.sql.unsafe(`alter role ${role} set search_path = holderbook_queue, public`);
  try {
    await using later = connect({ url: roles.urls.service, max: 1, applicationName: "later" });
    const [meant] = await later.sql`select relnamespace::regnamespace::text as schema from pg_class
      where oid = 'log_facts'::regclass`;
    expect(meant).toEqual({ schema: "public" });
  } finally {
    await service.sql.unsafe(`alter role ${role} reset search_path`);
    await service.sql`drop table holderbook_queue.log_facts`;
  }
});

test("granting again changes nothing, and repairs grants changed by hand", async () => {
  const { sql } = roles.superuser;
  const rows = () => sql`
    select oid, xmin::text from pg_class where relnamespace in ('public'::regnamespace, 'drizzle'::regnamespace)
    union all select oid, xmin::text from pg_namespace order by 1`;
  const before = [...(await rows())];
  await migrate(owner, roles.service);
  expect([...(await rows())]).toEqual(before);

  const [{ role } = { role: "" }] = await sql<{ role: string }[]>`
    select quote_ident(${roles.service}) as role`;
  await sql.unsafe(`grant all on log_facts, balances to ${role}`);
  await sql.unsafe(`revoke all on api_keys from ${role}`);
  await sql.unsafe("grant create on schema public to public");
  expect(await waysAround(service.sql)).toEqual([
    "may make triggers on log_facts",
    "may change or truncate rows of log_facts but for its trigger",
    "may make functions and tables in the schema public",
  ]);
  expect(await lacksOf(service.sql)).toContain("rights on api_keys");
  await migrate(owner, roles.service);
  const tables = await rightsOf(roles.service);
  expect(tables).toEqual(asWanted(tables));
  expect(await waysAround(service.sql)).toEqual([]);
});

test("the role that owns the tables is recognised", async () => {
  expect(await waysAround(owner.sql)).toContainEqual(
    expect.stringMatching(/^acts as Owner .*, which owns the tables$/),
  );
  expect(await waysAround(roles.superuser.sql)).toEqual(["is a superuser"]);
});

test("a later change of the service's role gives the new role the same rights and removes the old role's run-time objects", async () => {
  const [{ role } = { role: "" }] = await owner.sql<{ role: string }[]>`
    select 'later_' || substr(md5(current_database()), 1, 8) as role`;
  await roles.superuser.sql.unsafe(`create role ${role} login`);
  try {
    await service.sql`create table holderbook_folded.mine (n int)`;
    await migrate(owner, role);
    const tables = await rightsOf(role);
    expect(tables).toEqual(asWanted(tables));
    expect(await owner.sql`select from pg_class where relname = 'mine'`).toHaveLength(0);
  } finally {
    await roles.superuser.sql.unsafe(`drop owned by ${role}`);
    await roles.superuser.sql.unsafe(`drop role ${role}`);
    await migrate(owner, roles.service);
  }
});

test("where migrations are missing, a role that does not own the tables is told their owner and the remedy", async () => {
  const last = await roles.superuser.sql<{ hash: string; created_at: bigint }[]>`
    delete from drizzle.__drizzle_migrations
    where id = (select max(id) from drizzle.__drizzle_migrations) returning hash, created_at`;
  try {
    const refused = migrate(service);
    await expect(refused).rejects.toThrow(DatabaseRightsError);
    await expect(refused).rejects.toThrow(
      /lacks migrations \(\d{4}_\w+\), and its tables belong to the role Owner .*DATABASE_OWNER_URL/,
    );
  } finally {
    for (const { hash, created_at: at } of last) {
      await owner.sql`
        insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${at})`;
    }
  }
  expect(await migrate(service)).toEqual({ applied: 0 });
});

test("missing rights of the service's role are reported before it starts; tables of others do not count", async () => {
  const { sql } = roles.superuser;
  await sql`create table public.of_somebody_else (n int)`;
  expect(await migrate(service)).toEqual({ applied: 0 });
  await owner.sql`drop schema holderbook_folded cascade`;
  try {
    expect(await lacksOf(service.sql)).toEqual(["the schema holderbook_folded"]);
    await expect(migrate(service)).rejects.toThrow(
      /the service's role lacks the schema holderbook_folded; .*DATABASE_OWNER_URL/,
    );
    expect(await lacksOf(owner.sql)).toEqual([]);
  } finally {
    await sql`drop table public.of_somebody_else`;
    await migrate(owner, roles.service);
  }
  expect(await migrate(service)).toEqual({ applied: 0 });
});

test("a disabled trigger is reported", async () => {
  await owner.sql`alter table log_facts disable trigger log_facts_append_only`;
  try {
    expect(await waysAround(service.sql)).toEqual(["finds the trigger of log_facts switched off"]);
  } finally {
    await owner.sql`alter table log_facts enable trigger log_facts_append_only`;
  }
});

test("the service exchanges tables of projections for their owner's twins, and no append-only ones", async () => {
  const ownerOf = async () => {
    const [row] = await owner.sql`
      select pg_get_userbyid(relowner) as name, (select count(*)::int from pg_trigger where tgrelid = c.oid) as triggers
      from pg_class c where oid = 'public.balances'::regclass`;
    return row;
  };
  const before = await ownerOf();
  await service.sql`select replay_make('{balances}'), replay_index('{balances}')`;
  await service.sql`insert into holderbook_replay.balances (coin_type, owner) values ('a', 'b')`;
  await service.sql`select replay_exchange('{balances}')`;
  expect(await ownerOf()).toEqual(before);
  expect(await service.sql`delete from balances returning owner`).toMatchObject([{ owner: "b" }]);
  await service.sql`select replay_drop('holderbook_before', '{balances}')`;
  for (const call of [
    "replay_make('{log_facts}')",
    "replay_make('{no_table}')",
    "replay_make('{api_keys}')",
    "replay_exchange('{callback_messages}')",
    "replay_index('{log_sequence}')",
    "replay_exchange('{operator_acts}')",
    "replay_drop('public', '{balances}')",
    "log_partitions('balances', 0, 1)",
    "log_partitions('log_facts_from_0', 0, 1)",
  ]) {
    await expect(service.sql.unsafe(`select ${call}`), call).rejects.toMatchObject({
      code: "HB002",
    });
  }
  expect(await waysAround(service.sql)).toEqual([]);
});
