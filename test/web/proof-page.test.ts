import { createHash } from "node:crypto";
import { blake2b } from "@noble/hashes/blake2.js";
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { canonicalJson } from "../../client/canonical-json.mjs";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.mjs";
import { signedRoot } from "../../client/verify-statement.mjs";
import { createSumTree } from "../../src/projections/merkle-sum.ts";
import { base58 } from "../../src/values/base58.ts";
import { checkFiles } from "../../web/src/pages/proof/check/check.ts";
import { type Files, withoutFolder } from "../../web/src/pages/proof/check/dropped.ts";
import { memberTwice } from "../../web/src/pages/proof/check/members.ts";
import { holds, type Report, UncheckableError } from "../../web/src/pages/proof/check/report.ts";
import { stepsOf } from "../../web/src/pages/proof/check/statement.ts";
import { summaryDigest } from "../../web/src/pages/proof/summary-digest.ts";
import { pointsOf, verdictOf } from "../../web/src/pages/proof/verified.ts";
import { statementOf } from "../client/statement.ts";

const one = (name: string, text: string): Files => new Map([[name, new Blob([text])]]);
const check = (files: Files): Promise<Report> => checkFiles(files, () => undefined);
const failing = ({ steps }: Report): readonly string[] =>
  steps.filter(({ result }) => result === "fails").map(({ title }) => title);

test("a statement that was made by the service holds in every step, and its key and root are named", async () => {
  const statement = statementOf(3, 8);
  const report = await check(one("mine.json", JSON.stringify(statement)));
  expect(holds(report)).toBe(true);
  expect(report.steps).toHaveLength(5);
  expect(report.publicKey).toBe(statement.publicKey);
  expect(report.root?.root).toBe(statement.root);
  expect(report.open.length).toBeGreaterThan(0);
});

test("what was changed in a statement fails in the step that is about it", async () => {
  const statement = statementOf(3, 8);
  const changed = async (change: object) =>
    failing(await check(one("x.json", JSON.stringify({ ...statement, ...change }))));
  const signed = "The deployment signed the statement";
  expect(await changed({ checkpointTimestamp: "1700000001" })).toEqual([signed]);
  expect(await changed({ row: { ...statement.row, balance: "1" } })).toEqual([
    "The row adds up",
    "The row is part of the table",
    signed,
  ]);
  expect(await changed({ path: statement.path.slice(1) })).toEqual([
    "The row is part of the table",
    signed,
  ]);
  expect(await changed({ chainId: "another" })).toEqual([
    "The deployment signed the table's root",
    signed,
  ]);
});

test("a statement without its form is not looked at further, and says nothing", async () => {
  const { root: _, ...rest } = statementOf(0, 2);
  const report = await check(one("x.json", JSON.stringify(rest)));
  expect(report.steps.map(({ result }) => result)).toEqual([
    "fails",
    "skipped",
    "skipped",
    "skipped",
    "skipped",
  ]);
  expect(report.says).toEqual([]);
  expect(report.publicKey).toBeNull();
});

test("a statement with a member twice fails, whichever of the two a parser keeps", async () => {
  const text = JSON.stringify(statementOf(0, 2)).replace("{", '{"total":"9",');
  expect(failing(await check(one("x.json", text)))).toEqual(["It has the form of a statement"]);
});

test("members are counted by the object they are in, however they are escaped", () => {
  expect(memberTwice('{"a":{"a":1},"b":[{"a":1},{"a":2}]}')).toBeNull();
  expect(memberTwice('{"a":"a:","b":"{\\"a\\":1}"}')).toBeNull();
  expect(memberTwice('{"a":1,"\\u0061":2}')).toBe("a");
  expect(memberTwice('[{"x":[],"y":{},"x":null}]')).toBe("x");
});

test("a failure in words that the page does not know is shown, and never counts as holding", () => {
  const steps = stepsOf(["the moon is missing"]);
  expect(steps.at(-1)).toEqual({
    title: "Something else",
    result: "fails",
    details: ["the moon is missing"],
  });
});

const { publicKey, secretKey } = generateKeyPair();
const sign = (signed: Parameters<typeof canonicalJson>[0]) =>
  signBytes(Buffer.from(canonicalJson(signed)), secretKeyOf(secretKey));
const sha256 = (bytes: string) => createHash("sha256").update(bytes).digest("hex");

const COIN = "0x5::a::A";
const [ADA, BEN] = [`0x${"a".repeat(64)}`, `0x${"b".repeat(64)}`];

/** A table of one row for each wallet, and its root. @param shown what is said of each wallet instead */
const tableOf = (
  checkpoint: string,
  balances: Readonly<Record<string, bigint>>,
  shown: Readonly<Record<string, readonly (readonly [string, bigint])[]>> = {},
) => {
  const tree = createSumTree();
  const rows = Object.entries(balances).map(([address, balance], index) => {
    const holderId = BigInt(index + 1);
    const addresses = [address];
    const row = { holderId, addresses, balance, tokens: balance, granted: 0n };
    tree.add({ coinType: COIN, checkpoint: BigInt(checkpoint), ...row }, false);
    return {
      holderId: `${holderId}`,
      wallets: (shown[address] ?? [[address, balance] as const]).map(([of, own]) => ({
        address: of,
        balance: `${own}`,
      })),
      balance: `${balance}`,
      tokens: `${balance}`,
      granted: "0",
    };
  });
  const total = Object.values(balances).reduce((sum, one) => sum + one, 0n);
  return {
    text: canonicalJson({ coinType: COIN, checkpoint, rows }),
    root: { root: tree.top().root, total: `${total}` },
  };
};

const movement = (owner: string, change: bigint) =>
  `${canonicalJson({ owner, change: `${change}` })}\n`;

/** A pack of a few files, signed as the service signs one. */
const pack = (
  moved = movement(ADA, -2n) + movement(BEN, 1n) + movement(BEN, 4n),
  roots: Readonly<Record<string, { root: string; total: string }>> = {},
  before: Readonly<Record<string, bigint>> = { [ADA]: 10n },
  shown: Parameters<typeof tableOf>[2] = {},
): Map<string, Blob> => {
  const [first, last] = [tableOf("1", before), tableOf("2", { [ADA]: 8n, [BEN]: 5n }, shown)];
  const files = {
    "report.md": "# all is well\n",
    "first/cap-table.json": first.text,
    "last/cap-table.json": last.text,
    "movements.ndjson": moved,
  };
  const rootAt = (checkpoint: string, table: { root: string; total: string }) => {
    const root = roots[checkpoint] ?? table;
    const at = { chainId: "chain", coinType: COIN, checkpoint, checkpointDigest: "d" };
    return { ...root, signature: sign(signedRoot({ ...at, ...root })) };
  };
  const manifest = canonicalJson({
    format: "holderbook-audit-pack",
    version: 1,
    chainId: "chain",
    coinType: COIN,
    first: { checkpoint: "1", digest: "d", timestampMs: "0" },
    last: { checkpoint: "2", digest: "d", timestampMs: "0" },
    opening: "proven",
    trust: { epoch: "0", checkpoint: null, digest: null },
    roots: { first: rootAt("1", first.root), last: rootAt("2", last.root) },
    publicKey,
    files: Object.fromEntries(
      Object.entries(files).map(([path, text]) => [
        path,
        { sha256: sha256(text), size: String(text.length) },
      ]),
    ),
  });
  const signature = sign({
    purpose: "holderbook-audit-pack-v1",
    manifestSha256: sha256(manifest),
  });
  const all = {
    ...files,
    "manifest.json": manifest,
    "manifest.sig.json": `{"signature":"${signature}"}\n`,
  };
  return new Map(Object.entries(all).map(([path, text]) => [path, new Blob([text])]));
};

test("a pack whose signer signed registers or movements that do not fit together fails, and says where", async () => {
  const short = await check(pack(movement(ADA, -2n) + movement(BEN, 4n)));
  expect(failing(short)).toEqual(["The movements lead from the first register to the last"]);
  expect(short.steps.at(-1)?.details).toEqual([`${BEN} held 0, moved 4, and holds 5`]);
  const other = await check(pack(undefined, { "2": { root: "ab".repeat(32), total: "13" } }));
  expect(failing(other)).toEqual(["Both registers give the roots that were signed"]);
  expect(failing(await check(pack("not JSON")))).toEqual([
    "Both registers give the roots that were signed",
  ]);
});

test("a pack whose rows do not add up to their wallets fails, although the signed roots do not tell", async () => {
  const told = async (shown: Parameters<typeof tableOf>[2], moved: string) =>
    (await check(pack(moved, {}, undefined, shown))).steps.flatMap(({ result, details }) =>
      result === "fails" ? details : [],
    );
  const more = movement(ADA, -2n) + movement(BEN, 900n);
  expect(await told({ [BEN]: [[BEN, 900n]] }, more)).toEqual([
    "row 2 of the last register does not add up to its balance",
  ]);
  const negative = movement(ADA, -11n) + movement(BEN, 14n);
  const split: readonly (readonly [string, bigint])[] = [
    [BEN, 14n],
    [ADA, -9n],
  ];
  expect(await told({ [ADA]: [[`0x${"c".repeat(64)}`, 8n]], [BEN]: split }, negative)).toContain(
    "row 2 of the last register does not add up to its balance",
  );
  const twice: readonly (readonly [string, bigint])[] = [
    [BEN, 2n],
    [BEN, 3n],
  ];
  expect(await told({ [BEN]: twice }, movement(ADA, -2n) + movement(BEN, 3n))).toContain(
    `${BEN} is twice in the last register`,
  );
});

test("a pack that begins before anybody held anything holds", async () => {
  const issued = movement(ADA, 8n) + movement(BEN, 5n);
  const report = await check(pack(issued, {}, {}));
  expect([failing(report), holds(report)]).toEqual([[], true]);
});

test("an audit pack is as it was signed only when every file is, and none is missing or added", async () => {
  expect(holds(await check(pack()))).toBe(true);
  const changed = pack().set("report.md", new Blob(["# all is Well\n"]));
  expect((await check(changed)).steps[2]?.details).toEqual([
    "report.md was changed: its SHA-256 is another",
  ]);
  const added = pack().set("more.txt", new Blob([""]));
  expect((await check(added)).steps[2]?.details).toEqual(["more.txt is no file of the manifest"]);
  const missing = pack();
  missing.delete("report.md");
  expect((await check(missing)).steps[2]?.details).toEqual(["report.md is missing"]);
});

test("a manifest that was changed after it was signed fails, and so does one without a signature", async () => {
  const files = pack();
  const text = (await files.get("manifest.json")?.text()) ?? "";
  files.set("manifest.json", new Blob([text.replace('"proven"', '"signed"')]));
  expect(failing(await check(files))).toEqual(["The deployment signed the manifest"]);
  const unsigned = pack();
  unsigned.delete("manifest.sig.json");
  expect(failing(await check(unsigned))).toContain("The deployment signed the manifest");
});

test("a pack may come in its folder, or as a zip of it", async () => {
  const folder = new Map([...pack()].map(([path, file]) => [`acme-2026/${path}`, file]));
  folder.set("acme-2026/.DS_Store", new Blob(["x"]));
  expect(holds(await check(withoutFolder(folder)))).toBe(true);
  const entries = await Promise.all(
    [...folder].map(
      async ([path, file]) => [path, new Uint8Array(await file.arrayBuffer())] as const,
    ),
  );
  const zip = new Blob([zipSync(Object.fromEntries(entries))]);
  expect(holds(await check(new Map([["acme.zip", zip]])))).toBe(true);
});

test("what is neither statement nor pack is refused in words that say what to drop instead", async () => {
  for (const files of [
    new Map<string, Blob>(),
    one("a.pdf", "%PDF"),
    one("a.json", '{"hello":"holderbook-statement"'),
    one("manifest.json", '{"name":"another"}'),
    one("a.zip", "PK\u0003\u0004 and nothing"),
    new Map([...one("a.json", "{}"), ...one("b.json", "{}")]),
  ]) {
    await expect(check(files)).rejects.toThrow(UncheckableError);
  }
});

const PROOF = {
  checkpoint: "50",
  digest: "d",
  timestampMs: 0,
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
    signers: 5,
    signedStake: 7_213n,
    totalStake: 10_000n,
    threshold: 6_667n,
  },
  committee: { epoch: "1", namedBy: "39", members: [] },
  pipelineDigests: [],
};

test("what was verified is said point by point, and nothing is claimed beyond it", () => {
  const verified = (
    proof:
      | typeof PROOF
      | (Omit<typeof PROOF, "certificate" | "committee"> & { certificate: null; committee: null }),
  ) => pointsOf(proof).map((point) => point.verified);
  expect(verified(PROOF)).toEqual([true, true, true, true]);
  expect(pointsOf(PROOF)[2]?.how).toContain("29 links");
  const bare = { ...PROOF, certificate: null, committee: null };
  expect(verified({ ...bare, verification: "links" })).toEqual([true, true, false, false]);
  expect(verified({ ...bare, verification: "none" })).toEqual([false, false, false, false]);
  expect(verified({ ...bare, verification: "something new" })).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(verdictOf({ ...bare, verification: "something new" }).tone).toBe("bad");
});

test("the digest of a summary is the ledger's: BLAKE2b behind the name of its type, in base58", async () => {
  for (const bytes of [new Uint8Array(), Uint8Array.of(0, 0, 7), new Uint8Array(900).fill(201)]) {
    const named = Buffer.concat([Buffer.from("CheckpointSummary::"), bytes]);
    expect(await summaryDigest(Buffer.from(bytes).toString("base64"))).toBe(
      base58(blake2b(named, { dkLen: 32 })),
    );
  }
});
