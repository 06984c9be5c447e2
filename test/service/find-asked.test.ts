/** What finds checkpoints for serving processes, in the indexing process. */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askFor, type Moment, missingSummary } from "../../src/log/between.ts";
import { createAsking } from "../../src/projections/asking.ts";
import { findAsked } from "../../src/service/find-asked.ts";
import { guidedLog } from "../ledger/reading/guided-log.ts";
import { foundSummaries } from "../log/damage.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { listening, notify } from "../postgres-listeners.ts";

let logs: Awaited<ReturnType<typeof guidedLog>>;
beforeAll(async () => {
  logs = await guidedLog();
}, 60_000);
afterAll(() => logs[Symbol.asyncDispose]());

const at = (checkpoint: bigint): Moment => ({ kind: "checkpoint", checkpoint });

/** Finds over a copy of the guided log until disposed. */
const finding = async (
  database: TestDatabase,
  source = logs.sourceOf().source,
): Promise<AsyncDisposable & { readonly failures: readonly Error[] }> => {
  const ending = new AbortController();
  const failures: Error[] = [];
  const onFailure = (error: Error) => void failures.push(error);
  const ended = findAsked({ database, source, onFailure, signal: ending.signal });
  await listening(database);
  return {
    failures,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await ended;
    },
  };
};

/** Waits until the log has what the moment lacks; the deadline tells what is missing. */
const answered = async (database: TestDatabase, asked: Moment, withinMs = 20_000) => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const missing = await missingSummary(database, asked);
    if (missing === null) return;
    if (performance.now() > deadline) throw new Error(`still lacks the summary of ${missing}`);
    await wait(10);
  }
};

test("text that names no moment, and moments that lack nothing, ask the source for nothing", async () => {
  await using database = await copyOf(logs.guided);
  const { source, fetched } = logs.sourceOf();
  await using found = await finding(database, source);
  const rubbish = [
    ...["", "checkpoint", "checkpoint -1", "checkpoint 88; select 1", "second 1e9"],
    ...["checkpoint 99999999999999999999", `checkpoint ${"8".repeat(5_000)}`, "CHECKPOINT 88"],
  ];
  for (const payload of rubbish) await notify(database, payload);
  const unread = 2n ** 59n;
  for (const asked of [
    at(85n),
    at(1n),
    at(unread),
    { kind: "second", unixSeconds: unread },
  ] as const) {
    await askFor(database.sql, asked);
  }
  await askFor(database.sql, at(88n));
  await answered(database, at(88n));
  expect(fetched).toEqual([88n]);
  expect(found.failures).toEqual([]);
});

test("a question that the source cannot answer is reported, and does not keep others from their answer", async () => {
  await using database = await copyOf(logs.guided);
  const { source } = logs.sourceOf((raw) => {
    if (raw.sequence === 40n) throw new Error("not here");
    return raw;
  });
  await using found = await finding(database, source);
  await askFor(database.sql, at(40n));
  await askFor(database.sql, at(88n));
  await answered(database, at(88n));
  expect(found.failures.map(({ message }) => message)).toEqual(["not here"]);
  expect(await foundSummaries(database)).toEqual([88n]);
});

test("two processes that find the same keep one answer", async () => {
  await using database = await copyOf(logs.guided);
  await using one = await finding(database);
  await using other = await finding(database);
  const asking = createAsking(database);
  const moments = [at(88n), at(40n), { kind: "second", unixSeconds: 1_735_689_620n }] as const;
  expect(await asking(moments)).toBe(true);
  expect([...one.failures, ...other.failures]).toEqual([]);
});

test("requests that wait are bounded, and a caller who hangs up waits no longer", async () => {
  await using database = await copyOf(logs.guided);
  const asking = createAsking(database, { waitMs: 60_000 });
  const hungUp = new AbortController();
  const waiting = Array.from({ length: 16 }, () => asking([at(88n)], hungUp.signal));
  // One more is not waited for.
  expect(await asking([at(88n)])).toBe(false);
  hungUp.abort();
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => false));
});
