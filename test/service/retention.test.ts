/** Retention as a process runs it: rounds of bounded statements, counted and logged; off unless set. */
import { expect, test } from "vitest";
import type { SlowCheck } from "../../src/audit/watch/watch.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { retention } from "../../src/service/retention.ts";
import { parseSettings } from "../../src/settings/config.ts";
import { createFigures } from "../../src/telemetry/figures.ts";
import { deliverLongAgo, storedCallbacks } from "../callbacks/old-messages.ts";
import { callbackOf, ENDPOINT, LOCAL } from "../callbacks/sender.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { office } from "../ta/office.ts";
import { endLongAgo, storedRequests } from "../ta/old-requests.ts";

const started = (config: Parameters<typeof retention>[0]["config"]) => {
  const lines: unknown[] = [];
  const figures = createFigures();
  const logger = { info: (...line: unknown[]) => void lines.push(line) };
  const work = retention({ config, logger, figures }, { rows: 2, roundEveryMs: 3_600_000 });
  return { work, lines, figures };
};

/** Statements until a round ends. */
const round = async (work: SlowCheck | undefined, database: TestDatabase): Promise<number> => {
  for (let statements = 1; ; statements += 1) {
    if ((await work?.next(database))?.ended ?? true) return statements;
  }
};

test("retention is off unless a time is set", () => {
  const { data } = parseSettings({});
  expect(data).toMatchObject({ retainCallbacksDays: 0, retainRequestsDays: 0 });
  expect(started({ retainCallbacksDays: 0, retainRequestsDays: 0 }).work).toBeUndefined();
});

test("a round removes what is old by bounded statements, counts it by table and logs it once; the next begins after an hour", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:1/" });
  const ids = ["a", "b", "c", "d", "e"];
  const enqueue = (names: readonly string[]) =>
    database.transaction((tx) =>
      enqueueCallbacks(
        tx,
        names.map((id) => callbackOf({ id })),
      ),
    );
  await enqueue(ids);
  await deliverLongAgo(sql, ids, 40);
  const { newKey, result } = office(database);
  const request = await result(await newKey());
  await endLongAgo(sql, [request], 40);

  const { work, lines, figures } = started({ retainCallbacksDays: 7, retainRequestsDays: 31 });
  expect(await round(work, database)).toBe(4);
  expect(await storedCallbacks(sql)).toEqual({ messages: [], attempts: {}, marks: 6 });
  expect((await storedRequests(sql)).requests).toEqual([]);
  expect(lines).toEqual([
    [
      {
        callback_messages: 5,
        callback_attempts: 10,
        ta_requests: 1,
        ta_request_history: expect.any(Number),
      },
      "retention removed old rows",
    ],
  ]);
  const counted = figures
    .look()
    .filter(({ name }) => name === "holderbook_retention_removed_rows_total")
    .map(({ labels, values }) => [labels[0], values[0]]);
  expect(Object.fromEntries(counted)).toMatchObject({
    callback_messages: 5,
    callback_attempts: 10,
    ta_requests: 1,
    ta_transactions: 0,
  });

  await enqueue(["f"]);
  await deliverLongAgo(sql, ["f"], 40);
  expect(await round(work, database)).toBe(1);
  expect((await storedCallbacks(sql)).messages).toEqual(["f"]);
});

test.for([
  [{ RETAIN_CALLBACKS_DAYS: "90d" }, "must be a whole number, such as 0"],
  [
    { RETAIN_CALLBACKS_DAYS: "7", RETAIN_REQUESTS_DAYS: "30" },
    "must be 0 or more than 30, because callers may repeat a request for 30 days",
  ],
  [
    { RETAIN_REQUESTS_DAYS: "90" },
    "a request stays as long as its callback; set RETAIN_CALLBACKS_DAYS to at most 90",
  ],
  [{ RETAIN_CALLBACKS_DAYS: "91", RETAIN_REQUESTS_DAYS: "90" }, "to at most 90"],
] as const)("%o ends a command with code 2 and the reason", async ([settings, says]) => {
  const { code, stderr } = await runCommand(["status"], settings);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) });
});
