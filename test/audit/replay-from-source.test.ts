/** `replay --from source`: the log and its rows held against the ledger, and the signed record of it. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ActLine } from "../../client/pack-forms.ts";
import { verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { actFault, actHash, allActs } from "../../src/audit/sequence/acts.ts";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { readReplays } from "../../src/projections/replays.ts";
import { runCommand } from "../commands/run-command.ts";
import { runVerifier, whyNoPython } from "../docs/python.ts";
import { filesIn, manifestOf } from "../evidence/packs.ts";
import { until } from "../lanes/until.ts";
import { startObjectStore } from "../ledger/sources/object-store-server.ts";
import { alterLog, alterSender } from "../log/damage.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { entriesOf } from "./sequence-entries.ts";

const LAST = 100;

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let ledger: string;
let coinType = "";
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  ledger = join(folder.path, "ledger");
  const options = { checkpoints: LAST + 20, seed: 3, format: "binpb", epochLength: 40 } as const;
  const { coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  coinType = coinTypes[0]?.coinType ?? "";
  settings = {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${ledger}`,
    VERIFY: "signatures",
    COMMITTEE_FILE: join(ledger, "ledger.json"),
    DATA_DIR: join(folder.path, "data"),
  };
  expect(await runCommand(["index", "--last", `${LAST}`], settings)).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const AUDIT = ["replay", "--from", "source", "--share", "1", "--retry-for", "0"];

/** An own copy of the indexed database, and the command on it. */
const copied = async (more: Readonly<Record<string, string>> = {}) => {
  const own = await copyOf(database);
  const at = { ...settings, DATABASE_URL: own.url, ...more };
  return {
    database: own,
    settings: at,
    audit: (...args: readonly string[]) => runCommand([...AUDIT, ...args], at),
    records: async () => {
      const records: ActLine[] = [];
      for await (const act of allActs(own.sql)) {
        if (act.command === "replay" && act.scope !== "project") {
          records.push({ ...act, scope: act.scope });
        }
      }
      return records;
    },
    [Symbol.asyncDispose]: () => own.close(),
  };
};

test("where log and rows are what the ledger gives, a signed record says identical, over which range, and how it was checked", async () => {
  await using own = await copied();
  const ran = await own.audit();
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toMatch(/^role_changes at checkpoint 100: \d+ rows are identical$/m);
  expect(ran.stdout).toMatch(
    /: 101 of checkpoints 0 to 100, \d+ facts, 3 signatures of the validators verified\nidentical: recorded as act 1, entry \d+ of the sequence, signed by dep_\w+\n$/,
  );
  const [act] = await own.records();
  const [{ facts } = { facts: 0 }] = await own.database.sql<{ facts: number }[]>`
    select count(*)::int as facts from log_facts`;
  expect(act?.details).toMatchObject({
    ...{ from: "source", result: "identical", source: "folder", verified: "signatures" },
    ...{ first: "0", last: "100", checkpoints: "101", facts: `${facts}`, signatures: "3" },
    ...{ missing: null, logDiffers: null, rowsDiffer: null },
    pipelines: expect.stringMatching(/role_changes 100 [0-9a-f]{64}$/),
    rows: expect.stringMatching(/^token_activity \d+, .*balances \d+, .*role_events \d+/),
  });
  const digest = await runCommand(["digest", "--at", "100"], own.settings);
  for (const [, hex] of `${act?.details.pipelines}`.matchAll(/ ([0-9a-f]{64})/g)) {
    expect(digest.stdout).toContain(hex);
  }
  expect(JSON.stringify(act)).not.toContain(folder.path);

  const entry = (await entriesOf(own.database.sql)).find(({ number }) => number === act?.entry);
  expect(entry?.body).toEqual({ act: act?.number, sha256: act && actHash(act) });
  expect(await actFault(own.database.sql)).toBeNull();
  expect(await runCommand(["verify", "--log"], own.settings)).toMatchObject({ code: 0 });
});

test("--to ends the reading, --json prints the record, and without VERIFY=signatures it says links", async () => {
  await using own = await copied({ VERIFY: "links" });
  const ran = await own.audit("--to", "50", "--pipeline", "role_changes", "--json");
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const { record, log, rows } = JSON.parse(ran.stdout);
  const [act] = await own.records();
  expect(record).toEqual(act);
  expect(record.details).toMatchObject({
    ...{ result: "identical", verified: "links", last: "50", checkpoints: "51", signatures: "0" },
    pipelines: expect.stringMatching(/^role_changes 100 \w+$/),
  });
  expect(log).toMatchObject({ first: "0", last: "50", faults: [], gaps: [] });
  expect(rows).toMatchObject([{ checkpoints: { role_changes: "100" }, differences: [] }]);

  const { code, stderr } = await own.audit("--to", "101");
  expect([code, stderr]).toEqual([2, expect.stringContaining("the log has checkpoints 0 to 100")]);
  expect(await own.audit("--swap")).toMatchObject({ code: 2 });
  const log1 = ["replay", "--to", "50"];
  expect(await runCommand(log1, own.settings)).toMatchObject({ code: 2 });
  expect(await own.records()).toHaveLength(1);
});

test("an altered fact of the log is named, and the record says different", async () => {
  await using own = await copied();
  const [{ checkpoint } = { checkpoint: 0n }] = await own.database.sql<{ checkpoint: bigint }[]>`
    select checkpoint from log_facts where checkpoint > 30 limit 1`;
  await alterSender(own.database, checkpoint, `0x${"5e".repeat(32)}`);
  const { code, stdout } = await own.audit();
  expect(code).toBe(1);
  expect(stdout).toContain(`checkpoint ${checkpoint}: the log is not what the ledger says\n`);
  expect(stdout).toMatch(/: sender is 0x5e5e\S+, the ledger has 0x/);
  expect(stdout).toContain("not shown: the rows: they were not compared, because the log is wrong");
  expect(stdout).toMatch(/^different: recorded as act 1, /m);
  expect((await own.records())[0]?.details).toMatchObject({
    ...{ result: "different", logDiffers: `${checkpoint}`, rowsDiffer: null, rows: null },
  });
});

test("an altered row is found, even where an earlier replay was altered in the same way", async () => {
  await using own = await copied();
  const pipelines = ledgerPipelines.filter(({ name }) => /_objects$/.test(name));
  const { signal } = new AbortController();
  {
    // One that was ended before it compared: its tables are still there.
    const { database } = own;
    const how = { share: 1, signal, onProgress: () => {} };
    await using _ended = await replay({ pipelines, database, log: factSource(database), ...how });
  }
  for (const schema of ["public", "holderbook_replay"]) {
    await alterLog(
      own.database,
      `update ${schema}.balances set token_balance = token_balance + 7
       where (coin_type, owner) = (select coin_type, owner from public.balances order by 1, 2 limit 1)`,
    );
  }
  // It resumes, and finds nothing left to do.
  const resumed = ["replay", "--share", "1", "--pipeline", "shared_token_objects"];
  expect(await runCommand(resumed, own.settings)).toMatchObject({ code: 0 });
  const { code, stdout } = await own.audit();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^balances: 1$/m);
  expect(stdout).toMatch(/^different: recorded as act 1, /m);
  expect((await own.records())[0]?.details).toMatchObject({
    ...{ result: "different", logDiffers: null, rowsDiffer: "balances 1", checkpoints: "101" },
  });
});

test("a checkpoint that the source lacks is named, and the record says incomplete", async () => {
  await using other = await temporaryFolder();
  await cp(ledger, other.path, { recursive: true });
  await rm(join(other.path, "17.binpb.zst"));
  await using own = await copied({ LEDGER_SOURCE: `dir:${other.path}` });
  const { code, stdout } = await own.audit();
  expect(code).toBe(3);
  expect(stdout).toMatch(/^not shown: checkpoints 17 to 17 \(/m);
  expect(stdout).toMatch(/^incomplete: recorded as act 1, /m);
  expect((await own.records())[0]?.details).toMatchObject({
    ...{ result: "incomplete", missing: "17", checkpoints: "100", last: "100", signatures: "4" },
  });
});

test("a checkpoint that came damaged once is fetched again", async () => {
  const stored = (sequence: bigint) => readFileSync(join(ledger, `${sequence}.binpb.zst`));
  let isWhole = false;
  await using store = await startObjectStore({
    newest: BigInt(LAST),
    object: (sequence) => {
      if (sequence !== 30n || isWhole) return stored(sequence);
      isWhole = true;
      const bytes = zstdDecompressSync(stored(sequence));
      // In the sender's address or in an object, which digests cover.
      const at = bytes.length >> 1;
      return zstdCompressSync(bytes.fill((bytes[at] ?? 0) ^ 1, at, at + 1));
    },
  });
  await using own = await copied({ LEDGER_SOURCE: store.base.href });
  expect(await own.audit()).toMatchObject({ code: 0 });
  expect(isWhole).toBe(true);
  expect(store.seen.gets.filter((sequence) => sequence === 30n)).toHaveLength(2);
});

test("while an upgrade fills tables it does not begin", async () => {
  await using own = await copied();
  await own.database.sql`update role_changes_watermark set filled_checkpoint = 5`;
  const { code, stderr } = await own.audit();
  expect([code, stderr]).toEqual([1, expect.stringContaining("still being filled in")]);
  expect(await own.records()).toEqual([]);
});

test("checkpoints that the trusted validators did not sign give no record", async () => {
  await using other = await temporaryFolder();
  await writeDemoLedger({ dir: other.path, checkpoints: 2, seed: 4, format: "binpb" });
  await using own = await copied({ COMMITTEE_FILE: join(other.path, "ledger.json") });
  expect((await own.audit()).code).not.toBe(0);
  await using unkeyed = await copied({ CALLBACK_MASTER_KEY: "", DATA_DIR: other.path });
  expect((await unkeyed.audit()).code).not.toBe(0);
  expect([await own.records(), await unkeyed.records()]).toEqual([[], []]);
});

/** An object store with the ledger, which answers nothing about some checkpoints until they are let go. */
const heldStore = async (newest: number) => {
  const held = new Map([60n, 70n, 80n, 90n].map((at) => [at, Promise.withResolvers<false>()]));
  const store = await startObjectStore({
    newest: BigInt(newest),
    object: (sequence) => readFileSync(join(ledger, `${sequence}.binpb.zst`)),
    misbehave: (sequence) => held.get(sequence)?.promise ?? false,
  });
  const letGo = (at: bigint) => held.get(at)?.resolve(false);
  return {
    ...store,
    isHalfWay: (printed: object) =>
      eventually("the reading to be half way", async () =>
        store.seen.gets.includes(60n) ? { done: true } : { seen: [store.seen.gets, printed] },
      ),
    letGo,
    letAllGo: () => [...held.keys()].forEach(letGo),
  };
};

test("what is indexed during the reading is read, too", async () => {
  await using store = await heldStore(LAST + 19);
  await using own = await copied();
  const at = { ...own.settings, LEDGER_SOURCE: store.base.href, LOG_LEVEL: "warn" };
  const reading = startProgram(AUDIT, at);
  await store.isHalfWay(reading.printed);
  const more = await runCommand(["index", "--last", `${LAST + 19}`], own.settings);
  expect(more).toMatchObject({ code: 0 });
  store.letAllGo();
  expect([await reading.ended, reading.printed]).toMatchObject([0, { stderr: "" }]);
  expect((await own.records())[0]?.details).toMatchObject({
    ...{ result: "identical", last: "119", checkpoints: "120" },
    pipelines: expect.stringMatching(/role_changes 119 /),
  });
});

test("killed half way it leaves no record, and run again it goes on there; its progress is shown meanwhile", async () => {
  await using store = await heldStore(LAST);
  await using data = await temporaryFolder();
  await using own = await copied({ LEDGER_SOURCE: store.base.href, DATA_DIR: data.path });
  const killed = startProgram(AUDIT, own.settings);
  await store.isHalfWay(killed.printed);
  const seen = async () =>
    (await readReplays(own.database.db)).find(({ pipeline }) => pipeline === "log");
  const begun = await until("its begin to be noted", seen, (log) => log !== undefined);
  // What was read is kept with the first checkpoint that comes a second after it was kept last.
  let [next, goesAt] = [60n, performance.now() + 1_100];
  const letNextGo = () => {
    if (performance.now() < goesAt || next > 80n) return;
    store.letGo(next);
    [next, goesAt] = [next + 10n, performance.now() + 1_100];
  };
  expect(
    await until(
      "what was read to be noted",
      () => {
        letNextGo();
        return seen();
      },
      (log) => (log?.checkpoint ?? 0n) >= 60n,
    ),
  ).toMatchObject({ reason: "source", state: "running", target: 100n });
  const { stdout } = await runCommand(["status"], own.settings);
  expect(stdout).toMatch(
    /^reading of the ledger again \(running\): checkpoint \d+ of 100 · \d+\/s · time left \d+s$/m,
  );
  killed.signal("SIGKILL");
  await killed.ended;
  expect(await own.records()).toEqual([]);

  store.letAllGo();
  store.seen.gets.length = 0;
  const resumed = await own.audit();
  expect(resumed.code).toBe(0);
  expect(resumed.stderr).toMatch(
    /^reading on after checkpoint [6-8]\d, to which a reading of 20\S+Z came;/,
  );
  // Those before are fetched to trust the committee: ends of epochs.
  expect(store.seen.gets.filter((sequence) => sequence <= 60n).length).toBeLessThan(10);
  const [act] = await own.records();
  expect(act?.details).toMatchObject({
    ...{ result: "identical", source: "object store", checkpoints: "101", first: "0" },
  });
  expect(Date.parse(`${act?.details.began}`)).toBeLessThanOrEqual(
    (Number(begun?.updatedAtSeconds) + 1) * 1_000,
  );
  expect(await readdir(data.path)).toEqual([]);
  expect(await seen()).toMatchObject({ state: "compared", checkpoint: 100n });
});

test("audit packs contain the record; Node, the client and Python verify them, and hold the record against kept entries", async () => {
  await using own = await copied();
  expect(await own.audit()).toMatchObject({ code: 0 });
  const kept = join(folder.path, "entries.json");
  await writeFile(kept, JSON.stringify({ entries: await entriesOf(own.database.sql) }));
  const pack = join(folder.path, "pack");
  const range = ["--from", "40", "--to", "90", "--out", pack, "--no-papers"];
  const made = await runCommand(["audit-pack", "--coin", coinType, ...range], own.settings);
  expect(made).toMatchObject({ code: 0 });
  const [act] = await own.records();
  const lines = (await readFile(join(pack, "acts.ndjson"), "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(act);

  const { publicKey } = await manifestOf(pack);
  const known = [pack, "--key", publicKey, "--entry", kept];
  const verified = await runCommand(["audit-pack", "verify", ...known], {});
  expect(verified).toMatchObject({ code: 0, stderr: "" });
  expect(verified.stdout).toContain("it has the hash of an act in acts.ndjson");
  await verifyAuditPack(await filesIn(pack), { publicKey });
  if ((await whyNoPython()) !== null) return;
  const [byPython] = await runVerifier("verify_pack.py", [known]);
  expect(byPython).toMatchObject({ stdout: expect.stringMatching(/^authentic .*: holds$/m) });
});
