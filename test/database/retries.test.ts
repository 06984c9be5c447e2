/** After a long outage of our own database everything goes on within seconds of its return. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect, databaseRetries } from "../../src/database/connect.ts";
import { ServerSilentError, SessionLostError } from "../../src/database/database-error.ts";
import { SourceUnavailableError } from "../../src/ledger/sources/source-errors.ts";
import { retrying } from "../../src/waiting/retrying.ts";
import { freePort } from "../lanes/redis-server.ts";

/** How long is paused after an error that came for the hundredth time, where half an hour would be allowed. */
const pauseAfter = async (fail: () => Promise<never>): Promise<number> => {
  const ending = new AbortController();
  let pausedMs = 0;
  await retrying(
    fail,
    {
      ...databaseRetries,
      backoff: { firstMs: 1_800_000, maxMs: 1_800_000 },
      onTrouble: (_error, pauseMs) => {
        pausedMs = pauseMs;
        ending.abort();
      },
    },
    ending.signal,
  );
  return pausedMs;
};

test("a lost or refusing database is retried within five seconds, however long it was away", async () => {
  const url = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
  await using database = connect({ url, max: 1, applicationName: "test" });
  const refused = () => database.sql`select 1`.then(() => Promise.reject(new Error("it answers")));
  expect(await pauseAfter(refused)).toBe(5_000);
  const session = () => database.session().then(() => Promise.reject(new Error("it answers")));
  expect(await pauseAfter(session)).toBe(5_000);
  for (const lost of [new SessionLostError("test"), new ServerSilentError(30_000)]) {
    expect(await pauseAfter(() => Promise.reject(lost))).toBe(5_000);
  }
});

test("other services get the time they may need, also after a refused connection", async () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const source = new SourceUnavailableError("the source", "checkpoint 5", 3, cause);
  expect(await pauseAfter(() => Promise.reject(source))).toBeGreaterThan(800_000);
});

test("everything that waits for the database follows this rule", () => {
  const root = join(import.meta.dirname, "../..");
  const others = globSync("src/**/*.ts", { cwd: root }).filter(
    (file) =>
      file !== "src/database/database-error.ts" &&
      /\bremedy: databaseRemedy\b(?!\()/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(others).toEqual([]);
});
