// @module-tag thorough
/** `docs/examples/verify_pack.py` against the client and the command line. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { zipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signedBy } from "../../bin/reference/vectors/sequences.ts";
import { KEYS } from "../../bin/reference/vectors/vector.ts";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { rootOf } from "../../client/sum-tree.ts";
import { AuditPackError, verdictLines, verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { entryHash } from "../../src/audit/sequence/sequence.ts";
import { checkContents } from "../../src/evidence/pack/check.ts";
import { openFiles } from "../../src/evidence/pack/form.ts";
import { reportOf } from "../../src/evidence/pack/report.ts";
import { verifyPack } from "../../src/evidence/pack/verify.ts";
import { FORGED_ACTS, withActs } from "../evidence/forged-acts.ts";
import { FORGED_FILES } from "../evidence/forged-files.ts";
import { FORGERIES, FORGERIES_OF_WHOLE, UNPROVEN } from "../evidence/forgeries.ts";
import { type Forgery, manifestIn, textIn, withText } from "../evidence/forging.ts";
import { filesOfKept, type PackInMemory, signedAnew } from "../evidence/packs.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Job, judgedByPython, runVerifier, type Verdict, whyNoPython } from "./python.ts";

const why = await whyNoPython();
if (why !== null) console.warn(`${why}: verify_pack.py is not tested`);

/** The deployment's, which the auditor knows. */
const key = KEYS.deployment;
const { publicKey } = key;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

let written = 0;
const place = () => {
  written += 1;
  return join(folder.path, `${written}`);
};
const zipped = async (pack: PackInMemory): Promise<string> => {
  const path = `${place()}.zip`;
  await writeFile(path, zipSync(Object.fromEntries(pack), { level: 0 }));
  return path;
};
const unpacked = async (pack: PackInMemory): Promise<string> => {
  const path = place();
  for (const [file, bytes] of pack) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), bytes);
  }
  return path;
};

/** The verdict, or the file that is named first. */
const said = async (checking: ReturnType<typeof verifyAuditPack | typeof verifyPack>) => {
  try {
    const { authentic, consistent, complete } = (await checking).verdict;
    return [authentic.holds, consistent.holds, complete.holds];
  } catch (error) {
    if (!(error instanceof AuditPackError)) throw error;
    return error.failures[0]?.file;
  }
};
const saidByPython = (verdict: Verdict) =>
  verdict.ok ? [verdict.authentic, verdict.consistent, verdict.complete] : verdict.file;

const job = (path: string, more: object = {}): Job => ({
  check: "pack",
  input: { path, publicKey, ...more },
});

/** On a machine that is busy with other tests. */
const LONG = 180_000;

const KIT = [...FORGERIES, ...FORGED_FILES];
const honestPacks = async (): Promise<
  Readonly<Record<string, readonly [PackInMemory, readonly Forgery[]]>>
> => {
  const own = async (name: Parameters<typeof filesOfKept>[0]) =>
    signedAnew(await filesOfKept(name), undefined, key);
  const whole = await own("v2-whole");
  const half = (odd: 0 | 1) => KIT.filter((_, at) => at % 2 === odd);
  return {
    "version 1": [await own("v1-proven"), half(0)],
    "version 2": [whole, [...KIT, ...FORGERIES_OF_WHOLE]],
    "version 3": [withActs(whole, key), [...half(1), ...FORGED_ACTS]],
  };
};

test.skipIf(why !== null)(
  "Python and the client agree on every forged pack, and name the same file first",
  async () => {
    for (const [version, [honest, forgeries]] of Object.entries(await honestPacks())) {
      const jobs: Job[] = [];
      const bySelf: unknown[] = [];
      let refused = 0;
      const packs = [
        honest,
        ...(await Promise.all(forgeries.map(({ forge }) => forge(honest, key)))),
      ];
      for (const pack of packs) {
        // As a zip, and now and then as a folder.
        jobs.push(job(await (jobs.length % 8 === 0 ? unpacked(pack) : zipped(pack))));
        const own = await said(verifyAuditPack(pack, { publicKey }));
        if (!Array.isArray(own)) refused += 1;
        bySelf.push(own);
      }
      const names = ["honest", ...forgeries.map(({ name }) => name)];
      const byPython = (await judgedByPython(jobs)).map(saidByPython);
      const listed = (all: readonly unknown[]) => names.map((name, at) => [name, all[at]]);
      expect(listed(byPython), version).toEqual(listed(bySelf));
      expect(bySelf[0], version).toEqual([true, null, null]);
      expect(refused, version).toBeGreaterThanOrEqual(60);
      // What the client passes it does not call consistent: the command line refuses it by the facts.
      expect(bySelf.flat(), version).not.toContain(false);
    }
  },
  LONG,
);

test.skipIf(why !== null)(
  "from formats.md alone, Python rebuilds a pack's chain, movements, events and registers",
  async () => {
    const whole = await filesOfKept("v2-whole");
    const silent = new Map(whole).set("movements.ndjson", new Uint8Array());
    const paths = [await zipped(whole), await zipped(silent)];
    const [remade, forged] = await judgedByPython(
      paths.map((path) => ({ check: "remade", input: { path } })),
    );
    expect(remade).toEqual({ ok: true });
    expect(forged).toMatchObject({ ok: false });
  },
  LONG,
);

test.skipIf(why !== null)(
  "claims that nothing in a pack proves are reported as unproven by Python too",
  async () => {
    const { "version 2": [honest] = [] } = await honestPacks();
    if (honest === undefined) throw new Error("there is no pack");
    const packs = await Promise.all(UNPROVEN.map(({ forge }) => forge(honest, key)));
    for (const verdict of await judgedByPython(
      await Promise.all(packs.map(async (pack) => job(await unpacked(pack)))),
    )) {
      expect(verdict).toEqual({ ok: true, authentic: true, consistent: null, complete: null });
    }
  },
  LONG,
);

/** The whole pack of version 2, and entries of its deployment about it. */
const keptAbout = async () => {
  const pack = signedAnew(await filesOfKept("v2-whole"), undefined, key);
  const { chainId, coinType, last, roots, coinChain } = manifestIn(pack);
  const { facts = "", hash = "" } = coinChain ?? {};
  const of = { chainId, coinType, checkpoint: last.checkpoint };
  const { root, total } = roots.last;
  const table = JSON.parse(textIn(pack, "last/cap-table.json"));
  const second = await rootOf({ ...table, version: 2 });
  const entry = (
    kind: "coin" | "root" | "correction" | "act",
    body: Record<string, JsonValue>,
    number = "40",
  ) =>
    signedBy(key, {
      number,
      previous: "ab".repeat(32),
      kind,
      body,
      at: "2026-07-01T00:00:02.114Z",
    });
  const digests = { checkpointDigest: last.digest, root, total };
  return {
    pack,
    entry,
    coin: { ...of, facts, hash },
    root1: { ...of, version: "1", ...digests },
    root2: {
      ...of,
      version: "2",
      ...digests,
      root: second.root,
      decimals: `${table.decimals}`,
      checkpointTimestampMs: last.timestampMs,
    },
  };
};

test.skipIf(why !== null)(
  "a pack contradicted by kept entries is refused by Python and the command, and none of them makes it complete",
  async () => {
    const { pack, entry, coin, root1, root2 } = await keptAbout();
    const other = "77".repeat(32);
    const anew = entry("correction", { of: "log", through: "99" }, "50");
    const cases: readonly (readonly [unknown, readonly ReturnType<typeof entry>[]])[] = [
      ["holds", [entry("coin", coin)]],
      ["holds", [entry("root", root1)]],
      ["holds", [entry("root", root2)]],
      ["holds", [entry("root", { ...root1, checkpoint: "7", root: other })]],
      ["holds", [entry("coin", { ...coin, hash: other }), anew]],
      ["entry 40", [entry("coin", { ...coin, hash: other })]],
      ["entry 40", [entry("coin", { ...coin, facts: "1" })]],
      ["entry 40", [entry("coin", { ...coin, chainId: "another" })]],
      ["last/cap-table.json", [entry("root", { ...root1, root: other })]],
      ["last/cap-table.json", [entry("root", { ...root2, root: other })]],
      ["last/cap-table.json", [entry("root", { ...root2, decimals: "2" })]],
      ["last/cap-table.json", [entry("root", { ...root1, total: "1" })]],
    ];
    const path = await unpacked(pack);
    const judged = await judgedByPython(cases.map(([, entries]) => job(path, { entries })));
    for (const [at, [expected, entries]] of cases.entries()) {
      const file = place();
      await writeFile(file, JSON.stringify({ entries }));
      const own = await said(verifyPack(path, { publicKey }, { entries: [file] }));
      const isHeld = expected === "holds";
      expect([at, Array.isArray(own) ? "holds" : own]).toEqual([at, expected]);
      const byPython = judged[at] && saidByPython(judged[at]);
      expect([at, byPython]).toEqual([at, isHeld ? [true, null, null] : expected]);
    }
  },
  LONG,
);

test.skipIf(why !== null)(
  "Python and the command agree on the signer of a pack, also with a renewed, lost or revoked key",
  async () => {
    const { pack } = await keptAbout();
    const { deployment, next, stranger } = KEYS;
    const signed = (
      by: typeof next,
      number: string,
      kind: "key" | "correction",
      body: Record<string, JsonValue>,
      previous = "ab".repeat(32),
    ) => signedBy(by, { number, previous, kind, body, at: "2026-07-01T00:00:02.114Z" });
    const names = ({ keyId, publicKey: text }: typeof next) => ({ keyId, publicKey: text });
    const renewed = signed(deployment, "40", "key", names(next));
    const revoked = (from: string) => ({ of: "key", keyId: deployment.keyId, from, why: "stolen" });
    const lost = signed(next, "40", "key", { ...names(next), lost: deployment.keyId });
    const before = signed(stranger, "30", "key", names(deployment));
    const cases = [
      { known: deployment, entries: [renewed], says: [true] },
      { known: stranger, entries: [before], says: [true] },
      { known: stranger, entries: [renewed], says: "manifest.sig.json" },
      { known: next, entries: [renewed], says: "manifest.sig.json" },
      {
        known: deployment,
        entries: [renewed, signed(next, "41", "correction", revoked("35"), entryHash(renewed))],
        says: [null],
      },
      {
        known: deployment,
        entries: [renewed, signed(next, "41", "correction", revoked("41"), entryHash(renewed))],
        says: [null],
      },
      { known: deployment, entries: [lost], says: [true] },
      { known: next, entries: [lost], says: "manifest.sig.json" },
      { known: stranger, entries: [before, lost], says: [true] },
      {
        known: deployment,
        entries: [signed(deployment, "41", "correction", revoked("41"))],
        says: "--entry",
      },
    ];
    const path = await unpacked(pack);
    const judged = await judgedByPython(
      cases.map(({ known, entries }) => job(path, { publicKey: known.publicKey, entries })),
    );
    for (const [at, { known, entries, says }] of cases.entries()) {
      const file = place();
      await writeFile(file, JSON.stringify(entries));
      const own = await said(verifyPack(path, { publicKey: known.publicKey }, { entries: [file] }));
      expect([at, Array.isArray(own) ? own.slice(0, 1) : own]).toEqual([at, says]);
      const byPython = judged[at] && saidByPython(judged[at]);
      // Python names no file of what is false in the entries themselves.
      const named = says === "--entry" ? "" : says;
      expect([at, Array.isArray(byPython) ? byPython.slice(0, 1) : byPython]).toEqual([at, named]);
    }
  },
  LONG,
);

test.skipIf(why !== null)(
  "a kept entry of an act refutes a pack with a different version of the act",
  async () => {
    const { pack, entry } = await keptAbout();
    const path = await unpacked(withActs(pack, key));
    const act = (number: string, sha256: string) => entry("act", { act: number, sha256 });
    const [other, unlisted] = await judgedByPython([
      job(path, { entries: [act("5", "00".repeat(32))] }),
      job(path, { entries: [act("4", "00".repeat(32))] }),
    ]);
    expect(other).toMatchObject({ ok: false, file: "acts.ndjson" });
    expect(unlisted).toMatchObject({ ok: true, complete: null });
  },
  LONG,
);

/** A pack of version 3 with these acts, and the report that follows. */
const withReport = async (
  pack: PackInMemory,
  edit: (acts: readonly object[]) => readonly object[],
): Promise<string> => {
  const acts = textIn(pack, "acts.ndjson")
    .trimEnd()
    .split("\n")
    .map((line): object => JSON.parse(line));
  const lines = edit(acts).map((act) => `${canonicalJson(JSON.parse(JSON.stringify(act)))}\n`);
  const edited = signedAnew(withText(pack, "acts.ndjson", lines.join("")), undefined, key);
  const { files: _, ...head } = manifestIn(edited);
  const decimals = JSON.parse(textIn(edited, "last/cap-table.json")).decimals;
  const outcome = await checkContents(await openFiles(await unpacked(edited)), head, decimals);
  const report = reportOf(head, outcome);
  return unpacked(signedAnew(withText(edited, "report.md", report), undefined, key));
};

test.skipIf(why !== null)(
  "Python and the command say which roots of a pack's token were corrected, and refuse a pack that hides it",
  async () => {
    const { pack, entry, root1, root2, coin } = await keptAbout();
    const { coinType, last, chainId } = manifestIn(pack);
    const to = { root: root1.root, total: root1.total };
    const to2 = { root: root2.root, total: root2.total };
    const from = { root: "77".repeat(32), total: "5" };
    const other = { root: "88".repeat(32), total: "6" };
    const who = { by: "Ada Byron", why: "a unit was counted twice" };
    const corrects = (number: string, roots: readonly object[], more: object = {}) =>
      entry(
        "correction",
        JSON.parse(JSON.stringify({ of: "root", chainId, coinType, ...who, roots, ...more })),
        number,
      );
    const of = (one: object, now: object, more: object = {}) => ({
      version: "1",
      checkpoint: last.checkpoint,
      from: one,
      to: now,
      ...more,
    });
    const correction = corrects("20", [of(from, to), of(from, to2, { version: "2" })]);
    const acting = (more: object, entryNumber: string | null = "35") => ({
      ...{
        number: "5",
        at: "2026-01-05T00:00:00.000Z",
        command: "replay",
        scope: "coin",
        coinType,
      },
      ...{ by: { user: "operator", host: "register", role: "holderbook" }, salt: "5".repeat(32) },
      details: { correction: "20", checkpoints: last.checkpoint, ...who, ...more },
      entry: entryNumber,
    });
    const third = withActs(pack, key);
    const replaced = (act: object) => (acts: readonly object[]) =>
      acts.map((one, at) => (at === 1 ? act : one));
    const plain = await unpacked(pack);
    const told = await withReport(third, replaced(acting({})));
    const early = await withReport(third, () => [
      acting({ correction: "9", checkpoints: "1" }, "12"),
    ]);
    const silent = await withReport(third, (acts) => acts);
    const byOther = await withReport(third, replaced(acting({ by: "Eve" })));
    const twice = await withReport(third, (acts) => [
      ...acts.slice(0, 2),
      {
        ...acting({ why: "nothing to worry about" }, "37"),
        number: "7",
        at: "2026-01-07T00:00:00.000Z",
      },
      { ...acting({}, "38"), number: "8", at: "2026-01-08T00:00:00.000Z" },
    ]);
    const elsewhere = await withReport(third, replaced(acting({ checkpoints: "1" })));
    const byNobody = await withReport(third, replaced(acting({ by: null })));
    const old1 = { ...root1, ...from };
    type Case = readonly [
      expected: string,
      path: string,
      entries: readonly ReturnType<typeof entry>[],
    ];
    const cases: readonly Case[] = [
      ["holds", told, [correction]],
      [
        "holds",
        told,
        [entry("root", old1, "10"), correction, entry("root", root1), entry("coin", coin, "50")],
      ],
      // A pack of before version 3 has no acts; one without a later entry may be older.
      ["holds", plain, [correction]],
      ["holds", early, [corrects("20", [of(from, to, { checkpoint: "1" })])]],
      [
        "holds",
        told,
        [corrects("21", [of(from, to, { checkpoint: "1" })], { coinType: `${coinType}2` })],
      ],
      ["holds", told, [correction, corrects("60", [of(from, to, { checkpoint: "1" })])]],
      // Its registers have the former root, or a third one.
      ["last/cap-table.json", plain, [corrects("20", [of(to, other)])]],
      ["last/cap-table.json", plain, [corrects("20", [of(to2, other, { version: "2" })])]],
      ["last/cap-table.json", plain, [corrects("20", [of(from, { ...to, total: "1" })])]],
      ["--entry", plain, [corrects("20", [of(from, other)]), corrects("22", [of(from, to)])]],
      ["--entry", plain, [entry("root", old1, "10"), correction, entry("root", old1, "40")]],
      ["--entry", plain, [entry("root", root1, "10"), correction]],
      ["entry 20", plain, [corrects("20", [of(from, to)], { chainId: "another" })]],
      // The act about it is left out, or says otherwise.
      ["acts.ndjson", silent, [correction]],
      ["acts.ndjson", silent, [corrects("20", [of(from, to, { checkpoint: "1" })])]],
      ["acts.ndjson", byOther, [correction]],
      ["acts.ndjson", byNobody, [entry("coin", coin, "50")]],
      ["acts.ndjson", elsewhere, [correction]],
      ["acts.ndjson", twice, [correction]],
      ["acts.ndjson", told, [entry("coin", coin, "20")]],
      ["acts.ndjson", told, [corrects("20", [of(from, to)], { coinType: `${coinType}2` })]],
    ];
    const judged = await judgedByPython(cases.map(([, path, entries]) => job(path, { entries })));
    for (const [at, [expected, path, entries]] of cases.entries()) {
      const file = place();
      await writeFile(file, JSON.stringify({ entries }));
      const own = await said(verifyPack(path, { publicKey }, { entries: [file] }));
      expect([at, Array.isArray(own) ? "holds" : own]).toEqual([at, expected]);
      const byPython = judged[at] && saidByPython(judged[at]);
      const named = expected === "--entry" ? "" : expected;
      expect([at, Array.isArray(byPython) ? "holds" : byPython]).toEqual([at, named]);
    }
    // Plainly, with and without kept entries.
    const words = [
      `corrected those of checkpoints ${last.checkpoint}, by Ada Byron: a unit was counted twice`,
    ];
    const kept = place();
    await writeFile(kept, JSON.stringify([correction]));
    const keptWords = [
      ...words,
      `from ${from.root} with the total 5 to ${to.root} with the total ${to.total}, by Ada Byron`,
    ];
    const [alone, withKept] = await runVerifier("verify_pack.py", [
      [told],
      [told, "--entry", kept],
    ]);
    const { verdict } = await verifyPack(told, { publicKey }, { entries: [kept] });
    const client = await verifyAuditPack(third, { publicKey });
    for (const text of words) expect(alone?.stdout).toContain(text);
    for (const text of keptWords) {
      expect(withKept?.stdout).toContain(text);
      expect(verdictLines(verdict).join("\n")).toContain(text);
    }
    expect(client.unchecked.join("\n")).not.toContain("corrected");
    const inMemory = await openFiles(told);
    expect((await verifyAuditPack(inMemory, { publicKey })).unchecked.join("\n")).toContain(
      words[0],
    );
  },
  LONG,
);

/** A zip whose central directory was edited: names there and in the headers of its files. */
const renamed = (zip: Uint8Array, from: string, to: string): Buffer => {
  expect(to.length).toBe(from.length);
  return Buffer.from(Buffer.from(zip).toString("latin1").replaceAll(from, to), "latin1");
};

test.skipIf(why !== null)(
  "archives and folders that another program would unpack differently are refused",
  async () => {
    const pack = signedAnew(await filesOfKept("v1-signed"), undefined, key);
    const files = Object.fromEntries(pack);
    const more = (name: string) => zipSync({ ...files, [name]: new Uint8Array(3) }, { level: 0 });
    const link = zipSync(
      {
        ...files,
        "report.md": [files["report.md"] ?? new Uint8Array(), { attrs: 0o120777 << 16, os: 3 }],
      },
      { level: 0 },
    );
    const inFolder = Object.fromEntries([...pack].map(([file, bytes]) => [`acme/${file}`, bytes]));
    const zips: readonly (readonly [string, Uint8Array])[] = [
      ["report.md", renamed(more("xeport.md"), "xeport.md", "report.md")],
      ["report.md", link],
      ["../notes.txt", more("../notes.txt")],
      ["/etc/passwd", more("/etc/passwd")],
      ["report.md/", more("report.md/")],
      ["holds", zipSync(inFolder, { level: 9 })],
      ["manifest.json", zipSync({ ...inFolder, "../report.md": new Uint8Array(3) })],
    ];
    const jobs: Job[] = [];
    for (const [, zip] of zips) {
      const path = `${place()}.zip`;
      await writeFile(path, zip);
      jobs.push(job(path));
    }
    const linked = await unpacked(pack);
    await symlink("/dev/zero", join(linked, "zero"));
    const deep = await unpacked(new Map([...pack, ["first/more/state.ndjson", new Uint8Array()]]));
    const judged = await judgedByPython([...jobs, job(linked), job(deep)]);
    expect(judged.map((one) => (one.ok ? "holds" : one.file))).toEqual([
      ...zips.map(([name]) => name),
      "zero",
      "first/more",
    ]);
  },
  LONG,
);

test.skipIf(why !== null)(
  "verify_pack.py has the command's exit codes, and says what it did not check",
  async () => {
    const pack = signedAnew(await filesOfKept("v1-signed"), undefined, key);
    const path = await unpacked(pack);
    const forged = await unpacked(new Map(pack).set("report.md", new Uint8Array(3)));
    const entries = place();
    await writeFile(entries, "{}");
    const nowhere = join(folder.path, "nowhere");
    const known = [path, "--key", publicKey];
    const [held, unshown, unknown, refused, ...misused] = await runVerifier("verify_pack.py", [
      [...known, "--require", "authentic"],
      known,
      [path, "--require", "authentic"],
      [forged, "--key", publicKey],
      [],
      [nowhere],
      [path, "--key", "AAAA"],
      [path, "--require", "truth"],
      [path, "--entry", entries],
      [path, "--entry", nowhere],
    ]);
    expect(held).toMatchObject({ code: 0, stderr: "" });
    expect(held?.stdout).toMatch(/^authentic .*: holds$/m);
    expect(held?.stdout).toMatch(/^consistent .*: not shown$/m);
    expect(held?.stdout).toMatch(/signatures of validators: not checked/);
    expect(held?.stdout).toMatch(/^complete .*: not shown$/m);
    const left = "required, and not shown: consistent\n";
    expect(unshown).toMatchObject({ code: 3, stderr: left });
    expect(unknown).toMatchObject({ code: 3 });
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("report.md: has 3 bytes"),
    });
    for (const wrong of misused) expect(wrong).toMatchObject({ code: 2, stdout: "" });
  },
  LONG,
);
