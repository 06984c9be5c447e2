// @module-tag thorough
/** `archive export --raw`, and what is read from its checkpoints without the ledger. */
import { randomBytes } from "node:crypto";
import { cp, rename } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { runCommand } from "../commands/run-command.ts";
import { checkpointsWithFacts } from "../log/contents.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { forgedRaw, manifestIn } from "./forging.ts";
import { logRows } from "./log-rows.ts";

const LAST = 89;

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let ledger: string;
let settings: Readonly<Record<string, string>>;
/** Of checkpoints with facts, and of all. */
let archive: string;
let whole: string;

beforeAll(async () => {
  [folder, database] = await Promise.all([temporaryFolder(), freshDatabase()]);
  ledger = join(folder.path, "ledger");
  archive = join(folder.path, "archive");
  whole = join(folder.path, "whole");
  await writeDemoLedger({
    dir: ledger,
    checkpoints: 95,
    seed: 7,
    format: "binpb",
    epochLength: 30,
  });
  settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${ledger}`,
    VERIFY: "signatures",
    COMMITTEE_FILE: join(ledger, "ledger.json"),
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    DATA_DIR: join(folder.path, "data"),
  };
  await run("index", "--last", `${LAST}`);
  await run("archive", "export", "--dir", archive, "--raw", "--to", "40");
  await run("archive", "export", "--dir", archive, "--raw");
  await run("archive", "export", "--dir", whole, "--raw", "all");
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const run = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(args, settings);
  expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
  return stdout;
};

/** The ledger's folder is away while this runs. */
const withoutLedger = async <Done>(work: () => Promise<Done>): Promise<Done> => {
  await cp(join(ledger, "ledger.json"), join(folder.path, "committee.json"));
  await rename(ledger, `${ledger}-away`);
  try {
    return await work();
  } finally {
    await rename(`${ledger}-away`, ledger);
  }
};

const offline = (source: string, url: string) => ({
  ...{ ...settings, DATABASE_URL: url, LEDGER_SOURCE: `archive:${source}` },
  COMMITTEE_FILE: join(folder.path, "committee.json"),
});

const AUDIT = ["replay", "--from", "source", "--share", "1", "--retry-for", "0"];

test("an archive keeps the raw checkpoints with facts, compared with the log's digests and facts", async () => {
  const { raw } = await manifestIn(archive);
  const kept = raw?.files.reduce((sum, { checkpoints }) => sum + checkpoints, 0) ?? 0;
  expect(kept).toBeGreaterThanOrEqual(await checkpointsWithFacts(database));
  expect(kept).toBeLessThan(LAST + 1);
  expect(raw).toMatchObject({ keeps: "facts", next: 90n });
  const { stdout, code } = await runCommand(["archive", "verify", archive], {});
  expect(code).toBe(0);
  expect(stdout).toContain(`${kept} raw checkpoints have the digests and facts of the log`);
  expect(await run("archive", "export", "--dir", archive, "--raw")).toContain(
    "added 0 raw checkpoints in 0 files",
  );
});

test("replay --from source works from an import and its archive, without the ledger", async () => {
  await using imported = await freshDatabase();
  await withoutLedger(async () => {
    const own = offline(archive, imported.url);
    for (const args of [
      ["archive", "import", archive],
      ["keys", "create", "--kind", "graphql"],
      ["index", "--last", `${LAST}`],
    ]) {
      const { code, stderr } = await runCommand(args, own);
      expect(code, `${args.join(" ")}: ${stderr}`).toBe(0);
    }
    const { code, stdout, stderr } = await runCommand(AUDIT, own);
    // Nothing is wrong; what the archive leaves out is not shown.
    expect(code, `${stdout}${stderr}`).toBe(3);
    expect(stdout).toMatch(
      /read again from archive:\S+: \d+ of checkpoints 0 to 89, \d+ facts, [1-9]\d* signatures of the validators verified/,
    );
    expect(stdout).toMatch(
      /not shown: checkpoints \d+ to \d+ \(those that the archive does not keep raw\)/,
    );
    expect(stdout.match(/not shown: checkpoints/g)).toHaveLength(1);
    expect(stdout).toMatch(/incomplete: recorded as act \d+/);
  });
});

test("an archive of all raw checkpoints replays as identical, and indexes an empty database", async () => {
  await using imported = await freshDatabase();
  await withoutLedger(async () => {
    const own = offline(whole, imported.url);
    const indexed = await runCommand(["index", "--last", `${LAST}`], own);
    expect(indexed.code, indexed.stderr).toBe(0);
    expect(await logRows(imported)).toEqual(await logRows(database));
    await runCommand(["keys", "create", "--kind", "graphql"], own);
    const { code, stdout, stderr } = await runCommand(AUDIT, own);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toMatch(/identical: recorded as act \d+/);
  });
});

test("after an import the reader goes on from the network", async () => {
  await using imported = await freshDatabase();
  const live = { ...settings, DATABASE_URL: imported.url };
  for (const args of [
    ["archive", "import", archive],
    ["index", "--last", "94"],
  ]) {
    const { code, stderr } = await runCommand(args, live);
    expect(code, `${args.join(" ")}: ${stderr}`).toBe(0);
  }
  await using direct = await freshDatabase();
  const alone = { ...settings, DATABASE_URL: direct.url };
  expect((await runCommand(["index", "--last", "94"], alone)).code).toBe(0);
  expect(await logRows(imported)).toEqual({
    ...(await logRows(direct)),
    log_proofs: (await logRows(imported)).log_proofs,
  });
  expect(await runCommand(["digest"], live)).toEqual(await runCommand(["digest"], alone));
});

test("an archive of checkpoints with facts alone is refused as the source of an empty log", async () => {
  await using empty = await freshDatabase();
  const own = { ...settings, DATABASE_URL: empty.url, LEDGER_SOURCE: `archive:${archive}` };
  const { code, stderr } = await runCommand(["index", "--last", "50", "--retry-for", "0"], own);
  expect(code).toBe(1);
  expect(stderr).toContain("CheckpointMissingError: archive:");
});

test("another --raw than the archive's is refused", async () => {
  const { code, stderr } = await runCommand(
    ["archive", "export", "--dir", archive, "--raw", "all"],
    settings,
  );
  expect(code).toBe(2);
  expect(stderr).toContain("keeps raw checkpoints by --raw facts; give that, or export to another");
});

test.each<[string, (checkpoints: readonly RawCheckpoint[]) => readonly RawCheckpoint[], RegExp]>([
  ["is missing", (all) => all.toSpliced(2, 1), /raw checkpoint \d+ is missing/],
  [
    "is another one's",
    ([a, b, ...others]) =>
      a === undefined || b === undefined ? [] : [{ ...a, bytes: b.bytes }, b, ...others],
    /raw checkpoint 2: checkpoint 2, byte \d+: holds checkpoint 3, not the one asked for/,
  ],
  [
    "has another byte",
    (all) =>
      all.map((one, n) => {
        if (n !== 1) return one;
        const bytes = Buffer.from(one.bytes);
        const middle = Math.floor(bytes.length / 2);
        bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
        return { ...one, bytes };
      }),
    /raw checkpoint \d+: /,
  ],
  ["comes twice", ([a, ...others]) => (a ? [a, a, ...others] : []), /ascending ones/],
])(
  "a raw checkpoint that %s, with every hash recomputed, is found",
  async (name, change, found) => {
    const dir = join(folder.path, name.replaceAll(" ", "-"));
    await cp(archive, dir, { recursive: true });
    await forgedRaw(dir, change);
    const { code, stderr } = await runCommand(["archive", "verify", dir], {});
    expect(code, stderr).toBe(1);
    expect(stderr).toContain("ArchiveDamagedError");
    expect(stderr).toMatch(found);
  },
);

test("a source with other checkpoints than the log is refused, and nothing of it is written", async () => {
  const other = join(folder.path, "other-ledger");
  await writeDemoLedger({ dir: other, checkpoints: 95, seed: 8, format: "chk" });
  const dir = join(folder.path, "other-source");
  const { code, stderr } = await runCommand(["archive", "export", "--dir", dir, "--raw"], {
    ...settings,
    LEDGER_SOURCE: `dir:${other}`,
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/ArchiveSourceError: dir:\S+: checkpoint \d+: it is checkpoint/);
  expect((await manifestIn(dir)).raw).toBeNull();
  expect((await runCommand(["archive", "verify", dir], {})).code).toBe(0);
});
