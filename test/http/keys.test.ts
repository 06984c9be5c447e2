import { expect, test } from "vitest";
import {
  CACHE_MS,
  createKey,
  findKey,
  listKeys,
  revokeKey,
  verifyKey,
} from "../../src/http/keys.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";

test("a key grants access to its own interface only", async () => {
  await using database = await freshDatabase();
  const graphql = await createKey(database.db, { kind: "graphql", label: "dashboard" });
  const project = await createKey(database.db, { kind: "project", subject: "acme" });

  expect(graphql.secret).toMatch(/^hb_graphql_[\w-]{43}$/);
  const opened = await verifyKey(database.db, "graphql", graphql.secret);
  expect(opened).toEqual({
    id: graphql.id,
    kind: "graphql",
    subject: null,
    label: "dashboard",
    requireBound: false,
    seesLabels: false,
  });
  expect(await verifyKey(database.db, "project", graphql.secret)).toBeNull();
  expect(await findKey(database.db, project.secret)).toMatchObject({ subject: "acme" });
  for (const wrong of [
    "",
    "hb_graphql_",
    graphql.id,
    `${graphql.secret}x`,
    "x".repeat(1_000_000),
  ]) {
    expect(await verifyKey(database.db, "graphql", wrong)).toBeNull();
  }
});

test("the database holds no secret", async () => {
  await using database = await freshDatabase();
  const { secret } = await createKey(database.db, { kind: "graphql" });
  const [row] = await database.sql<{ text: string }[]>`select k::text as text from api_keys k`;
  const random = secret.slice("hb_graphql_".length);
  const stored = row?.text ?? "";
  expect(stored).toContain("key_");
  expect(stored).not.toContain(random);
  expect(stored).not.toContain(Buffer.from(random).toString("hex"));
  expect(stored).not.toContain(Buffer.from(random, "base64url").toString("hex"));
});

test("a revoked key is refused within seconds, stays listed, and is revoked once", async () => {
  await using database = await freshDatabase();
  const { id, secret } = await createKey(database.db, { kind: "graphql" });
  expect(await verifyKey(database.db, "graphql", secret)).not.toBeNull();

  expect(await revokeKey(database.db, id)).toBe(true);
  expect(await revokeKey(database.db, id)).toBe(false);
  expect(await revokeKey(database.db, "key_unknown")).toBe(false);
  await until(
    "the key to be refused",
    () => verifyKey(database.db, "graphql", secret),
    (key) => key === null,
    CACHE_MS + 2_000,
  );
  const [listed] = await listKeys(database.db);
  expect(listed).toMatchObject({ id, kind: "graphql", subject: null });
  const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
  expect(listed?.createdAt).toMatch(iso);
  expect(listed?.revokedAt).toMatch(iso);
});

test("a project key without a project is refused by the database", async () => {
  await using database = await freshDatabase();
  await expect(createKey(database.db, { kind: "project" })).rejects.toMatchObject({
    code: "23514",
  });
});
