/** What DATABASE_URL may be: one host or several. */
import { expect, test } from "vitest";
import { readConfig } from "../../src/settings/read-config.ts";
import { parsePostgresUrl, postgresUrl } from "../../src/values/postgres-hosts.ts";

test("several hosts are read one by one, with user, database and all but the kind of host", () => {
  const { hosts, asksForPrimary } = postgresUrl(
    "postgres://user:p%40ss@one:5432,two.example:6432,three/book?sslmode=require&target_session_attrs=read-write",
  );
  expect(asksForPrimary).toBe(true);
  expect(hosts).toEqual([
    { name: "one:5432", url: "postgres://user:p%40ss@one:5432/book?sslmode=require" },
    {
      name: "two.example:6432",
      url: "postgres://user:p%40ss@two.example:6432/book?sslmode=require",
    },
    { name: "three:5432", url: "postgres://user:p%40ss@three/book?sslmode=require" },
  ]);
  expect(postgresUrl("postgresql://one/book").asksForPrimary).toBe(false);
  expect(postgresUrl("postgres://one/book?target_session_attrs=primary").asksForPrimary).toBe(true);
});

const WRONG: Readonly<Record<string, RegExp>> = {
  "mysql://secret@one/book":
    /must be a URL such as postgres:.*several hosts are separated by commas/,
  "postgres://secret@one:5432,two:x/book": /must be a URL such as postgres:/,
  "postgres://secret@one,,two/book": /lists an empty host/,
  "postgres://secret@one:5432,one/book": /lists a host twice/,
  "postgres://secret@one,two/book?target_session_attrs=standby":
    /has another target_session_attrs than read-write, but the service writes/,
};

test.each(Object.entries(WRONG))(
  "%s is refused with what is wrong, without the URL",
  (url, why) => {
    for (const name of ["DATABASE_URL", "DATABASE_OWNER_URL"]) {
      const read = () => readConfig({ DATABASE_URL: "postgres://one/book", [name]: url });
      expect(read).toThrow(new RegExp(`^${name}: ${why.source}`));
      expect(read).not.toThrow(/secret/);
    }
    expect("fault" in parsePostgresUrl(url)).toBe(true);
  },
);
