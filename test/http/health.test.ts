import { afterAll, beforeAll, expect, test } from "vitest";
import { standstillNotes, watchHealth } from "../../src/http/health/health.ts";
import type { HealthReport } from "../../src/http/health/report.ts";
import { createStallWatch } from "../../src/http/health/stall-watch.ts";
import { createContact } from "../../src/ledger/sources/source-contact.ts";
import { noteProcess } from "../../src/log/process-notes.ts";
import { noteReplay } from "../../src/pipelines/replay/progress.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { tokenActivityWatermark } from "../../src/projections/token-activity.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { watchIndexing } from "../../src/service/health/indexing-process.ts";
import type { LocalProgress } from "../../src/service/health/snapshot.ts";
import { type BulkProgress, NO_BULK } from "../../src/values/bulk-progress.ts";
import { createAwakeClock } from "../../src/waiting/awake.ts";
import { keepProof } from "../audit/complete-proofs.ts";
import { PIPELINES, startApi } from "../graphql/api.ts";
import { setHighWater, setWatermark, setWatermarks, timestampMs } from "../graphql/rows.ts";
import { loseHighWater } from "../log/damage.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { setFilledThrough } from "../projections/set-watermark.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

/** A health that is looked at second by second, counted from the time of checkpoint 0. */
const healthAt = (local?: () => LocalProgress, { db }: Pick<TestDatabase, "db"> = database) => {
  let second = 0;
  const health = watchHealth({
    progress: databaseProgress(db, PIPELINES, local),
    version: "1.2.3",
    onError: () => undefined,
    now: () => Number(timestampMs(0n)) + second * 1000,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  return (at: number): Promise<HealthReport> => {
    second = at;
    return health.report();
  };
};

const states = ({ status, reader, pipelines }: HealthReport) => ({
  status,
  reader: reader.state,
  pipelines: [...new Set(pipelines.map(({ state }) => state))],
});

test("before anything was read everything is unknown and nothing is wrong", async () => {
  await using fresh = await freshDatabase();
  const report = await watchHealth({
    progress: databaseProgress(fresh.db, PIPELINES),
    version: "1.2.3",
    onError: () => undefined,
    // Without the notes of how this process itself stood still, as a busy machine lets it.
    now: () => Date.now(),
    observeEveryMs: 0,
    withinMs: 30_000,
  }).report();
  const nothing = {
    checkpoint: null,
    checkpointTimestamp: null,
    ageSeconds: null,
    lagCheckpoints: null,
  };
  expect(report).toEqual({
    status: "catching_up",
    version: "1.2.3",
    pipelines: PIPELINES.map(({ name }) => ({ pipeline: name, ...nothing, state: "ok" })),
    reader: { ...nothing, tip: null, state: "catching_up" },
  });
});

test("at the end of the chain all is ok, with checkpoints and ages", async () => {
  await setHighWater(database, 100n);
  await setWatermarks(database, 100n);
  const look = healthAt(() => ({ tip: 100n, pipelines: new Map() }));
  const report = await look(103);
  expect(states(report)).toEqual({ status: "ok", reader: "ok", pipelines: ["ok"] });
  expect(report.pipelines[0]).toEqual({
    pipeline: "token_activity",
    checkpoint: "100",
    checkpointTimestamp: "1700000100",
    ageSeconds: 3,
    lagCheckpoints: "0",
    state: "ok",
  });
  expect(report.reader).toEqual({
    checkpoint: "100",
    checkpointTimestamp: "1700000100",
    ageSeconds: 3,
    lagCheckpoints: "0",
    tip: "100",
    state: "ok",
  });
  await setFilledThrough(database, tokenActivityWatermark, 60n);
  const [filling, other] = (await look(104)).pipelines;
  expect([filling?.historyFilledThrough, other?.historyFilledThrough]).toEqual(["60", undefined]);
  await setFilledThrough(database, tokenActivityWatermark, null);
  {
    const replayed = new Map([[{ name: "token_activity" }, { next: 41n, of: 101n }]]);
    await using _notes = await noteReplay(database, "replay", replayed);
    const { pipelines, status } = await look(106);
    const rebuilding = { checkpoint: "40", of: "100", ratePerSecond: 0, secondsLeft: null };
    expect(status).toBe("ok");
    expect(pipelines.map((one) => one.rebuilding)).toEqual([
      rebuilding,
      ...pipelines.slice(1).map(() => undefined),
    ]);
  }
  // A chain that makes no checkpoint for an hour is quiet, not stalled.
  expect(states(await look(3700))).toEqual({ status: "ok", reader: "ok", pipelines: ["ok"] });
});

test("a backfill is catching up, and never stalled while it moves", async () => {
  await setHighWater(database, 1000n);
  const look = healthAt(() => ({ tip: 1_000_000n, pipelines: new Map() }));
  for (let step = 0n; step < 5n; step += 1n) {
    await setHighWater(database, 1000n + step * 500n);
    await setWatermarks(database, 300n + step * 100n);
    expect(states(await look(100_000 + Number(step) * 50))).toEqual({
      status: "catching_up",
      reader: "catching_up",
      pipelines: ["catching_up"],
    });
  }
});

test("a pipeline with a backlog that does not move for 60 s stalls the whole; others do not", async () => {
  await setHighWater(database, 5000n);
  await setWatermarks(database, 5000n);
  const look = healthAt(() => ({ tip: 5000n, pipelines: new Map() }));
  await look(5000);
  await setHighWater(database, 5001n);
  for (const { watermark } of PIPELINES.slice(1)) await setWatermark(database, watermark, 5001n);
  expect((await look(5010)).status).toBe("ok");
  expect((await look(5069)).status).toBe("ok");
  const report = await look(5070);
  expect(report.status).toBe("stalled");
  expect(report.pipelines.map(({ state }) => state)).toEqual(["stalled", "ok", "ok", "ok", "ok"]);
  expect(report.pipelines[0]?.reason).toBe("1 checkpoint behind; no progress for 60 s");
  await setWatermark(database, tokenActivityWatermark, 5001n);
  expect((await look(5072)).status).toBe("ok");
});

test("a pipeline that gave up is stalled at once, with its reason", async () => {
  await setHighWater(database, 6000n);
  await setWatermarks(database, 6000n);
  await setWatermark(database, roleChangesWatermark, 5990n);
  const trouble = { gaveUp: true, reason: "role_changes: fact 5991/0/0 does not fit its layout" };
  const look = healthAt(() => ({ tip: 6000n, pipelines: new Map([["role_changes", trouble]]) }));
  const report = await look(6000);
  expect(report.status).toBe("stalled");
  expect(report.pipelines.at(-1)).toMatchObject({
    pipeline: "role_changes",
    state: "stalled",
    reason: "gave up: role_changes: fact 5991/0/0 does not fit its layout",
  });
});

test("a reader that gave up is stalled even if every pipeline has caught up", async () => {
  await setHighWater(database, 7000n);
  await setWatermarks(database, 7000n);
  const reader = { gaveUp: true, reason: "checkpoint 7001 cannot be decoded" };
  for (const tip of [7500n, null]) {
    const report = await healthAt(() => ({ tip, reader, pipelines: new Map() }))(7010);
    expect(states(report)).toEqual({ status: "stalled", reader: "stalled", pipelines: ["ok"] });
    expect(report.reader.reason).toBe("gave up: checkpoint 7001 cannot be decoded");
  }
});

test("a serving-only process judges by the age of the data and by what moves", async () => {
  await setHighWater(database, 8000n);
  await setWatermarks(database, 8000n);
  const look = healthAt();
  expect(states(await look(8010))).toEqual({ status: "ok", reader: "ok", pipelines: ["ok"] });
  expect((await look(8050)).status).toBe("ok");
  // Old data: perhaps all there is, perhaps a reader that died. No alarm and no all-clear.
  const silent = await look(8080);
  expect(states(silent)).toEqual({
    status: "catching_up",
    reader: "unknown",
    pipelines: ["ok"],
  });
  expect(silent.reader.reason).toContain("nothing was read for 60 s");
  await setHighWater(database, 8001n);
  await setWatermarks(database, 8001n);
  expect(states(await look(8090))).toMatchObject({ status: "catching_up", reader: "catching_up" });
});

test("concurrent requests share one look at the database", async () => {
  let looks = 0;
  const progress = databaseProgress(database.db, PIPELINES);
  const health = watchHealth({
    progress: () => {
      looks += 1;
      return progress();
    },
    version: "1.2.3",
    onError: () => undefined,
    now: () => 0,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const reports = await Promise.all(Array.from({ length: 50 }, () => health.report()));
  expect(looks).toBe(1);
  expect(new Set(reports).size).toBe(1);
});

test("over HTTP: 200 with all five pipelines; unreadable parts keep their state with a note for ten seconds, then 503 with the last known state, without the driver's words", async () => {
  await using api = await startApi();
  const ask = async (path: string) => {
    const response = await fetch(api.url + path);
    return { status: response.status, body: await response.json() };
  };
  const names = PIPELINES.map(({ name }) => ({ pipeline: name }));
  const { status, body } = await ask("/health");
  expect(status).toBe(200);
  expect(body).toMatchObject({ status: "catching_up", pipelines: names });
  expect(await ask("/ready")).toEqual({
    status: 200,
    body: { ready: true, version: "0.0.0-test" },
  });

  await api.database.sql`drop schema drizzle cascade`;
  await expect
    .poll(() => ask("/ready"))
    .toMatchObject({ status: 503, body: { ready: false, reason: "migrations are missing" } });
  const reason = "the database does not answer";
  await loseHighWater(api.database);
  await expect
    .poll(() => ask("/health"))
    .toMatchObject({
      status: 200,
      body: {
        status: "catching_up",
        pipelines: names,
        ageSeconds: expect.any(Number),
        notes: [{ reason, since: expect.stringMatching(/^20.*Z$/) }],
      },
    });
  await expect
    .poll(() => ask("/health"), { timeout: 30_000, interval: 500 })
    .toMatchObject({
      status: 503,
      body: { status: "stalled", reason, since: expect.any(String), pipelines: names },
    });
}, 60_000);

test("a source is stalled a minute after its last answer, however old the reader's note is", async () => {
  let nowMs = 0;
  const [answeredMs, notedMs] = [10_000, 66_000];
  const contact = createContact(() => nowMs);
  const at = async (ms: number) => {
    nowMs = ms;
    const note = { source: "https://node.example", reading: true, gaveUp: false, ...noted };
    const { status, reader } = await watchHealth({
      progress: async () => ({
        pipelines: [],
        reader: {
          ...{ next: 6n, tip: 5n, mark: { checkpoint: 5n, timestampMs: BigInt(answeredMs) } },
          source: { ...note, noteAgeMs: ms - notedMs },
        },
      }),
      version: "1.2.3",
      onError: () => undefined,
      now: () => nowMs,
      observeEveryMs: 0,
    }).report();
    return { status, reason: reader.reason };
  };
  contact.asked();
  nowMs = answeredMs;
  contact.answered();
  // An attempt that was given up, and a pause before the next.
  contact.failed(new Error("no answer in time"));
  nowMs = notedMs;
  const noted = contact.now();
  expect(await at(answeredMs + 59_999)).toEqual({ status: "ok", reason: undefined });
  expect(await at(answeredMs + 60_000)).toEqual({
    status: "stalled",
    reason: "the source https://node.example has not answered for 60 s: no answer in time",
  });
});

test("a source that answered is not called silent because its reader, which notes that, is gone", async () => {
  const look = async (noteAgeMs: number) => {
    const { reader } = await watchHealth({
      progress: async () => ({
        pipelines: [],
        reader: {
          ...{ next: 6n, tip: null, mark: { checkpoint: 5n, timestampMs: BigInt(0) } },
          source: {
            ...{ source: "https://node.example", reading: true, gaveUp: false, error: null },
            ...{ answeredAgoMs: 3_000 + noteAgeMs, silentMs: 3_000, noteAgeMs },
          },
        },
      }),
      version: "1.2.3",
      onError: () => undefined,
      now: () => noteAgeMs,
      observeEveryMs: 0,
    }).report();
    return reader.state;
  };
  expect(await look(59_000)).not.toBe("stalled");
});

test("after a pause of the process itself, pipelines, source and the indexing process get their full time again", () => {
  let clockMs = 0;
  using clock = createAwakeClock(() => clockMs);
  const contact = createContact(clock.now);
  const watch = createStallWatch();
  const behind = { name: "role_changes", next: 5n, goal: 6n };
  const snapshot = {
    progress: { tip: 5n, pipelines: new Map() },
    evm: { chains: new Map(), records: new Map() },
    residentBytes: 1,
    cpuSeconds: 1,
    restarts: 0,
    figures: [],
  };
  const indexing = watchIndexing(snapshot, clock.now, 4242);
  contact.asked();
  watch.judge(behind, clock.now());
  expect(clock.stoodStill()).toBeUndefined();
  clockMs = 3_600_000;
  expect(contact.now().silentMs).toBe(0);
  expect(watch.judge(behind, clock.now())).toEqual({ state: "ok" });
  expect(indexing.progress().process).toBeUndefined();
  const { fromMs, untilMs } = clock.stoodStill() ?? { fromMs: 0, untilMs: 0 };
  expect(untilMs - fromMs).toBe(3_600_000);
  expect(standstillNotes({ fromMs, untilMs }, untilMs)).toEqual([
    {
      reason: `this process (pid ${process.pid}) did not run for 3600 s`,
      since: new Date(fromMs).toISOString(),
    },
  ]);
  expect(standstillNotes({ fromMs, untilMs }, untilMs + 60_001)).toEqual([]);
});

test("while the indexing process is silent, stalls are attributed to it, whatever it reported before", async () => {
  let nowMs = 0;
  const source = { gaveUp: false, reason: "ECONNREFUSED" };
  const pipelines = new Map([["role_changes", { gaveUp: true, reason: "a fact does not fit" }]]);
  const indexing = watchIndexing(
    {
      progress: { tip: 9100n, reader: source, pipelines },
      evm: { chains: new Map(), records: new Map() },
      residentBytes: 1,
      cpuSeconds: 1,
      restarts: 0,
      figures: [],
    },
    () => nowMs,
    4242,
  );
  await setHighWater(database, 9000n);
  await setWatermarks(database, 8990n);
  const look = healthAt(indexing.progress);
  await look(9000);
  nowMs = 70_000;
  const reason = expect.stringContaining(
    "no progress for 70 s: the process that indexes (pid 4242) has not answered for 70 s",
  );
  const report = await look(9070);
  expect(report.reader).toMatchObject({ state: "stalled", reason });
  expect(report.pipelines[0]).toMatchObject({ state: "stalled", reason });
  expect(report.pipelines.at(-1)?.reason).toBe("gave up: a fact does not fit");
  expect(await indexing.details()).toMatchObject({
    state: "stalled",
    members: { indexing: { state: "stalled", since: expect.stringMatching(/Z$/) } },
  });
});

test("incomplete tokens are named with their first checkpoint and reason, and change no state", async () => {
  await setHighWater(database, 200n);
  await setWatermarks(database, 200n);
  const look = healthAt(() => ({ tip: 200n, pipelines: new Map() }));
  const before = await look(203);
  expect(before).not.toHaveProperty("incomplete");
  const missing = { coinType: "0x2::acme::ACME", objectId: "0x7", version: "17", from: "16" };
  const incomplete = [{ ...missing, why: "nothing that was read wrote it" }];
  await keepProof(database, { through: 200n, incomplete });
  const report = await look(205);
  expect(states(report)).toEqual(states(before));
  expect(report.incomplete).toEqual({
    coins: 1,
    first: [
      {
        coinType: "0x2::acme::ACME",
        checkpoint: "16",
        reason: "object 0x7, version 17: nothing that was read wrote it",
        since: expect.stringMatching(/Z$/),
      },
    ],
  });
  await keepProof(database, { through: 200n });
  expect(await look(207)).not.toHaveProperty("incomplete");
});

test("guided reading, or a divided backfill, is shown as its process reports it, and counts as progress though nothing is appended", async () => {
  await using fresh = await freshDatabase();
  await setHighWater(fresh, 10n);
  await setWatermarks(fresh, 10n);
  const own = { id: crypto.randomUUID(), pid: 1, host: "elsewhere" };
  const guided = {
    ...{ step: "objects", bytes: 2048, objects: 7, open: 2 },
    ...{ at: "5000", last: "90000" },
  };
  const backfill = {
    ...{ at: "9", last: "90000", ratePerSecond: 12.5, secondsLeft: 7_200, workers: 3 },
    ...{ waitingRanges: 9, failedRanges: 1, failure: "checkpoint 10: no answer" },
  };
  const note = (bulk: Partial<BulkProgress>) =>
    noteProcess(fresh.sql, own, {
      ...{ queue: null, signers: [], signing: null, ...NO_BULK, ...bulk },
    });
  const look = healthAt(() => ({ tip: 90_000n, pipelines: new Map() }), fresh);
  let at = 20;
  for (const progress of [
    (step: number) => ({ guided: { ...guided, fetched: step } }),
    (step: number) => ({ backfill: { ...backfill, readRanges: step } }),
  ]) {
    for (const step of [1, 2, 3]) {
      await note(progress(step));
      const { reader } = await look(at);
      expect(reader).toMatchObject({ state: "catching_up", ...progress(step) });
      at += 50;
    }
    // It hangs: its process lives, and nothing moves.
    await note(progress(3));
    at += 15;
    expect((await look(at)).reader).toMatchObject({ state: "stalled", ...progress(3) });
    await note({});
    at += 2;
    const { reader } = await look(at);
    expect(reader).not.toHaveProperty("guided");
    expect(reader).not.toHaveProperty("backfill");
    at += 2;
  }
});
