/** `docs/examples/verify_statement.py` and the published vectors against this project's own checks. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { packOf } from "../../bin/reference/vectors/packs.ts";
import { signedBy } from "../../bin/reference/vectors/sequences.ts";
import { KEYS } from "../../bin/reference/vectors/vector.ts";
import type { JsonValue } from "../../client/canonical-json.ts";
import { type SequenceEntry, SequenceError, verifySequence } from "../../client/verify-sequence.ts";
import {
  entryOf,
  rootBody1,
  type Statement1,
  type Statement2,
  StatementError,
  verifyStatement,
} from "../../client/verify-statement.ts";
import { entryHash } from "../../src/audit/sequence/sequence.ts";
import { parseStrictJson, StrictJsonError } from "../../src/settings/strict-json.ts";
import { signedAgain, statement2Of, statementOf } from "../client/statement.ts";
import { runCommand } from "../commands/run-command.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Job, judgedByPython, runVerifier, whyNoPython } from "./python.ts";

const why = await whyNoPython();
if (why !== null) console.warn(`${why}: verify_statement.py is not tested`);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

/** On a machine that is busy with other tests. */
const LONG = 180_000;

const VECTORS = join(import.meta.dirname, "..", "..", "docs", "reference", "vectors");
const vectorFile = z.object({
  vectors: z.record(
    z.string(),
    z.array(
      z.object({
        name: z.string(),
        input: z.record(z.string(), z.json()),
        expect: z.looseObject({ ok: z.boolean() }),
      }),
    ),
  ),
});

/** What Python is given of a vector. */
const inputOf = async (check: string, at: string, input: Readonly<Record<string, JsonValue>>) => {
  const { statement, ...known } = input;
  if (check === "statement") return { text: JSON.stringify(statement), ...known };
  if (check !== "pack") return input;
  const path = join(folder.path, `${at}.zip`);
  await writeFile(path, zipSync(Object.fromEntries(await packOf(input)), { level: 0 }));
  const { publicKey } = input;
  return { path, publicKey };
};

/** BLS12-381, which Python does not have. */
const UNCLAIMED = new Set(["signature"]);

test.skipIf(why !== null)(
  "every published vector has its stated verdict in Python",
  async () => {
    const jobs: Job[] = [];
    const expected: (readonly [string, object])[] = [];
    for (const file of await readdir(VECTORS)) {
      const { vectors } = vectorFile.parse(JSON.parse(await readFile(join(VECTORS, file), "utf8")));
      for (const [check, all] of Object.entries(vectors)) {
        if (UNCLAIMED.has(check)) continue;
        for (const { name, input, expect: verdict } of all) {
          jobs.push({ check, input: await inputOf(check, `${jobs.length}`, input) });
          const { error: _, ...own } = z
            .looseObject({ ok: z.boolean() })
            .parse(verdict.withoutFacts ?? verdict);
          expected.push([`${check}: ${name}`, own]);
        }
      }
    }
    const judged = await judgedByPython(jobs);
    const names = new Map(expected);
    expect(
      judged.map((verdict, at) => {
        const [name = "", own = {}] = expected[at] ?? [];
        // It may tell more than the vectors.
        const told = Object.keys(own).map((member) => [member, verdict[member]]);
        return [name, Object.fromEntries(told)];
      }),
    ).toEqual(expected);
    expect(names.size).toBeGreaterThan(150);
  },
  LONG,
);

/** What Python, or a parser of JSON, takes for something else. */
const TRAPS: readonly JsonValue[] = [
  ...[null, true, false, 0, 1, -1, 1.5, 1e21, "", "0", "-0", "+1", " 1", "1 ", "1\n", "1_0", "01"],
  ...["\uff11", "\u0663", "1e3", "0x1", `${2n ** 128n}`, `${2n ** 128n - 1n}`, "9".repeat(60)],
  ...["\ud800", "\u00e9", "1".repeat(32), "1".repeat(44), `0X${"a".repeat(64)}`],
  ...[
    `0x${"a".repeat(64)}\n`,
    `${"A".repeat(43)}=`,
    `${"A".repeat(43)}=\n`,
    "AAAA",
    "0.000000000000",
  ],
  ...["bool", "vector<u8>", "2026-07-01T24:00:00.000Z", "2026-06-31T00:00:00.000Z"],
];

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** Every copy of a value in which one thing is another or missing. */
function* edits(value: JsonValue): Generator<JsonValue> {
  for (const trap of TRAPS) yield trap;
  if (isList(value)) {
    for (const [at, one] of value.entries()) {
      yield value.toSpliced(at, 1);
      yield value.toSpliced(at, 0, one);
      for (const edited of edits(one)) yield value.with(at, edited);
    }
    yield value.toReversed();
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      const { [name]: _, ...rest } = value;
      yield rest;
      yield { ...rest, [`${name} `]: one };
      for (const edited of edits(one)) yield { ...value, [name]: edited };
    }
  } else if (typeof value === "string") {
    yield value.slice(1);
    yield `${value.slice(0, -1)}${value.endsWith("1") ? "2" : "1"}`;
  }
}

/** The same as its maker would sign it; as it is where it has nothing to sign. */
const signedAnew = (json: JsonValue): JsonValue => {
  const { data } = z.custom<Statement1 | Statement2>().safeParse(json);
  try {
    return JSON.parse(JSON.stringify(data === undefined ? json : signedAgain(data)));
  } catch {
    return json;
  }
};

const isHeld = (text: string): boolean => {
  try {
    verifyStatement(parseStrictJson(Buffer.from(text)));
    return true;
  } catch (error) {
    if (error instanceof StatementError || error instanceof StrictJsonError) return false;
    throw error;
  }
};

/** Texts in which a parser may read something else than it says. */
const TEXTS: readonly ((text: string) => string)[] = [
  (text) => text.replace("{", '{"version":1,'),
  (text) => text.replace('"isFrozen"', '"isFrozen":false,"isFrozen"'),
  (text) => `\ufeff${text}`,
  (text) => `${text}{}`,
  (text) => ` ${text}\n`,
  (text) => `\u00a0${text}`,
  (text) => text.replace("}", ",}"),
  (text) => text.replace('"decimals":6', '"decimals":6.0'),
  (text) => text.replace('"decimals":6', '"decimals":0.6e1'),
  (text) => text.replace('"decimals":6', '"decimals":06'),
  (text) => text.replace('"decimals":6', '"decimals":NaN'),
  (text) => text.replace('"decimals":6', '"decimals":-Infinity'),
  (text) => text.replace('"decimals":6', `"decimals":${"6".repeat(10_000)}`),
  (text) => text.replace('"decimals":6', '"decimals":6e-400'),
  (text) => text.replace('"format"', '"f\\u006frmat"'),
  (text) => text.replace('"format":"', '"format":"\u0000'),
  (text) => text.replaceAll('"', "'"),
  (text) => text.replace("{", "{/**/"),
  () => "[".repeat(200_000),
  () => `${'{"row":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  () => `[${"0,".repeat(150_000)}0]`,
  () => "",
];

test.skipIf(why !== null)(
  "forged statements, signed again or not, get the same verdict from Python and the command",
  async () => {
    const texts: string[] = [];
    for (const statement of [statementOf(4, 5), statement2Of(2, 3)]) {
      const honest = JSON.stringify(statement);
      texts.push(honest, ...TEXTS.map((edit) => edit(honest)));
      const json: JsonValue = JSON.parse(honest);
      for (const edited of edits(json)) {
        texts.push(JSON.stringify(edited), JSON.stringify(signedAnew(edited)));
      }
    }
    const judged = await judgedByPython(
      texts.map((text): Job => ({ check: "statement", input: { text } })),
    );
    const own = texts.map(isHeld);
    const differ = texts.flatMap((text, at) => {
      const [verdict, held] = [judged[at], own[at]];
      return verdict === undefined || verdict.ok === held
        ? []
        : [{ text: text.slice(0, 5_000), held, verdict }];
    });
    expect(differ).toEqual([]);
    // Signed anew much holds: it is what the signer says.
    expect(own.filter((held) => held).length).toBeGreaterThan(20);
    expect(own.filter((held) => !held).length).toBeGreaterThan(2_000);
  },
  LONG,
);

const { deployment, next, stranger } = KEYS;
const one = statementOf(4, 11);
const two = statement2Of(4, 11);
const own = entryOf(two);

type Entry = Omit<SequenceEntry, "keyId" | "signature">;
const entry = (number: string, more: Partial<Entry>, key = deployment): SequenceEntry =>
  signedBy(key, {
    number,
    previous: "ab".repeat(32),
    kind: "head",
    body: { chainId: one.chainId, checkpoint: "3", hash: "77".repeat(32) },
    at: two.entry.at,
    ...more,
  });
const behind = entry("18", { previous: entryHash(own) });
const before = entry("16", { kind: "root", body: rootBody1(one) });
/** The entry before it, as a statement names it that goes on behind. */
const linked = (previous: SequenceEntry): Statement2 =>
  signedAgain({ ...two, entry: { ...two.entry, previous: entryHash(previous) } });

/** The key of the statement is named by another one's entry. */
const named = () =>
  entry(
    "16",
    { kind: "key", body: { keyId: deployment.keyId, publicKey: deployment.publicKey } },
    stranger,
  );
const signedBefore = () => linked(named());

const keyBehind = (of: object, by = deployment) =>
  entry(
    "18",
    {
      kind: "key",
      previous: entryHash(own),
      body: { keyId: next.keyId, publicKey: next.publicKey, ...of },
    },
    by,
  );
/** The key of the statement is believed up to an entry. */
const revokedFrom = (from: string, before = keyBehind({})) =>
  entry(
    "19",
    {
      kind: "correction",
      previous: entryHash(before),
      body: { of: "key", keyId: deployment.keyId, from, why: "it was stolen" },
    },
    next,
  );
const lost = keyBehind({ lost: deployment.keyId }, next);

const [former, wrongRoot] = ["aa".repeat(32), "bb".repeat(32)];
const body2 = own.body;
type Corrected = { readonly root: string; readonly total: string };
const asNow: Corrected = { root: two.root, total: two.total };
const asBefore: Corrected = { root: former, total: "7" };

/** A correction of the statement's root, and other entries about it. */
const WHY = `${"a unit was counted twice, ".repeat(37)}and then again`;
const corrects = (
  number: string,
  from: Corrected,
  to: Corrected,
  more: object = {},
  root: object = {},
) =>
  entry(number, {
    kind: "correction",
    body: {
      of: "root",
      chainId: two.chainId,
      coinType: two.coinType,
      by: "Ada Byron",
      why: WHY,
      roots: [{ version: "2", checkpoint: two.checkpoint, from, to, ...root }],
      ...more,
    },
  });
const publishes = (number: string, root: object) =>
  entry(number, { kind: "root", body: { ...body2, ...root } });
const other = { root: wrongRoot, total: "9" };
const number0 = (count: string, previous = "0".repeat(64)) =>
  entry("0", {
    kind: "key",
    previous,
    body: {
      ...{ keyId: deployment.keyId, publicKey: deployment.publicKey, chainId: two.chainId },
      ...{
        roots: { count, sha256: "00".repeat(32) },
        heads: { count: "0", sha256: "00".repeat(32) },
      },
    },
  });
const unpublished = (count: string, version: string) => {
  const first = number0(count);
  const chained = {
    ...corrects("1", asBefore, asNow, {}, { version }),
    previous: entryHash(first),
  };
  return [first, signedBy(deployment, chained)];
};

/** Entries that correct the statement's root, or another one, and what is to be said of the statement. */
const CORRECTIONS: readonly (readonly [string, object, readonly SequenceEntry[], number])[] = [
  [
    "corrected before to its root",
    two,
    [publishes("10", asBefore), corrects("12", asBefore, asNow)],
    0,
  ],
  ["corrected to its root, the former not kept", two, [corrects("12", asBefore, asNow)], 0],
  ["corrected after it to another", two, [own, corrects("20", asNow, other)], 1],
  ["corrected before it from its root to another", two, [corrects("12", asNow, other)], 1],
  ["corrected to its root only after it", two, [corrects("20", asBefore, asNow)], 1],
  [
    "of another coin",
    two,
    [own, corrects("20", asNow, other, { coinType: `${two.coinType}2` })],
    0,
  ],
  ["of another checkpoint", two, [own, corrects("20", asNow, other, {}, { checkpoint: "1" })], 0],
  // Both versions are roots of one cap table.
  ["of version 1 alone", two, [own, corrects("20", asNow, other, {}, { version: "1" })], 3],
  ["of version 2 alone", one, [corrects("20", asNow, other)], 3],
  [
    "of version 1, too",
    two,
    [
      publishes("10", asBefore),
      corrects("12", asBefore, asNow),
      corrects("14", asBefore, other, {}, { version: "1" }),
    ],
    0,
  ],
  [
    "of the total alone",
    two,
    [publishes("10", { ...asNow, total: "8" }), corrects("12", { ...asNow, total: "8" }, asNow)],
    0,
  ],
  ["from a root that was not published", two, [own, corrects("20", asBefore, other)], 1],
  [
    "with another total than was published",
    two,
    [own, corrects("20", { ...asNow, total: "8" }, other)],
    1,
  ],
  [
    "of a correction, back to its root",
    two,
    [own, corrects("20", asNow, other), corrects("22", other, asNow)],
    0,
  ],
  [
    "of a correction, from the root before it",
    two,
    [own, corrects("20", asNow, other), corrects("22", asNow, asBefore)],
    1,
  ],
  [
    "twice, to different roots",
    two,
    [publishes("10", asBefore), corrects("12", asBefore, other), corrects("14", asBefore, asNow)],
    1,
  ],
  [
    "and then the former root again",
    two,
    [publishes("10", asBefore), corrects("12", asBefore, asNow), publishes("20", asBefore)],
    1,
  ],
  ["and then another root", two, [corrects("12", asBefore, asNow), publishes("20", other)], 1],
  [
    "and then its root with another digest",
    two,
    [
      publishes("10", asBefore),
      corrects("12", asBefore, asNow),
      publishes("20", { ...asNow, checkpointDigest: "8xYv" }),
    ],
    1,
  ],
  [
    "dated before the root that it corrects",
    two,
    [own, entry("20", { ...corrects("20", asNow, other), at: "2026-06-30T00:00:00.000Z" })],
    1,
  ],
  ["changing nothing", two, [corrects("12", asNow, asNow)], 1],
  [
    "of one root twice",
    two,
    [
      corrects("12", asBefore, other, {
        roots: [
          { version: "2", checkpoint: two.checkpoint, from: asBefore, to: other },
          { version: "2", checkpoint: two.checkpoint, from: other, to: asNow },
        ],
      }),
    ],
    1,
  ],
  ["by nobody", two, [corrects("12", asBefore, asNow, { by: "" })], 1],
  [
    "with a total beyond 2^128",
    two,
    [own, corrects("20", { ...asBefore, total: "9".repeat(39) }, other, {}, { checkpoint: "1" })],
    1,
  ],
  [
    "of a checkpoint beyond 2^128",
    two,
    [own, corrects("20", asBefore, other, {}, { checkpoint: "9".repeat(39) })],
    1,
  ],
  ...["Ada\u001b[2J", "Adé", "`Ada`", "Ada\n", "A".repeat(201), "\u202eadA"].map(
    (by) =>
      [`by ${JSON.stringify(by)}`, two, [corrects("12", asBefore, asNow, { by })], 1] as const,
  ),
  ["by markup", two, [corrects("12", asBefore, asNow, { by: "<script>alert(1)</script>" })], 0],
  ["without a reason", two, [corrects("12", asBefore, asNow, { why: null })], 1],
  ["with a member more", two, [corrects("12", asBefore, asNow, { through: "9" })], 1],
  ["of no root", two, [corrects("12", asBefore, asNow, { roots: [] })], 1],
  [
    "of too many roots",
    two,
    [
      corrects("12", asBefore, asNow, {
        roots: Array.from({ length: 51 }, (_, at) => ({
          version: "2",
          checkpoint: `${at}`,
          from: asBefore,
          to: asNow,
        })),
      }),
    ],
    1,
  ],
  [
    "of a version that there is not",
    two,
    [corrects("12", asBefore, asNow, {}, { version: "3" })],
    1,
  ],
  ["of a root that no entry before it publishes", two, unpublished("5", "2"), 1],
  ["of version 1, before any was signed", two, unpublished("0", "1"), 1],
  ["of version 1, where some were signed before the sequence", two, unpublished("5", "1"), 3],
  [
    "of version 1, and the statement has the former",
    one,
    [corrects("12", { root: one.root, total: one.total }, other, {}, { version: "1" })],
    1,
  ],
  [
    "of version 1, and the statement has the corrected",
    one,
    [corrects("12", other, { root: one.root, total: one.total }, {}, { version: "1" })],
    0,
  ],
];

/** Statements with entries that somebody kept, and the key that is known where it is not the statement's. */
const KEPT: readonly (readonly [string, object, readonly unknown[], string?])[] = [
  ["its key revoked from before it", two, [keyBehind({}), revokedFrom("10")]],
  ["its key revoked from behind it", two, [keyBehind({}), revokedFrom("18")]],
  ["its key revoked, a statement of version 1", one, [before, keyBehind({}), revokedFrom("17")]],
  [
    "its key revoked, and the next one known",
    two,
    [own, keyBehind({}), revokedFrom("10")],
    next.publicKey,
  ],
  ["its key revoked from later on", two, [keyBehind({}), revokedFrom("20")]],
  [
    "its key revoked by itself",
    two,
    [
      entry("19", {
        kind: "correction",
        body: { of: "key", keyId: deployment.keyId, from: "3", why: "" },
      }),
    ],
  ],
  [
    "a revocation without its reason",
    two,
    [entry("19", { kind: "correction", body: { of: "key", keyId: next.keyId, from: "3" } })],
  ],
  ["its key lost behind it", two, [own, lost]],
  ["its key lost, and the next one known", two, [own, lost], next.publicKey],
  [
    "a lost key's entry that its own key did not sign",
    two,
    [own, keyBehind({ lost: deployment.keyId }, stranger)],
  ],
  ["another key lost", two, [own, keyBehind({ lost: stranger.keyId }, next)]],
  [
    "the key before it known, which names it",
    signedBefore(),
    [named(), entry("18", {}, deployment)],
    stranger.publicKey,
  ],
  ["the key before it known, which does not name it", two, [own], stranger.publicKey],
  ["an entry by the key before the last", two, [keyBehind({}), entry("20", {})]],
  ["the entry of its root", two, [own]],
  ["one behind it", two, [behind]],
  ["the entry of its root and one behind it", two, [own, behind]],
  ["an entry of the same root of version 1", one, [before]],
  ["entries that say nothing of it", two, [before]],
  ["entries of another key", two, [entry("18", { previous: entryHash(own) }, stranger)]],
  ["another entry of its number", two, [entry("17", {})]],
  ["one behind it that names another one", two, [entry("18", {})]],
  [
    "one behind it that is older",
    two,
    [entry("18", { previous: entryHash(own), at: "2026-06-30T00:00:00.000Z" })],
  ],
  [
    "one before it that is younger",
    linked(before),
    [entry("16", { kind: "root", body: rootBody1(one), at: "2026-07-02T00:00:00.000Z" })],
  ],
  ["one before it", linked(before), [before]],
  ["one before it that it does not name", two, [before]],
  [
    "another root at its checkpoint",
    one,
    [entry("16", { kind: "root", body: rootBody1({ ...one, root: two.root }) })],
  ],
  [
    "the same with another time",
    two,
    [entry("90", { kind: "root", body: { ...own.body, checkpointTimestampMs: "1700000000998" } })],
  ],
  ["a signature of other bytes", two, [{ ...behind, signature: own.signature }]],
  ["an entry twice", two, [behind, behind]],
  ["two entries of one number", two, [before, entry("16", {})]],
  [
    "a key that names the next one",
    two,
    [
      entry("18", {
        kind: "key",
        previous: entryHash(own),
        body: { keyId: next.keyId, publicKey: next.publicKey },
      }),
      entry("20", {}, next),
    ],
  ],
  ["an entry with a member that nobody knows", two, [{ ...behind, note: "" }]],
  [
    "an entry of a kind that nobody knows",
    two,
    [entry("19", { kind: "root", body: { ...own.body, root: "no root" } })],
  ],
  [
    "one dated on a day that no calendar has",
    two,
    [entry("20", { at: "2026-09-31T00:00:00.000Z" }), behind],
  ],
  [
    "one dated at an hour that no day has",
    two,
    [behind, entry("20", { at: "2026-07-01T24:00:00.000Z" })],
  ],
  ["something else", two, [{ checkpoint: "7" }]],
  ["nothing", two, []],
];

test.skipIf(why !== null)(
  "kept entries prove the same in Python and in the command, with the same exit codes",
  async () => {
    const runs: (readonly string[])[] = [];
    const commands: (number | null)[] = [];
    for (const [at, [, statement, kept, known = deployment.publicKey]] of KEPT.entries()) {
      const file = join(folder.path, `${at}-statement.json`);
      const entries = join(folder.path, `${at}-entries.json`);
      await writeFile(file, JSON.stringify(statement));
      // A page of the sequence, a list, and one a line.
      const texts = [
        JSON.stringify({ entries: kept, next: null }),
        JSON.stringify(kept),
        kept.map((line) => JSON.stringify(line)).join("\n"),
      ];
      await writeFile(entries, texts[at % 3] ?? "");
      const args = [file, "--key", known, "--entry", entries];
      runs.push(args);
      commands.push((await runCommand(["statement", "verify", ...args], {})).code);
    }
    const codes = (await runVerifier("verify_statement.py", runs)).map(({ code }) => code);
    const named = (all: typeof commands) => KEPT.map(([name], at) => [name, all[at]]);
    expect(named(codes)).toEqual(named(commands));
    expect(new Set(codes)).toEqual(new Set([0, 1, 2, 3]));
  },
  LONG,
);

test.skipIf(why !== null)(
  "verify_statement.py takes key and root like the command, and says what it did not compare",
  async () => {
    const file = join(folder.path, "mine.json");
    await writeFile(file, `${JSON.stringify(two, null, 2)}\n`);
    const known = two.publicKey;
    const runs = [
      [file],
      [file, "--key", known],
      [file, "--key", stranger.publicKey],
      [file, "--key", known.replace("=", "")],
      [file, "--root", two.root],
      [file, "--root", `0x${two.root.toUpperCase()}`],
      [file, "--root", one.root],
      [file, "--root", "5b1f"],
      [],
    ];
    const judged = await runVerifier("verify_statement.py", runs);
    for (const [at, args] of runs.entries()) {
      const command = await runCommand(["statement", "verify", ...args], {});
      const { code, stdout, stderr } = judged[at] ?? {};
      expect([args, code]).toEqual([args, command.code]);
      expect(code === 0 ? stderr : stdout).toBe("");
    }
    const alone = judged[0] ?? { stdout: "" };
    expect(alone.stdout).toMatch(
      /^the statement agrees with itself, but nothing shows whose it is\n/,
    );
    expect(alone.stdout).toMatch(/^not compared: whose key /m);
    expect(alone.stdout).toMatch(/^not compared: whether others see the same root/m);
  },
  LONG,
);

test.skipIf(why !== null)(
  "a statement with a root that a correction replaces is refused by Python and the command, and a corrected one is said to be",
  async () => {
    const runs: (readonly string[])[] = [];
    const commands: number[] = [];
    for (const [at, [name, statement, kept, code]] of CORRECTIONS.entries()) {
      const file = join(folder.path, `${at}-corrected.json`);
      const entries = join(folder.path, `${at}-corrections.json`);
      await writeFile(file, JSON.stringify(statement));
      await writeFile(entries, JSON.stringify(kept));
      const args = [file, "--key", deployment.publicKey, "--entry", entries];
      runs.push(args);
      const ran = await runCommand(["statement", "verify", ...args], {});
      expect([name, ran.code, ran.stderr], ran.stdout).toEqual([name, code, expect.anything()]);
      commands.push(ran.code);
      if (at < 2) expect(ran.stdout).toContain(`corrects the published root of version 2`);
      if (at < 2) expect(ran.stdout).toContain(`by Ada Byron: ${WHY}`);
    }
    const judged = await runVerifier("verify_statement.py", runs);
    const names = CORRECTIONS.map(([name]) => name);
    expect(judged.map(({ code }, at) => [names[at], code])).toEqual(
      commands.map((code, at) => [names[at], code]),
    );
    expect(judged[0]?.stdout).toContain(`by Ada Byron: ${WHY}`);
    expect(judged[2]?.stderr).toContain(`by Ada Byron: ${WHY}`);
  },
  LONG,
);

test.skipIf(why !== null)(
  "Python accepts exactly the corrected sequences that the client accepts",
  async () => {
    const sequences = Array.from({ length: 400 }, (_, seed) => anySequence(seed));
    const judged = await judgedByPython(
      sequences.map(
        (entries): Job => ({
          check: "sequence",
          input: { entries, publicKey: deployment.publicKey },
        }),
      ),
    );
    const own = await Promise.all(
      sequences.map((entries) =>
        verifySequence(entries, { publicKey: deployment.publicKey }).then(
          () => true,
          (error: unknown) => {
            if (error instanceof SequenceError) return false;
            throw error;
          },
        ),
      ),
    );
    expect(judged.map(({ ok }) => ok)).toEqual(own);
    const accepted = own.filter((held) => held).length;
    expect(accepted).toBeGreaterThan(40);
    expect(accepted).toBeLessThan(360);
  },
  LONG,
);

/** A few entries about two roots, with corrections among them that may be true or false. */
const anySequence = (seed: number): readonly SequenceEntry[] => {
  let state = seed * 2_654_435_761 + 1;
  const below = (most: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % most;
  };
  const value = () => ({ root: `${below(3)}`.repeat(64), total: below(8) === 0 ? "8" : "7" });
  const entries: SequenceEntry[] = below(2) === 0 ? [number0(below(2) === 0 ? "0" : "2")] : [];
  // Mostly true: what is said of each root so far.
  const said = new Map<string, { readonly root: string; readonly total: string }>();
  for (let number = BigInt(entries.length === 0 ? 3 : 1); entries.length < 7; ) {
    const version = below(2) === 0 ? "1" : "2";
    const isTrue = below(6) > 0;
    const known = isTrue ? said.get(version) : undefined;
    const last = entries.at(-1);
    const previous = last === undefined ? "ab".repeat(32) : entryHash(last);
    if (below(2) === 0) {
      const root = known ?? value();
      said.set(version, root);
      entries.push(
        entry(`${number}`, { kind: "root", previous, body: { ...body2, version, ...root } }),
      );
    } else {
      const [from, to] = [known ?? value(), value()];
      said.set(version, to);
      const made = corrects(`${number}`, from, to, {}, { version });
      entries.push(signedBy(deployment, { ...made, previous }));
    }
    number += below(5) === 0 ? 2n : 1n;
  }
  return entries;
};
