/** `compare` with another deployment that lies in its answers, holds them back, or answers no end. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { compareRows } from "../../src/audit/compare/rows.ts";
import { runCommand } from "../commands/run-command.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "./demo-register.ts";
import { type Asked, forwarding } from "./forwarding.ts";

type Served = Awaited<ReturnType<typeof serveGraphql>>;

let here: DemoRegister;
/** Ten checkpoints ahead: what it says of the present is compared last, once `here` was waited for. */
let ahead: DemoRegister;
/** As `here`, until a test moves it on. */
let moving: DemoRegister;
/** As far as `here`. */
let other: Served;
let otherAhead: Served;

beforeAll(async () => {
  here = await demoRegister();
  await here.advance(60);
  [ahead, moving] = [await here.copy(), await here.copy()];
  await ahead.advance(10);
  [other, otherAhead] = [await serveGraphql(here.database), await serveGraphql(ahead.database)];
});
afterAll(async () => {
  await Promise.all([other, otherAhead].map((each) => each[Symbol.asyncDispose]()));
  await Promise.all([here, ahead, moving].map((each) => each[Symbol.asyncDispose]()));
});

const settings = ({ key } = other) => ({
  DATABASE_URL: here.database.url,
  HOLDERBOOK_COMPARE_KEY: key,
});

type Change = (text: string, question: Asked) => string;

const compareTo = async (served: Served, change: Change, args: readonly string[]) => {
  await using liar = await forwarding(served.url, change);
  return await runCommand(["compare", liar.url, ...args], settings(served));
};

/** Compares with a deployment whose answers to some questions are these. */
const compareWith = (change: Change, ...args: readonly string[]) => compareTo(other, change, args);

/** The same with one that is ahead of this one. */
const compareAhead = (change: Change, ...args: readonly string[]) =>
  compareTo(otherAhead, change, args);

const rows = z.record(z.string(), z.unknown());
const lists = z.object({ data: z.record(z.string(), z.unknown()) });

/** Changes the rows of one list, wherever it is answered. */
const inList =
  (field: string, change: (rows: readonly Record<string, unknown>[]) => readonly unknown[]) =>
  (text: string, { path }: Asked): string => {
    const answer = path === "/graphql" ? lists.safeParse(JSON.parse(text)) : undefined;
    const list = z.array(rows).safeParse(answer?.data?.data[field]);
    if (!list.success) return text;
    return JSON.stringify({ data: { ...answer?.data?.data, [field]: change(list.data) } });
  };

test("a hidden row and a duplicated one are differences", async () => {
  const hidden = await compareWith(
    inList("holderEvents", (all) => all.slice(1)),
    "--pipeline",
    "holder_lifecycle",
  );
  expect(hidden).toMatchObject({ code: 1, stdout: expect.stringMatching(/^holderEvents of /) });
  expect(hidden.stdout).toMatch(/; there none\n/);
  const twice = inList("tokenHolders", ([first, ...others]) =>
    first === undefined ? [] : [{ ...first, balance: `${10n ** 20n}` }, first, ...others],
  );
  expect(await compareWith(twice, "--pipeline", "shared_token_objects")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(", again: here none; there owner"),
  });
});

test("rows out of order or of an unknown form prove nothing: no difference, but never identical", async () => {
  for (const [pipeline, change] of [
    ["role_changes", inList("stateRanges", (all) => all.toReversed())],
    [
      "role_changes",
      inList("stateRanges", (all) => all.map((row) => ({ ...row, checkpoint: {} }))),
    ],
    [
      "token_activity",
      inList("tokenActivity", (all) => all.map((row) => ({ ...row, position: "-" }))),
    ],
  ] as const) {
    const { code, stdout } = await compareWith(change, "--pipeline", pipeline);
    expect(code).toBe(3);
    expect(stdout).toContain(
      "not shown: no difference found, but less was returned than requested",
    );
    expect(stdout).not.toContain("identical");
  }
});

test("a refused query is named, and the exit code says that less was shown than requested", async () => {
  const { code, stdout } = await compareWith(
    (text, { query }) =>
      query.includes("stateRanges") ? '{"errors":[{"message":"Cannot query field"}]}' : text,
    "--pipeline",
    "role_changes",
  );
  expect(code).toBe(3);
  expect(stdout).toMatch(/^roles, past and present of .*Cannot query field$/m);
  expect(stdout).not.toContain("identical");
});

test("endless pages and endless answers are read no further than needed to detect them", async () => {
  let number = 0;
  const endless = inList("roleEvents", ([first]) =>
    Array.from({ length: 1_000 }, () => {
      number += 1;
      return { ...first, position: `${10n ** 9n + BigInt(number)}` };
    }),
  );
  const pages = await compareWith(endless, "--pipeline", "role_changes");
  expect(pages.code).toBe(1);
  expect(number).toBeLessThan(50_000);
  const long = await compareWith(
    (text, { query }) =>
      query.includes("roleEvents") ? `{"data":{"roleEvents":"${"x".repeat(2 ** 24)}"}}` : text,
    "--pipeline",
    "role_changes",
  );
  expect(long).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("answers with more than"),
  });
});

test("control characters from another deployment never reach the terminal", async () => {
  const name = "\u001b[2J\u009b1m\u202eACME\r\nidentical through checkpoint 59\u2028";
  const renamed = await compareWith(
    inList("tokens", (all) => all.map((row) => ({ ...row, name }))),
    "--pipeline",
    "shared_token_objects",
  );
  expect(renamed.code).toBe(1);
  const refused = await compareWith(
    (text, { query }) =>
      query.includes("tokenActivity") ? JSON.stringify({ errors: [{ message: name }] }) : text,
    "--pipeline",
    "token_activity",
  );
  expect(refused.code).toBe(3);
  const failed = await compareWith(() =>
    JSON.stringify({ errors: [{ message: name, extensions: { code: "FORBIDDEN" } }] }),
  );
  expect(failed.code).toBe(3);
  for (const { stdout, stderr } of [renamed, refused, failed]) {
    // Lines of ours end in LF.
    expect(`${stdout}${stderr}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(stdout).not.toMatch(/^identical/m);
    expect(`${stdout}${stderr}`).toContain("\\u{1b}[2J");
  }
});

test("where the other is ahead, its present is compared with its own past, and must not be older than it claims", async () => {
  const now = (change: (text: string) => string) =>
    compareAhead(
      (text, { query }) => (query.includes("indexerStatus") ? change(text) : text),
      "--pipeline",
      "shared_token_objects",
    );
  const altered = await now((text) => text.replace(/"balance":"(\d+)"/, '"balance":"1$1"'));
  expect(altered).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("there against its own past, checkpoint 69"),
  });
  const old = await now((text) => text.replaceAll('"checkpoint":"69"', '"checkpoint":"12"'));
  expect(old).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("its current rows are of checkpoint 12, before 59"),
  });
});

test("a list is compared as of now once the pipelines that write it agree, wherever the others are", async () => {
  const { code, stdout } = await compareAhead(
    (text, { query }) =>
      query.includes("indexerStatus")
        ? text.replaceAll(
            '"pipeline":"token_activity","checkpoint":"69"',
            '"pipeline":"token_activity","checkpoint":"70"',
          )
        : text,
    "--pipeline",
    "role_changes",
  );
  expect(stdout).not.toContain("different checkpoints");
  expect(code).toBe(0);
});

test("rows confirmed only by the other's own past are taken on faith, and compared later where this deployment catches up", async () => {
  const onFaith = /its current answers, \d+ rows: it was ahead of this deployment/;
  const roles = ["--pipeline", "role_changes"];
  const invented = await compareAhead(
    (text, { query }) =>
      query.includes("indexerStatus")
        ? text.replaceAll('"checkpoint":"69"', `"checkpoint":"${10n ** 17n}"`)
        : text,
    ...roles,
  );
  expect(invented.stdout).not.toMatch(/^identical/m);
  const present = await runCommand(["compare", otherAhead.url, ...roles], settings(otherAhead));
  expect(present.code).toBe(0);
  expect(present.stdout).toMatch(onFaith);

  let caughtUp: Promise<unknown> | undefined;
  await using live = await forwarding(otherAhead.url, async (text, { query }) => {
    caughtUp ??= query.includes("indexerStatus") ? moving.advance(10) : undefined;
    await caughtUp;
    return text;
  });
  const given = { ...settings(otherAhead), DATABASE_URL: moving.database.url };
  const waited = await runCommand(["compare", live.url, ...roles], given);
  expect(waited.code).toBe(0);
  expect(waited.stdout).not.toMatch(onFaith);
}, 120_000);

test("logs that claim to begin elsewhere share no heads, and the comparison says so", async () => {
  const { code, stdout } = await compareWith((text, { query }) =>
    query.startsWith("{ _meta")
      ? text.replace('"firstCheckpoint":"0"', '"firstCheckpoint":null')
      : text,
  );
  expect(code).toBe(0);
  expect(stdout).toContain("heads of the log that are published there: 0, in part");
  expect(stdout).toContain("in what was compared; some lists were compared in part");
});

test("a list that repeats one row takes no longer to compare than another", () => {
  const rows = Array.from({ length: 50_000 }, () => ({ owner: "0x1", objectId: "0x2" }));
  const of = { what: "tokenObjects", coinType: null };
  const key = () => "owner 0x1, objectId 0x2";
  const { differences } = compareRows(of, rows.slice(0, 2), rows, { key });
  expect(differences).toHaveLength(rows.length - 2);
  expect(differences[0]?.row).toBe(`${key()}, again (2)`);
});

test("a log that begins later shows less than requested", async () => {
  const { code, stdout } = await compareWith(
    (text, { query }) =>
      query.startsWith("{ _meta")
        ? text.replace('"firstCheckpoint":"0"', '"firstCheckpoint":"5"')
        : text,
    "--pipeline",
    "role_changes",
  );
  expect(code).toBe(3);
  expect(stdout).toContain("the other's log begins at checkpoint 5, this one's at 0");
});

test("an interrupted comparison says how to resume, and keeps its progress", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "progress");
  let isHeld = false;
  await using slow = await forwarding(other.url, async (text, { query }) => {
    if (!query.includes("stateRanges")) return text;
    isHeld = true;
    return await new Promise<string>(() => undefined);
  });
  const args = ["compare", slow.url, "--pipeline", "role_changes", "--resume", file];
  const program = startProgram(args, settings());
  await eventually("a question that is not answered", async () =>
    isHeld ? { done: true } : { seen: program.printed },
  );
  program.signal("SIGTERM");
  expect(await program.ended).toBe(3);
  expect(program.printed.stderr).toContain(`run the same command again to continue from ${file}`);
  expect(existsSync(file)).toBe(true);
});

test("a killed comparison resumes and reaches the result of an uninterrupted one", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "progress");
  // What is asked of cap tables at random checkpoints is more one time than another: of digests always the same.
  let [questions, digests, most] = [0, 0, 40];
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using slow = await forwarding(other.url, async (text, { query }) => {
    questions += 1;
    if (query.includes("pipelineDigest")) digests += 1;
    if (questions > most) await held;
    return text;
  });
  const args = ["compare", slow.url, "--pipeline", "shared_token_objects", "--full", "--json"];
  const program = startProgram([...args, "--resume", file], settings());
  await eventually("compare to be in the midst of it", async () =>
    questions > most && existsSync(file)
      ? { done: true }
      : { seen: { questions, ...program.printed } },
  );
  program.signal("SIGKILL");
  await program.ended;
  const step = z.object({ step: z.number() }).parse(JSON.parse(await readFile(file, "utf8"))).step;
  expect(step).toBeGreaterThan(0);

  [digests, most] = [0, Number.POSITIVE_INFINITY];
  release?.();
  const resumed = await runCommand([...args, "--resume", file], settings());
  expect(resumed.code).toBe(0);
  const left = digests;
  expect(existsSync(file)).toBe(false);
  digests = 0;
  const unbroken = await runCommand(args, settings());
  expect(left).toBeLessThan(digests);
  const tallies = (stdout: string) =>
    z
      .object({ compared: z.array(z.object({ what: z.string(), rows: z.number() })) })
      .parse(JSON.parse(stdout))
      // What is chosen at random is of other checkpoints.
      .compared.filter(({ what }) => !/at random|capTable/.test(what));
  expect(tallies(resumed.stdout)).toEqual(tallies(unbroken.stdout));
});

test("a progress file of another comparison, and one that is not a progress file, are refused", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "progress");
  await using stopping = await forwarding(other.url, (text, { query }) =>
    query.includes("holderEvents") ? "[]" : text,
  );
  const stopped = await runCommand(["compare", stopping.url, "--resume", file], settings());
  expect(stopped).toMatchObject({ code: 3, stdout: "" });
  expect(existsSync(file)).toBe(true);
  const full = ["compare", stopping.url, "--resume", file, "--full"];
  expect(await runCommand(full, settings())).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("ResumeFileError"),
  });
  const none = ["compare", other.url, "--resume", join(import.meta.dirname, "forwarding.ts")];
  expect(await runCommand(none, settings())).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is not a file that compare wrote"),
  });
});
