// @module-tag thorough
/** What is read from a replica besides GraphQL and lists: downloads, proofs, and commands that only read. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "../audit/demo-register.ts";
import { runCommand } from "../commands/run-command.ts";
import { until } from "../lanes/until.ts";
import { type OperatorApi, serveOperator } from "../operator/service.ts";
import { type Primary, type Standby, startPrimary } from "../streaming-replica.ts";
import { startApi as startAgent } from "../ta/api.ts";
import { temporaryFolder } from "./process.ts";

let primary: Primary;
let standby: Standby;
let database: Database & { readonly url: string };
let register: DemoRegister;
let alone: OperatorApi;
let spread: OperatorApi;
let coinType = "";
let replicaUrl = "";

beforeAll(async () => {
  primary = await startPrimary();
  database = {
    ...connect({ url: primary.url, max: 4, applicationName: "test" }),
    url: primary.url,
  };
  await migrate(database);
  register = await demoRegister({}, database);
  await register.advance(60);
  [coinType = ""] = register.model.coins.keys();
  await primary.run("create role reading login password 'reading'");
  await primary.run("grant select on all tables in schema public to reading");
  alone = await serveOperator(database);
  standby = await primary.standby("one");
  const replica = new URL(standby.url);
  replica.username = "reading";
  replica.password = "reading";
  replicaUrl = replica.href;
  spread = await serveOperator(database, { replicas: [replicaUrl] });
}, 90_000);
afterAll(async () => {
  await Promise.all([alone, spread].map((each) => each[Symbol.asyncDispose]()));
  await database.close();
  await primary[Symbol.asyncDispose]();
});

test("cap tables, their movements as OCF, and proofs are read from the replica, and are what the primary has", async () => {
  const used = () => spread.replicas.standings()[0]?.state;
  await until("a used replica", used, (state) => state === "used");
  const { coin, moment } = { coin: encodeURIComponent(coinType), moment: "atCheckpoint=50" };
  for (const path of [
    `/exports/cap-table?coinType=${coin}&${moment}&format=json`,
    `/exports/cap-table?coinType=${coin}&${moment}&format=ocf`,
    "/proofs/50",
  ]) {
    const before = structuredClone(spread.replicas.reads);
    const reply = await spread.get(path);
    expect([path, reply.status]).toEqual([path, 200]);
    expect(reply.bytes.equals((await alone.get(path)).bytes), path).toBe(true);
    expect(spread.replicas.reads.primary, path).toBe(before.primary);
    expect(spread.replicas.reads.replicas[0], path).toBeGreaterThan(before.replicas[0] ?? 0);
  }
});

test("what is read after the transfer agent's answer shows at least what that showed", async () => {
  await using agent = await startAgent({ database, catchUp: spread.replicas.catchUp });
  await standby.caughtUp();
  await standby.pauseReplay();
  await register.advance(1);
  const newest = "/proofs/60";
  expect((await spread.get(newest)).status).toBe(404);
  const status = `/api/v1/investor/whitelist_status/0x${"c".repeat(64)}`;
  expect((await agent.get(status)).status).toBe(200);
  expect((await spread.get(newest)).status).toBe(200);
  await standby.resumeReplay();
});

/** Rows that sessions which have ended read from tables, without catalogs. */
const rowsRead = async (url: string): Promise<number> => {
  await using server = connect({ url, max: 1, applicationName: "test" });
  const [row] = await server.sql<{ rows: number }[]>`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as rows
    from pg_stat_user_tables where schemaname = 'public'`;
  return row?.rows ?? 0;
};

test("compare, digest and cap-table read the register from the replica", async () => {
  await using other = await demoRegister();
  await other.advance(61);
  await using there = await serveGraphql(other.database);
  await using folder = await temporaryFolder();
  const settings = {
    DATABASE_URL: primary.url,
    DATABASE_READ_URL: replicaUrl,
    HOLDERBOOK_COMPARE_KEY: there.key,
  };
  const ocf = ["--format", "ocf", "--out", `${folder.path}/ocf`];
  for (const args of [
    ["compare", there.url, "--pipeline", "token_activity"],
    ["digest"],
    ["cap-table", "--coin", coinType],
    ["cap-table", "--coin", coinType, ...ocf],
  ]) {
    const [ofPrimary, ofReplica] = [await rowsRead(primary.url), await rowsRead(standby.url)];
    expect(await runCommand(args, settings)).toMatchObject({ code: 0, stderr: "" });
    const more = await until(
      `rows read by ${args[0]}`,
      async () => (await rowsRead(standby.url)) - ofReplica,
      (rows) => rows > 0,
    );
    expect((await rowsRead(primary.url)) - ofPrimary, args.join(" ")).toBeLessThan(more);
  }
});
