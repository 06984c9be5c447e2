/** Commands that read from sources that fail: how long they wait, and what several sources are worth. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { until } from "../lanes/until.ts";
import { startObjectStore } from "../ledger/sources/object-store-server.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const CHECKPOINTS = 80;
const ledger = createDemoLedger({ seed: 3 });
const [first = ""] = ledger.packages;
const bytes = Array.from({ length: CHECKPOINTS }, () =>
  zstdCompressSync(ledger.next().raw("protobuf")),
);
const LAST = BigInt(CHECKPOINTS - 1);

const storeOf = (newest = LAST) =>
  startObjectStore({ newest, object: (sequence) => bytes[Number(sequence)] ?? new Uint8Array() });

const settingsFor = (databaseUrl: string, source: string) => ({
  DATABASE_URL: databaseUrl,
  LEDGER_SOURCE: source,
  SECURITY_TOKEN_PACKAGES: first,
  FIRST_CHECKPOINT: "0",
});

/** The digests of all pipelines. */
const digests = async (databaseUrl: string): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(["digest"], { DATABASE_URL: databaseUrl });
  expect(code, stderr).toBe(0);
  return stdout;
};

test("index switches to the second source when the first dies, with the digests of an undisturbed run", async () => {
  await using whole = await storeOf();
  await using database = await freshDatabase();
  const undisturbed = settingsFor(database.url, whole.base.href);
  expect((await runCommand(["index", "--last", `${LAST}`], undisturbed)).code).toBe(0);

  // The first one has half, and dies while the rest is waited for.
  const dying = await storeOf(39n);
  await using standing = await storeOf();
  await using other = await freshDatabase();
  const both = settingsFor(other.url, `${dying.base.href} ${standing.base.href}`);
  const indexing = runCommand(["index", "--last", `${LAST}`], both);
  await until(
    "the end of the first",
    () => dying.seen.gets.filter((n) => n === 40n).length,
    (n) => n > 2,
  );
  expect(standing.seen.gets).toEqual([]);
  await dying[Symbol.asyncDispose]();
  const { code, stderr } = await indexing;
  expect(code, stderr).toBe(0);
  expect(await digests(other.url)).toBe(await digests(database.url));
});

test("a checkpoint of a store that begins late is inspected; one behind its newest is refused", async () => {
  await using store = await storeOf();
  store.state.oldest = 40n;
  const settings = { LEDGER_SOURCE: store.base.href };
  const { code, stdout, stderr } = await runCommand(["inspect", "50"], settings);
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ sequence_number: "50" });
  const beyond = await runCommand(["inspect", "90"], { ...settings, FIRST_CHECKPOINT: "40" });
  expect(beyond).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`has no checkpoint 90; its newest is ${LAST}`),
  });
});

test("index --last gives up after --retry-for, with the reason; time limits are validated", async () => {
  await using store = await storeOf();
  let wrong = Number.POSITIVE_INFINITY;
  store.state.misbehave = (sequence, response, method) => {
    if (sequence !== 30n || method !== "GET" || wrong <= 0) return false;
    wrong -= 1;
    response.writeHead(200).end("<html>maintenance</html>");
    return true;
  };
  await using database = await freshDatabase();
  const settings = settingsFor(database.url, store.base.href);
  const index = (...args: readonly string[]) =>
    runCommand(["index", "--last", `${LAST}`, ...args], settings);
  const gaveUp = await index("--retry-for", "2s");
  expect(gaveUp).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/CheckpointDamagedError.*checkpoint 30 is damaged/),
  });
  // With 0 one reading is all, which asks three times.
  store.seen.gets.length = 0;
  expect((await index("--retry-for", "0")).code).toBe(1);
  expect(store.seen.gets.filter((n) => n === 30n)).toHaveLength(3);
  for (const wrong of ["25h", "-1", "soon", "1.5m", ""]) {
    const refused = await index("--retry-for", wrong);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("from 0 to 24h") });
  }
  const endless = await runCommand(["index", "--retry-for", "1m"], settings);
  expect(endless).toMatchObject({ code: 2, stderr: expect.stringContaining("needs --last") });
  // Within the time another reading follows: what comes right meanwhile is read.
  wrong = 4;
  const mended = await index("--retry-for", "5m");
  expect(mended.code, mended.stderr).toBe(0);
  expect(wrong).toBe(0);
});

test("verify waits for a refusing source, rereads checkpoints that fail, and gives up after --retry-for", async () => {
  await using folder = await temporaryFolder();
  const dir = join(folder.path, "ledger");
  await mkdir(dir);
  await writeFile(
    join(dir, "committee.json"),
    JSON.stringify({
      epoch: `${ledger.committee.epoch}`,
      members: ledger.committee.members.map(({ publicKey, stake }) => ({
        publicKey: Buffer.from(publicKey).toString("base64"),
        stake: `${stake}`,
      })),
    }),
  );
  await using store = await storeOf();
  let refusals = 2;
  let old = 1;
  store.state.misbehave = (sequence, response, method) => {
    if (method !== "GET") return false;
    if (sequence === 20n && refusals > 0) {
      refusals -= 1;
      response.writeHead(403).end();
      return true;
    }
    if (sequence === 50n && old > 0) {
      old -= 1;
      response.writeHead(200).end(bytes[49]);
      return true;
    }
    return false;
  };
  const verify = (...args: readonly string[]) =>
    runCommand(
      [
        ...["verify", "--from", "10", "--to", `${LAST}`, "--source", store.base.href],
        ...["--committee-from", join(dir, "committee.json"), ...args],
      ],
      {},
    );
  const held = await verify();
  expect(held, held.stderr).toMatchObject({ code: 0 });
  expect(refusals + old).toBe(0);

  old = Number.POSITIVE_INFINITY;
  const found = await verify("--json");
  expect(found.code).toBe(1);
  expect(JSON.parse(found.stdout)).toMatchObject({ holds: false, checkpoint: "50" });

  old = 0;
  refusals = Number.POSITIVE_INFINITY;
  const gaveUp = await verify("--json", "--retry-for", "1s");
  // A source that refuses says nothing about checkpoints.
  expect(gaveUp).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("HTTP 403"),
  });
});

test("each source gets its own headers only; headers for an unknown source are refused", async () => {
  await using one = await storeOf();
  await using two = await storeOf();
  one.state.misbehave = (sequence, response) => {
    if (sequence < 40n) return false;
    response.writeHead(403).end();
    return true;
  };
  await using database = await freshDatabase();
  const settings = settingsFor(database.url, `${one.base.href} ${two.base.href}`);
  const index = (LEDGER_HEADERS: string) =>
    runCommand(["index", "--last", `${LAST}`], { ...settings, LEDGER_HEADERS });
  const read = await index(`${one.base.host} x-token: a-secret; ${two.base.host} x-key: other`);
  expect(read.code, read.stderr).toBe(0);
  expect(one.seen.lastHeaders).toMatchObject({ "x-token": "a-secret" });
  expect(one.seen.lastHeaders).not.toHaveProperty("x-key");
  expect(two.seen.lastHeaders).toMatchObject({ "x-key": "other" });
  expect(two.seen.lastHeaders).not.toHaveProperty("x-token");

  const unnamed = await index("x-token: a-secret");
  expect(unnamed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/x-token does not name its source/),
  });
  const elsewhere = await index("elsewhere.example x-token: a-secret");
  expect(elsewhere).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/a header for elsewhere\.example, but .* no source/),
  });
  expect(unnamed.stderr + elsewhere.stderr).not.toContain("a-secret");
});
