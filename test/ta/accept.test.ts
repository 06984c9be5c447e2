import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { PiiKeyLostError, ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault, PiiDeletedError, PiiKeyPresentError } from "../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { forgetAnswers, IdempotencyKeyReusedError } from "../../src/ta/requests/replays.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { submission } from "./submissions.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 12 });
});
afterAll(() => database.close());

const key = (id: string) => ({ id, key: randomBytes(32) });
const first = key("first");
const fingerprint = fingerprints(randomBytes(32));

const accepting = (through: Database = database) => {
  const vault = openVault(through, ringOf([first]));
  const accept = createAcceptance({ database: through, vault });
  /** With an Idempotency-Key the signature is bound to it, unless it is of the body alone. */
  const ask = async (
    body: string,
    investorId = "inv-1",
    idempotencyKey: string | undefined = undefined,
    { bodyOnly = idempotencyKey === undefined } = {},
  ) => {
    const answer = await accept({
      asset: "acme",
      kind: "whitelist",
      submission: submission({ id: investorId }),
      fingerprint: fingerprint({
        keyId: "key_1",
        path: "/api/v1/investor/whitelist",
        canonicalBody: Buffer.from(body),
        idempotencyKey,
        bound: bodyOnly ? undefined : Buffer.from(`${idempotencyKey} ${body}`),
      }),
    });
    return JSON.parse(answer.answer) as { requestId: string; status: string };
  };
  return { vault, ask };
};

test("the same body gets the first answer again, also when both arrive together", async () => {
  const { ask } = accepting();
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask("same", "inv-same")));
  expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(1);
  const [{ count } = { count: 0 }] = await database.sql<{ count: number }[]>`
    select count(*)::int4 as count from ta_requests where investor_id = 'inv-same'`;
  expect(count).toBe(1);
});

test("a signed Idempotency-Key decides: a new one is a new request, another body under it is refused", async () => {
  const { ask } = accepting();
  const one = await ask("body", "inv-key", "k1");
  expect(await ask("body", "inv-key", "k1")).toEqual(one);
  expect((await ask("body", "inv-key", "k2")).requestId).not.toBe(one.requestId);
  await expect(ask("other", "inv-key", "k1")).rejects.toThrow(IdempotencyKeyReusedError);
});

test("an unsigned Idempotency-Key makes no new request of a body, and another body under it is refused", async () => {
  const { ask } = accepting();
  const unsigned = (body: string, key: string) =>
    ask(body, "inv-unsigned", key, { bodyOnly: true });
  const later = (days: number) => database.sql`
    update ta_answers set expires_at = expires_at - ${days} * interval '1 day'
    where key_id = 'key_1'`;
  const one = await unsigned("unsigned", "u1");
  for (const key of ["u1", "u2"]) expect(await unsigned("unsigned", key)).toEqual(one);
  expect(await ask("unsigned", "inv-unsigned")).toEqual(one);
  await expect(unsigned("other", "u1")).rejects.toThrow(IdempotencyKeyReusedError);
  // A signed one, of a caller with the secret key, does.
  expect((await ask("unsigned", "inv-unsigned", "u3")).requestId).not.toBe(one.requestId);
  await later(1);
  expect(await unsigned("unsigned", "u1")).toEqual(one);
  expect((await unsigned("unsigned", "u4")).requestId).not.toBe(one.requestId);
});

test("concurrent submissions of one signed body with many Idempotency-Keys are one request, and so are many bodies with one key", async () => {
  const { ask } = accepting();
  const unsigned = (body: string, key: string) =>
    ask(body, "inv-storm", key, { bodyOnly: true }).then(
      ({ requestId }) => requestId,
      (error: Error) => error.name,
    );
  const each = Array.from({ length: 16 }, (_, n) => n);
  const keys = await Promise.all(each.map((n) => unsigned("storm", `storm-${n}`)));
  expect(new Set(keys).size).toBe(1);
  const bodies = await Promise.all(each.map((n) => unsigned(`storm ${n}`, "storm")));
  expect(bodies.filter((name) => name === "IdempotencyKeyReusedError")).toHaveLength(15);
  const stored = await database.sql`select id from ta_requests where investor_id = 'inv-storm'`;
  expect(stored).toHaveLength(2);
});

test("a body sent with an Idempotency-Key gets its first answer when sent without one", async () => {
  const { ask } = accepting();
  const one = await ask("lost header", "inv-header", "h1");
  expect(await ask("lost header", "inv-header")).toEqual(one);
  expect((await ask("lost header", "inv-header", "h2")).requestId).not.toBe(one.requestId);
  // Still the first one, and after a day none.
  expect(await ask("lost header", "inv-header")).toEqual(one);
  await database.sql`update ta_answers set expires_at = expires_at - interval '1 day'`;
  const next = await ask("lost header", "inv-header");
  expect(next.requestId).not.toBe(one.requestId);
  expect(await ask("lost header", "inv-header", "h1")).toEqual(one);
});

test("every request with an Idempotency-Key keeps its body for its own 24 hours", async () => {
  const { ask } = accepting();
  const hours = (count: number) => database.sql`
    update ta_answers set expires_at = expires_at - ${count} * interval '1 hour'
    where key_id = 'key_1'`;
  const first = await ask("known", "inv-known");
  await hours(23);
  const second = await ask("known", "inv-known", "known-key");
  await hours(2);
  // More than 24 hours after the first, and 2 after the second.
  expect(await ask("known", "inv-known")).toEqual(first);
  await hours(22);
  const third = await ask("known", "inv-known");
  expect([first.requestId, second.requestId]).not.toContain(third.requestId);
});

test("a body with an Idempotency-Key and the same without one do not deadlock", async () => {
  const { ask } = accepting();
  await ask("first of the lane", "inv-cross");
  const waiting = (count: number) =>
    until(
      `${count} statements that wait for a lock`,
      async () => {
        const [row] = await database.sql<{ count: number }[]>`
          select count(*)::int4 as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        return row?.count;
      },
      (found) => found === count,
    );
  // The one that comes first gets the lane first, and wants what the other has meanwhile.
  const both = await database.transaction(async ({ sql }) => {
    await sql`select 1 from ta_lanes where investor_id = 'inv-cross' for update`;
    const keyed = ask("cross", "inv-cross", "cross-key");
    await waiting(1);
    const plain = ask("cross", "inv-cross");
    await waiting(2);
    return [keyed, plain];
  });
  const [keyed, plain] = await Promise.all(both);
  expect(plain).toEqual(keyed);
});

test("concurrent submissions of one body with many keys and without one are done once each", async () => {
  const { ask } = accepting();
  const keys = Array.from({ length: 24 }, (_, n) => (n % 3 === 0 ? undefined : `many-${n}`));
  const answers = await Promise.all(keys.map((key) => ask("many", "inv-many", key)));
  const without = answers.filter((_, n) => keys[n] === undefined);
  expect(new Set(without.map(({ requestId }) => requestId)).size).toBe(1);
  const [{ count } = { count: 0 }] = await database.sql<{ count: number }[]>`
    select count(*)::int4 as count from ta_requests where investor_id = 'inv-many'`;
  expect(count).toBe(new Set(answers.map(({ requestId }) => requestId)).size);
  expect([16, 17]).toContain(count);
});

test("after 24 hours the same body is a new request; after 30 days the same Idempotency-Key is", async () => {
  const { ask } = accepting();
  const later = (days: number) => database.sql`
    update ta_answers set expires_at = expires_at - ${days} * interval '1 day'
    where key_id = 'key_1'`;
  const first = [await ask("old", "inv-old"), await ask("old", "inv-old", "kept")];
  await later(1);
  const [unkeyed, keyed] = [await ask("old", "inv-old"), await ask("old", "inv-old", "kept")];
  expect(unkeyed.requestId).not.toBe(first[0]?.requestId);
  expect(keyed).toEqual(first[1]);
  // Removed or not: it is not given any more.
  expect(await forgetAnswers(database)).toBeGreaterThanOrEqual(0);
  expect(await ask("old", "inv-old", "kept")).toEqual(keyed);
  await later(30);
  expect((await ask("old", "inv-old", "kept")).requestId).not.toBe(keyed.requestId);
});

test("expired answers are all removed", async () => {
  const { ask } = accepting();
  await ask("kept", "inv-kept");
  await database.sql`
    insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
    select 'old', int8send(n), '', 201, '{}', now() from generate_series(1, 25000) n`;
  expect(await forgetAnswers(database)).toBeGreaterThanOrEqual(25_000);
  const [left] = await database.sql`
    select count(*) filter (where key_id = 'old')::int4 as old, count(*) > 0 as others
    from ta_answers`;
  expect(left).toEqual({ old: 0, others: true });
});

test("an accepted request is durable before it is answered, whatever the session's settings", async () => {
  await using lax = connect({
    url: database.url,
    max: 1,
    applicationName: "lax",
    synchronousCommit: "off",
  });
  // Looks as late as a transaction can be looked at: when it commits.
  await database.sql.unsafe(`
    create table seen_at_commit (setting text);
    create function note_setting() returns trigger language plpgsql as $$
      begin insert into seen_at_commit values (current_setting('synchronous_commit')); return null; end $$;
    create constraint trigger note_setting after insert on ta_requests
      deferrable initially deferred for each row execute function note_setting()`);
  const { ask } = accepting(lax);
  await ask("durable", "inv-durable");
  expect([...(await database.sql`select setting from seen_at_commit`)]).toEqual([
    { setting: "on" },
  ]);
  expect([...(await lax.sql`show synchronous_commit`)]).toEqual([{ synchronous_commit: "off" }]);
  await database.sql.unsafe("drop trigger note_setting on ta_requests; drop table seen_at_commit");
});

test("requests of one investor are numbered in the order they become visible", async () => {
  const { ask } = accepting();
  const seen: string[] = [];
  let asking = true;
  const watch = (async () => {
    while (asking) {
      const rows = await database.sql<{ id: string }[]>`
        select id from ta_requests where investor_id = 'inv-order' order by sequence`;
      // What was seen before stays in front: nothing is squeezed in later.
      expect(rows.slice(0, seen.length).map(({ id }) => id)).toEqual(seen);
      seen.push(...rows.slice(seen.length).map(({ id }) => id));
    }
  })();
  await Promise.all(Array.from({ length: 60 }, (_, i) => ask(`order ${i}`, "inv-order")));
  asking = false;
  await watch;
  const [lane] = await database.sql<{ arrivals: bigint; due: boolean }[]>`
    select arrivals, wake_at <= now() as due from ta_lanes where investor_id = 'inv-order'`;
  expect(lane).toEqual({ arrivals: 60n, due: true });
});

test("an investor's data are stored sealed: no row of the database holds a word of them", async () => {
  const { ask, vault } = accepting();
  const { requestId } = await ask("sealed", "inv-sealed");
  const tables = await database.sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename like 'ta%'`;
  for (const { name } of tables) {
    const rows = await database.sql`select * from ${database.sql(name)}`;
    const text = rows
      .flatMap((row) => Object.values(row))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value))
      .join("\n");
    expect(text, name).not.toMatch(/Grete|grete@|1985-03-04|Vienna|\+4367/);
  }
  expect(await vault.holds(requestId)).toBe(true);
  expect((await vault.open(requestId, "test")).investor.first_name).toBe("Grete");
  const accesses = await database.sql`
    select action, purpose from ta_pii_accesses where request_id = ${requestId}`;
  expect([...accesses]).toEqual([{ action: "open", purpose: "test" }]);
});

test("rotation seals with the new key, after which the old one is no longer needed", async () => {
  const { ask, vault } = accepting();
  const { requestId } = await ask("rotate", "inv-rotate");
  const second = key("second");
  const both = openVault(database, ringOf([second, first]));
  expect((await both.open(requestId, "before")).investor.id).toBe("inv-rotate");
  expect(await both.rotate()).toBeGreaterThan(0);
  expect(await both.rotate()).toBe(0);
  const alone = openVault(database, ringOf([second]));
  expect((await alone.open(requestId, "after")).investor.id).toBe("inv-rotate");
  await expect(vault.open(requestId, "old")).rejects.toThrow("sealed with key second");
});

test("a deleted investor's data are gone, the requests and their history are not", async () => {
  const { ask, vault } = accepting();
  const { requestId } = await ask("delete", "inv-delete");
  expect(await vault.deleteInvestor({ asset: "acme", investorId: "inv-delete" }, "asked")).toBe(1);
  expect(await vault.holds(requestId)).toBe(false);
  await expect(vault.open(requestId, "late")).rejects.toThrow(PiiDeletedError);
  const [request] = await database.sql`select status from ta_requests where id = ${requestId}`;
  expect(request).toEqual({ status: "QUEUED" });
  const accesses = await database.sql`
    select action from ta_pii_accesses where request_id = ${requestId} order by id`;
  expect(accesses.map(({ action }) => action)).toEqual(["delete", "open"]);
});

test("deleted data return only under a new Idempotency-Key, not by a replay", async () => {
  const { ask, vault } = accepting();
  const whose = { asset: "acme", investorId: "inv-again" };
  const plain = await ask("again", "inv-again");
  const keyed = await ask("again", "inv-again", "again-key");
  expect(await vault.deleteInvestor(whose, "asked")).toBe(2);
  expect(await ask("again", "inv-again")).toEqual(plain);
  expect(await ask("again", "inv-again", "again-key")).toEqual(keyed);
  expect(await vault.newestOf(whose)).toBe(null);
  const next = await ask("again", "inv-again", "again-key-2");
  expect(await vault.newestOf(whose)).toBe(next.requestId);
  expect(await ask("again", "inv-again")).toEqual(plain);
  const kept = await database.sql`
    select action from ta_pii_accesses where request_id in (${plain.requestId}, ${keyed.requestId})`;
  expect(kept.map(({ action }) => action)).toEqual(["delete", "delete"]);
});

test("data sealed by a lost key are named and can be deleted, and no others", async () => {
  const { ask, vault } = accepting();
  const { requestId } = await ask("lost", "inv-lost");
  const strange = openVault(database, ringOf([key("strange")]));
  await expect(strange.checkKeys()).rejects.toThrow(PiiKeyLostError);
  await expect(vault.deleteSealedWith("first", "test")).rejects.toThrow(PiiKeyPresentError);
  expect(await vault.holds(requestId)).toBe(true);
  // A service with another key of that name has lost ours.
  const impostor = openVault(database, ringOf([key("first")]));
  await expect(impostor.checkKeys()).rejects.toThrow(
    "another key than the one that is named first",
  );
  expect(await impostor.deleteSealedWith("nobody's", "test")).toBe(0);
  expect(await impostor.deleteSealedWith("first", "test")).toBeGreaterThan(0);
  await expect(vault.open(requestId, "late")).rejects.toThrow(PiiDeletedError);
});

test("a record moved to another request cannot be opened", async () => {
  const { ask, vault } = accepting();
  const [a, b] = [await ask("a", "inv-a"), await ask("b", "inv-b")];
  await database.sql`
    update ta_pii_records t set sealed = o.sealed, sealed_key = o.sealed_key
    from ta_pii_records o where t.request_id = ${a.requestId} and o.request_id = ${b.requestId}`;
  await expect(vault.open(a.requestId, "test")).rejects.toThrow("sealed with another");
});
