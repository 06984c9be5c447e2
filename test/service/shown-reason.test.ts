/** What `/health`, which needs no key, shows of errors. */
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { NO_DATABASE } from "../../src/http/health/health.ts";
import { SourceUnavailableError } from "../../src/ledger/sources/source-errors.ts";
import { shownReason } from "../../src/service/process-notes.ts";
import { errorOf } from "../../src/waiting/remedy.ts";
import { freePort } from "../lanes/redis-server.ts";

test("errors never reveal host or user of an unreachable database, or the path of a source", async () => {
  const url = `postgres://somebody@127.0.0.1:${await freePort()}/none`;
  await using database = connect({ url, max: 1, applicationName: "test" });
  const refused = await database.sql`select 1`.then(() => new Error("it answers"), errorOf);
  expect(refused.message).toContain("127.0.0.1");
  expect(shownReason(refused)).toBe(NO_DATABASE);
  const secret = "https://node.example/v1/provider-key";
  const source = new SourceUnavailableError(secret, "checkpoint 5", 3, new Error("fetch failed"));
  expect(shownReason(source)).toContain("https://node.example");
  expect(shownReason(source)).not.toContain("provider-key");
});
