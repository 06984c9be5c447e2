import { blake2b } from "@noble/hashes/blake2.js";
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { base58 } from "../../src/values/base58.ts";
import type { CheckpointProof } from "../../web/src/data/answers.ts";
import { checkFiles } from "../../web/src/pages/proof/check/check.ts";
import { type Files, withoutFolder } from "../../web/src/pages/proof/check/dropped.ts";
import {
  holds,
  type Report,
  toneOf,
  UncheckableError,
} from "../../web/src/pages/proof/check/report.ts";
import { memberTwice, stepsOf } from "../../web/src/pages/proof/check/statement.ts";
import { comparedRoot, heldRoot } from "../../web/src/pages/proof/held-root.ts";
import { summaryDigest } from "../../web/src/pages/proof/summary-digest.ts";
import { pointsOf, verdictOf } from "../../web/src/pages/proof/verified.ts";
import { statement2Of, statementOf } from "../client/statement.ts";
import { filesOfVersion1, type PackInMemory, signedAnew } from "../evidence/packs.ts";

const one = (name: string, text: string): Files => new Map([[name, new Blob([text])]]);
const check = (files: Files): Promise<Report> => checkFiles(files, () => undefined);
const failing = ({ steps }: Report): readonly string[] =>
  steps.filter(({ result }) => result === "fails").map(({ title }) => title);

test("a statement made by the service passes every step, and its key and root are named", async () => {
  const statement = statementOf(3, 8);
  const report = await check(one("mine.json", JSON.stringify(statement)));
  expect(holds(report)).toBe(true);
  expect(report.steps).toHaveLength(5);
  expect(report.publicKey).toBe(statement.publicKey);
  expect(report.root?.root).toBe(statement.root);
  expect(report.open.length).toBeGreaterThan(0);
});

test("a statement of version 2 passes, leaves less open than version 1, and its root is compared with those of version 2", async () => {
  const statement = statement2Of(3, 8);
  const report = await check(one("mine.json", JSON.stringify(statement)));
  expect(report.steps.map(({ result }) => result)).toEqual(report.steps.map(() => "holds"));
  expect(report.root).toMatchObject({ root: statement.root, version: 2 });
  expect(toneOf(report)).toBe("good");
  const alone = /only the signature vouches for these/;
  expect(report.open.join("\n")).not.toMatch(alone);
  expect(report.open.join("\n")).toContain(statement.entry.at);
  const first = await check(one("mine.json", JSON.stringify(statementOf(3, 8))));
  expect(first.open.join("\n")).toMatch(alone);
  const decimals = await check(one("x.json", JSON.stringify({ ...statement, decimals: 7 })));
  expect(failing(decimals)).toContainEqual(expect.stringMatching(/part of the cap table/));
});

test("a file with a former root does not match, though the corrected root is not published yet", () => {
  const [former, held] = ["aa", "bb"].map((byte) => ({ root: byte.repeat(32), total: "7" }));
  if (former === undefined || held === undefined) throw new Error("there are two");
  const published = {
    ...{ chainId: "c", coinType: "0x2::acme::ACME", checkpoint: "5", checkpointDigest: "d" },
    ...{ keyId: "k", signature: "s", signedAt: "2026-07-01T00:00:00.000Z", number: "3" },
    ...former,
    corrections: [],
  };
  const at = {
    number: "4",
    at: "2026-07-02T00:00:00.000Z",
    version: "1",
    checkpoint: "5",
  } as const;
  const correction = { ...at, from: former, to: held, by: "Ada", why: "<b>a unit</b>" };
  expect(comparedRoot(former.root, published)).toEqual({ found: "same", correction: undefined });
  expect(comparedRoot(held.root, published)).toEqual({ found: "other" });
  const corrected = { ...published, corrections: [correction] };
  expect(heldRoot(corrected)).toEqual(held);
  expect(comparedRoot(former.root, corrected)).toEqual({ found: "former", correction });
  expect(comparedRoot(held.root, corrected)).toEqual({ found: "same", correction });
  expect(comparedRoot("cc".repeat(32), corrected)).toEqual({ found: "other" });
  expect(comparedRoot(held.root, undefined)).toEqual({ found: "none" });
});

test("a change in a statement fails the step that covers it", async () => {
  const statement = statementOf(3, 8);
  const changed = async (change: object) =>
    failing(await check(one("x.json", JSON.stringify({ ...statement, ...change }))));
  const signed = "The deployment signed the statement";
  expect(await changed({ checkpointTimestamp: "1700000001" })).toEqual([signed]);
  expect(await changed({ row: { ...statement.row, balance: "1" } })).toEqual([
    "The row adds up",
    "The row is part of the cap table",
    signed,
  ]);
  expect(await changed({ path: statement.path.slice(1) })).toEqual([
    "The row is part of the cap table",
    signed,
  ]);
  expect(await changed({ chainId: "another" })).toEqual(["The deployment signed the root", signed]);
});

test("a statement without its form is not examined further, and no text of it is shown", async () => {
  const { root: _, ...rest } = statementOf(0, 2);
  const report = await check(one("x.json", JSON.stringify(rest)));
  expect(report.steps.map(({ result }) => result)).toEqual([
    "fails",
    "skipped",
    "skipped",
    "skipped",
    "skipped",
  ]);
  expect(report.contents).toEqual([]);
  expect(report.publicKey).toBeNull();
});

test("a statement with a repeated member fails, whichever copy a parser keeps", async () => {
  const text = JSON.stringify(statementOf(0, 2)).replace("{", '{"total":"9",');
  expect(failing(await check(one("x.json", text)))).toEqual(["Well-formed statement"]);
});

test("members are counted per object, however they are escaped", () => {
  expect(memberTwice('{"a":{"a":1},"b":[{"a":1},{"a":2}]}')).toBeNull();
  expect(memberTwice('{"a":"a:","b":"{\\"a\\":1}"}')).toBeNull();
  expect(memberTwice('{"a":1,"\\u0061":2}')).toBe("a");
  expect(memberTwice('[{"x":[],"y":{},"x":null}]')).toBe("x");
});

test("a failure that the page does not know is shown, and never counts as a pass", () => {
  const steps = stepsOf(["the moon is blue"]);
  expect(steps.at(-1)).toEqual({
    title: "Other checks",
    result: "fails",
    details: ["the moon is blue"],
  });
});

/** A pack as a browser has it, perhaps edited and signed anew. */
const pack = async (
  edit: (files: PackInMemory) => void = () => undefined,
  opening: "proven" | "signed" = "proven",
): Promise<Map<string, Blob>> => {
  const files = await filesOfVersion1(opening);
  edit(files);
  return new Map([...signedAnew(files)].map(([path, bytes]) => [path, new Blob([bytes])]));
};

/** Changes a text of a pack. */
const changing = (path: string, change: (text: string) => string) => (files: PackInMemory) => {
  const text = Buffer.from(files.get(path) ?? []).toString();
  expect(change(text)).not.toBe(text);
  files.set(path, Uint8Array.from(Buffer.from(change(text))));
};

const reasons = ({ steps }: Report) =>
  steps.flatMap(({ result, details }) => (result === "fails" ? details : []));

const [AUTHENTIC, CONSISTENT] = [
  "Authentic: signed by this key, over these bytes",
  "Consistent: tables, movements and report follow from the facts",
];

test("a pack without contradictions claims no more than what was computed here", async () => {
  for (const opening of ["proven", "signed"] as const) {
    const report = await check(await pack(undefined, opening));
    expect([holds(report), reasons(report)]).toEqual([true, []]);
    // Without a key from elsewhere, without validators and without the ledger none of the three is shown.
    expect(report.steps.map(({ result }) => result)).toEqual(["open", "open", "open"]);
    expect(report.open.join()).toContain("signatures of validators: not checked");
    expect(report.contents).toContainEqual({
      name: "From",
      text: expect.stringMatching(/checkpoint/),
    });
  }
});

test("a pack whose signed registers and movements do not fit together fails, and says where", async () => {
  const short = await check(
    await pack(changing("movements.ndjson", (text) => text.replace(/.*\n/, ""))),
  );
  expect(failing(short)).toEqual([CONSISTENT]);
  expect(reasons(short).join()).toMatch(/^movements\.ndjson: /);
  expect(short.contents).toEqual([]);
  const moved = changing("last/cap-table.json", (text) =>
    text.replace(/"holderId":"(\d+)"/, '"holderId":"9$1"'),
  );
  expect(reasons(await check(await pack(moved))).join()).toMatch(/gives the root|out of its order/);
  const none = await check(await pack(changing("movements.ndjson", () => "not JSON\n")));
  expect(reasons(none)).toEqual(["movements.ndjson: line 1 is not JSON"]);
});

test("a pack whose rows do not add up to their wallets fails, even if the signed roots match", async () => {
  const wallet = /("address":"0x[0-9a-f]{64}","balance":)"[1-9]\d*"/;
  const less = changing("last/cap-table.json", (text) => text.replace(wallet, '$1"1"'));
  expect(reasons(await check(await pack(less)))).toContain(
    "last/cap-table.json: row 1 does not add up to its balance",
  );
  const twice = changing("last/cap-table.json", (text) =>
    text.replace(/("wallets":\[)(\{[^}]*\})/, "$1$2,$2"),
  );
  expect(reasons(await check(await pack(twice))).join()).toContain("which is there twice");
});

test("a pack whose wallets are in another group, or not frozen, than its own lines say fails", async () => {
  const other = (text: string) => text.replace('"groupId":null', '"groupId":"7"');
  const grouped = changing("last/cap-table.json", other);
  expect(reasons(await check(await pack(grouped))).join()).toMatch(
    /^last\/cap-table\.json: 0x[0-9a-f]{64} has another holder, group or freeze/,
  );
  const thawed = changing("holder-events.ndjson", (text) =>
    text.replace(/.*address_frozen.*\n/, ""),
  );
  expect(reasons(await check(await pack(thawed))).join()).toContain("has another holder, group or");
});

test("an audit pack is intact only when every file is, and none is missing or added", async () => {
  const changed = await pack();
  const report = (await changed.get("report.md")?.text()) ?? "";
  changed.set("report.md", new Blob([report.replace("A", "B")]));
  expect(reasons(await check(changed))).toEqual(["report.md: was changed: its SHA-256 is another"]);
  const added = (await pack()).set("more.txt", new Blob([""]));
  expect(reasons(await check(added))).toEqual(["more.txt: is no file of the manifest"]);
  const missing = await pack();
  missing.delete("report.md");
  expect(reasons(await check(missing))).toEqual(["report.md: is missing"]);
});

test("a manifest changed after signing fails, and so does one without a signature", async () => {
  const files = await pack();
  const text = (await files.get("manifest.json")?.text()) ?? "";
  files.set("manifest.json", new Blob([text.replace('"proven"', '"signed"')]));
  expect(failing(await check(files))).toEqual([AUTHENTIC]);
  const unsigned = await pack();
  unsigned.delete("manifest.sig.json");
  expect(reasons(await check(unsigned))).toEqual(["manifest.sig.json: is missing"]);
});

test("a pack may come in its folder, or as a zip of it", async () => {
  const folder = new Map([...(await pack())].map(([path, file]) => [`acme-2026/${path}`, file]));
  folder.set("acme-2026/.DS_Store", new Blob(["x"]));
  const checked = await check(withoutFolder(folder));
  expect(holds(checked)).toBe(true);
  // Nothing is false, and nothing of it is shown to be true.
  expect(toneOf(checked)).toBe("warn");
  const entries = await Promise.all(
    [...folder].map(
      async ([path, file]) => [path, new Uint8Array(await file.arrayBuffer())] as const,
    ),
  );
  const zip = new Blob([zipSync(Object.fromEntries(entries))]);
  expect(holds(await check(new Map([["acme.zip", zip]])))).toBe(true);
  // What a person sees when it is unpacked must be what was checked.
  const lie = Buffer.from("# All is well");
  const beside = new Blob([zipSync(Object.fromEntries([["report.md", lie], ...entries]))]);
  expect(holds(await check(new Map([["acme.zip", beside]])))).toBe(false);
  const twice = Buffer.from(
    zipSync(Object.fromEntries([["acme-2026/xeport.md", lie], ...entries])),
  );
  for (let at = twice.indexOf("xeport.md"); at >= 0; at = twice.indexOf("xeport.md")) {
    twice.write("r", at);
  }
  await expect(check(new Map([["acme.zip", new Blob([twice])]]))).rejects.toThrow(
    "The zip contains a file twice",
  );
});

test("input that is neither statement nor pack is refused, saying what to drop instead", async () => {
  for (const files of [
    new Map<string, Blob>(),
    one("a.pdf", "%PDF"),
    one("a.json", '{"hello":"holderbook-statement"'),
    one("a.json", `\ufeff${JSON.stringify(statementOf(3, 8))}`),
    new Map([["a.json", new Blob([new Uint8Array([0x22, 0xff, 0x22])])]]),
    one("manifest.json", '{"name":"another"}'),
    one("a.zip", "PK\u0003\u0004 and nothing"),
    new Map([...one("a.json", "{}"), ...one("b.json", "{}")]),
  ]) {
    await expect(check(files)).rejects.toThrow(UncheckableError);
  }
});

const PROOF: CheckpointProof = {
  checkpoint: "50",
  digest: "d",
  timestamp: "2026-11-24T14:03:11.000Z",
  epoch: "1",
  previousDigest: null,
  contentDigest: null,
  verification: "signatures",
  how: "",
  summaryBcs: null,
  signedCheckpoint: { checkpoint: "79", digest: "e", links: 29 },
  certificate: {
    epoch: "1",
    signature: "",
    signersBitmap: "",
    signers: [],
    signedStake: "7213",
    totalStake: "10000",
    threshold: "6667",
  },
  committee: { epoch: "1", namedBy: "39", members: [] },
  pipelineDigests: [],
};

test("verified points are listed one by one, and nothing is claimed beyond them", () => {
  const verified = (proof: CheckpointProof) => pointsOf(proof).map((point) => point.verified);
  expect(verified(PROOF)).toEqual([true, true, true, true]);
  expect(pointsOf(PROOF)[2]?.how).toContain("29 links");
  const bare: CheckpointProof = { ...PROOF, certificate: null, committee: null };
  const nothing = [false, false, false, false];
  expect(verified({ ...bare, verification: "links" })).toEqual([true, true, false, false]);
  expect(verified({ ...bare, verification: "none" })).toEqual(nothing);
  // A level that a newer service may have.
  const unknown: CheckpointProof = JSON.parse(
    JSON.stringify({ ...bare, verification: "something new" }),
  );
  expect(verified(unknown)).toEqual(nothing);
  expect(verdictOf(unknown).tone).toBe("bad");
});

test("the digest of a summary is the ledger's: BLAKE2b over its type name and bytes, in base58", async () => {
  for (const bytes of [new Uint8Array(), Uint8Array.of(0, 0, 7), new Uint8Array(900).fill(201)]) {
    const named = Buffer.concat([Buffer.from("CheckpointSummary::"), bytes]);
    expect(await summaryDigest(Buffer.from(bytes).toString("base64"))).toBe(
      base58(blake2b(named, { dkLen: 32 })),
    );
  }
});
