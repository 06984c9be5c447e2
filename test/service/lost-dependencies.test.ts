// @module-tag thorough
/**
 * What the service needs is lost for real, and seen where an operator checks: in `/health` and `/metrics` of a
 * process that only serves, and of the one that indexes. In the order of the tests.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { entriesOf, loseEntries } from "../audit/sequence-entries.ts";
import { type RedisServer, redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";
import { processesOf } from "./processes.ts";

const redisPath = await redisServerPath();

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: TestDatabase;
let redis: RedisServer | undefined;
let index: Program;
let serve: Program;
let url: string;
let figuresUrl: string;

const loggedBy = async (program: Program, pattern: RegExp): Promise<string> =>
  eventually("a line of the log", async () => {
    const { stderr } = program.printed;
    const [, found] = pattern.exec(stderr) ?? [];
    return found === undefined ? { seen: stderr.slice(-2_000) } : { done: found };
  });

const settings = () => ({
  DATABASE_URL: database.url,
  DATA_DIR: join(folder.path, "data"),
  DEMO_HISTORY: "50",
  // Facts in every checkpoint: the company of the other story lets minutes pass without one.
  DEMO_STORY: "chance",
  // What is lost is noticed at any rate; the register only has to go on.
  DEMO_CHECKPOINTS_PER_SECOND: "1",
  PORT: "0",
  METRICS_PORT: "0",
  ...(redis && { REDIS_URL: redis.url }),
});

const startIndex = async () => {
  index = startProgram(["index"], settings());
  const port = await loggedBy(index, /"port":(\d+),"msg":"showing figures/);
  figuresUrl = `http://127.0.0.1:${port}`;
};

beforeAll(async () => {
  folder = await temporaryFolder();
  database = await freshDatabase();
  redis = redisPath === undefined ? undefined : await startRedis(redisPath);
  await startIndex();
  serve = startProgram(["serve"], settings());
  url = await loggedBy(serve, /"url":"([^"]+)","msg":"serving"/);
}, 240_000);
afterAll(async () => {
  await Promise.all([index[Symbol.asyncDispose](), serve[Symbol.asyncDispose]()]);
  await redis?.stop();
  await database.close();
  await folder[Symbol.asyncDispose]();
}, 60_000);

const note = z.object({ reason: z.string(), since: z.string() });
const health = z.object({
  status: z.string(),
  reader: z.object({ state: z.string(), reason: z.string().optional() }),
  notes: z.array(note).default([]),
  details: z.object({
    processes: z.array(
      z.object({
        pid: z.number(),
        host: z.string(),
        state: z.string(),
        reason: z.string().optional(),
      }),
    ),
    queue: note.partial().extend({ backend: z.string(), state: z.string() }).optional(),
    signers: z.array(z.object({ asset: z.string(), transactionsLeft: z.number() })),
  }),
});
type Seen = z.infer<typeof health>;

const healthThat = (what: string, is: (seen: Seen) => boolean) =>
  eventually(what, async () => {
    const answer = await fetch(`${url}/health`, { headers: { connection: "close" } });
    const seen = health.parse(await answer.json());
    return is(seen) ? { done: seen } : { seen };
  });

const figureThat = (name: string, is: (value: number) => boolean) =>
  eventually(name, async () => {
    const answer = await fetch(`${figuresUrl}/metrics`, { headers: { connection: "close" } });
    const text = await answer.text();
    const line = text.split("\n").find((each) => each.startsWith(name));
    const value = Number(line?.split(" ").at(-1));
    return line !== undefined && is(value) ? { done: value } : { seen: line };
  });

const isQuiet = ({ status, notes }: Seen) => status === "ok" && notes.length === 0;

/** The process that does the work, below the launcher. */
const indexing = async () => {
  const pid = (await processesOf(index.pid)).at(-1)?.pid;
  if (pid === undefined) throw new Error(`no process runs below ${index.pid}`);
  return pid;
};

test("while nothing is lost, health names the indexing process, its queue and the signers' funds", async () => {
  const seen = await healthThat(
    "signers that were looked at",
    (now) => isQuiet(now) && now.details.signers.length > 0,
  );
  const { processes, queue, signers } = seen.details;
  expect(processes).toMatchObject([{ pid: await indexing(), host: hostname(), state: "ok" }]);
  expect(queue).toEqual({ backend: redis === undefined ? "postgres" : "redis", state: "ok" });
  expect(signers[0]?.transactionsLeft).toBeGreaterThan(100);
  await figureThat("holderbook_queue_up", (up) => up === 1);
  await figureThat("holderbook_database_writable", (up) => up === 1);
  await figureThat("holderbook_database_bytes", (bytes) => bytes > 1_000_000);
  // Both have the clock of this machine.
  await figureThat("holderbook_clock_ahead_seconds", (ahead) => Math.abs(ahead) < 30);
  await figureThat("holderbook_signer_transactions_left{", (left) => left > 100);
}, 240_000);

test.skipIf(redisPath === undefined)(
  "a killed Redis is a note, after ten seconds stalled with the reason, and a figure; its return needs no intervention",
  async () => {
    await redis?.stop();
    // Beside others, such as of a process that a busy machine let stand still.
    await healthThat("a note", ({ notes }) =>
      notes.some(({ reason }) => reason.includes("Redis (REDIS_URL) does not answer")),
    );
    const lost = await healthThat("stalled health", ({ status }) => status === "stalled");
    expect(lost.details.queue).toMatchObject({ backend: "redis", state: "stalled" });
    expect(Date.now() - Date.parse(lost.details.queue?.since ?? "")).toBeGreaterThan(9_000);
    // The register goes on, and nobody else is blamed.
    expect(lost.reader.state).toBe("ok");
    await figureThat('holderbook_queue_up{backend="redis"}', (up) => up === 0);
    redis = await startRedis(redisPath ?? "", redis?.port);
    await healthThat("health that is ok again", isQuiet);
    await figureThat('holderbook_queue_up{backend="redis"}', (up) => up === 1);
  },
  240_000,
);

test("a serving process names a stopped indexing process with its time, and does not blame its source", async () => {
  const pid = await indexing();
  process.kill(pid, "SIGSTOP");
  try {
    const { details, reader } = await healthThat(
      "stalled health",
      ({ status }) => status === "stalled",
    );
    expect(details.processes).toMatchObject([
      {
        pid,
        state: "stalled",
        reason: expect.stringMatching(
          new RegExp(`pid ${pid} on \\S+\\) has recorded nothing since 20\\S+Z`),
        ),
      },
    ]);
    expect(reader.reason ?? "").not.toContain("source");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await healthThat("health that is ok again", isQuiet);
}, 240_000);

test("a killed process is named until another one takes its place", async () => {
  const pid = await indexing();
  process.kill(pid, "SIGKILL");
  await index.ended;
  const { details } = await healthThat("stalled health", ({ status }) => status === "stalled");
  expect(details.processes).toMatchObject([{ pid, state: "stalled" }]);
  await startIndex();
  const next = await healthThat("health that is ok again", isQuiet);
  expect(next.details.processes).toMatchObject([{ pid: await indexing(), state: "ok" }]);
}, 240_000);

test("a read-only database is a figure although it answers queries; work resumes when it accepts writes again", async () => {
  const { sql } = database;
  // It has begun everything that it does.
  await figureThat("holderbook_signer_transactions_left{", (left) => left > 0);
  const name = new URL(database.url).pathname.slice(1);
  const readOnly = async (on: boolean) => {
    await sql.unsafe(`
      set default_transaction_read_only = off;
      alter database ${name} set default_transaction_read_only = ${on}`);
    // As after a fail-over to a standby: new sessions, which refuse to write.
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
  };
  await readOnly(true);
  await figureThat("holderbook_database_writable", (up) => up === 0);
  await readOnly(false);
  await figureThat("holderbook_database_writable", (up) => up === 1);
  await healthThat("health that is ok again", isQuiet);
  expect(index.printed.stderr).not.toContain("pipeline stopped");
  expect(index.printed.stderr).not.toContain("the reader stopped");
}, 240_000);

test("an indexing process ends with an error, and signs nothing, when the database lost an entry that it has published", async () => {
  await loggedBy(index, /(signed the log's head)/);
  const kept = 1;
  await loseEntries(database, kept);
  let code: number | null = null;
  void index.ended.then((ended) => {
    code = ended;
  });
  await eventually("the end", async () =>
    code === null ? { seen: index.printed.stderr.slice(-2_000) } : { done: true },
  );
  const { stderr } = index.printed;
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(/SequenceLostError.*entry \d+ of the sequence was published.*giving up/);
  expect(await entriesOf(database.sql)).toHaveLength(kept);
}, 300_000);
