/** What `/health` makes of the words of processes that index, second by second. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { watchHealth } from "../../src/http/health/health.ts";
import {
  forgetGone,
  forgetProcess,
  noteProcess,
  readProcesses,
} from "../../src/log/process-notes.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { processDetails } from "../../src/service/health/process-health.ts";
import { NO_BULK } from "../../src/values/bulk-progress.ts";
import { PIPELINES } from "../graphql/api.ts";
import { setHighWater, setWatermark, setWatermarks, timestampMs } from "../graphql/rows.ts";
import { freshDatabase } from "../postgres.ts";

const NOTHING = { queue: null, signers: [], signing: null, ...NO_BULK };
const processAt = (pid: number) => ({ id: randomUUID(), pid, host: "here" });

test("beside a working process a silent one is a note, and the reason of a stall", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const [works, hangs] = [processAt(1), processAt(2)];
  await noteProcess(sql, hangs, NOTHING);
  await setHighWater(database, 100n);
  await setWatermarks(database, 100n);
  await setWatermark(database, roleChangesWatermark, 99n);
  let second = 0;
  await using health = watchHealth({
    progress: databaseProgress(database.db, PIPELINES),
    details: processDetails(database, () => second * 1_000),
    version: "1",
    onError: () => undefined,
    now: () => Number(timestampMs(100n)) + second * 1_000,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  /** Looks as often as health does by itself. */
  const lookUntil = async (at: number) => {
    for (; second < at; second += 5) {
      await noteProcess(sql, works, NOTHING);
      await health.report();
    }
    return health.report();
  };
  const silent = expect.stringMatching(
    /^the process that indexes \(pid 2 on here\) has recorded nothing since /,
  );
  expect((await lookUntil(10)).notes).toBeUndefined();
  const soon = await lookUntil(20);
  expect(soon).toMatchObject({ status: "ok", notes: [{ reason: silent }] });
  const late = await lookUntil(65);
  expect(late.status).toBe("stalled");
  expect(late.pipelines.at(-1)).toMatchObject({
    pipeline: "role_changes",
    state: "stalled",
    reason: expect.stringMatching(
      /1 checkpoint behind; no progress for 6\d s: the process that indexes \(pid 2 on here\)/,
    ),
  });

  // This process did not look for a minute: nobody was silent by that.
  second += 60;
  await setWatermarks(database, 100n);
  const { notes, details } = await health.report();
  expect(notes).toBeUndefined();
  expect(details?.processes).toMatchObject([{ state: "ok" }, { state: "ok" }]);
});

test("without a working process the state is stalled; one that ended in order is not missed", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const killed = processAt(3);
  let second = 0;
  const details = processDetails(database, () => second * 1_000);
  const look = () => details(Date.now());
  expect(await look()).toMatchObject({ state: "ok", members: { processes: [] } });
  await noteProcess(sql, killed, {
    queue: { backend: "redis", lostMs: 3_000 },
    signers: [],
    signing: null,
    ...NO_BULK,
  });
  expect(await look()).toMatchObject({
    state: "ok",
    members: { queue: { backend: "redis", state: "ok" } },
    notes: [{ reason: expect.stringContaining("Redis (REDIS_URL) does not answer") }],
  });
  await noteProcess(sql, killed, {
    queue: { backend: "redis", lostMs: 12_000 },
    signers: [],
    signing: null,
    ...NO_BULK,
  });
  expect(await look()).toMatchObject({
    state: "stalled",
    members: { queue: { state: "stalled" } },
  });
  for (; second < 15; second += 5) await look();
  expect(await look()).toMatchObject({
    state: "stalled",
    members: { processes: [{ pid: 3, state: "stalled" }] },
  });
  // Another one on its machine sees that it is gone.
  await forgetGone(sql, processAt(5), (pid) => pid === 3);
  expect((await look()).members.processes).toHaveLength(1);
  await forgetGone(sql, processAt(5), () => false);
  expect(await look()).toMatchObject({ state: "ok", members: { processes: [] } });

  const ended = processAt(4);
  await noteProcess(sql, ended, NOTHING);
  await forgetProcess(sql, ended.id);
  expect((await look()).members.processes).toEqual([]);
});

test("a process with the number of a killed one, as in a restarted container, replaces it", async () => {
  await using database = await freshDatabase();
  const { sql } = database;
  const [killed, own, elsewhere] = [processAt(7), processAt(7), { ...processAt(7), host: "there" }];
  for (const one of [killed, own, elsewhere]) await noteProcess(sql, one, NOTHING);
  await forgetGone(sql, own, () => true);
  const left = await readProcesses(database);
  expect(left.map(({ id }) => id).sort()).toEqual([own.id, elsewhere.id].sort());
});

test("a process without signatures says so in a note, and is not stalled", async () => {
  await using database = await freshDatabase();
  const reason = "the signer does not answer";
  const signing = { reason, sinceMs: Date.UTC(2026, 0, 2) };
  const look = processDetails(database);
  const own = processAt(8);
  await noteProcess(database.sql, own, { ...NOTHING, signing });
  expect(await look(Date.now())).toMatchObject({
    state: "ok",
    notes: [{ reason, since: "2026-01-02T00:00:00.000Z" }],
  });
  await noteProcess(database.sql, own, NOTHING);
  expect((await look(Date.now())).notes).toEqual([]);
});
