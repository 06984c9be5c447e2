/** `docs/reference/vectors/pack.json`: released packs, and forgeries by someone who can sign. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { ActLine } from "../../../client/pack-forms.ts";
import { actHash } from "../../../client/pack-lines.ts";
import {
  AuditPackError,
  type Verdict,
  verifyAuditPack,
} from "../../../client/verify-audit-pack.ts";
import { verifyPack } from "../../../src/evidence/pack/verify.ts";
import { FORGED_ACTS } from "../../../test/evidence/forged-acts.ts";
import { FORGED_FILES } from "../../../test/evidence/forged-files.ts";
import {
  FORGERIES,
  FORGERIES_OF_ACTS,
  FORGERIES_OF_WHOLE,
} from "../../../test/evidence/forgeries.ts";
import { manifestIn, textIn } from "../../../test/evidence/forging.ts";
import { type PackInMemory, signedAnew } from "../../../test/evidence/packs.ts";
import { temporaryFolder } from "../../../test/service/process.ts";
import { signedBy } from "./sequences.ts";
import {
  type Case,
  type Expected,
  type Input,
  type Judge,
  judged,
  KEYS,
  packFiles,
  vectorFile,
  verdictOf,
} from "./vector.ts";

const ABOUT =
  "Audit packs. `input.pack` is a zip in the project; then `put` (UTF-8 texts) and `putBase64` replace or add files, and `remove` takes some away. `publicKey`, `trust` and `entries`, where they are there, are what the verifier knows from elsewhere. `expect.withoutFacts` is the verdict of a check that reads no excerpt, as of the client and of Python.";

const input = z.strictObject({
  pack: z.string(),
  put: z.record(z.string(), z.string()).default({}),
  putBase64: z.record(z.string(), z.base64()).default({}),
  remove: z.array(z.string()).default([]),
  publicKey: z.string().optional(),
  trust: z.strictObject({ checkpoint: z.string(), digest: z.string() }).optional(),
  entries: z.array(z.json()).optional(),
});

const tiersOf = (checking: Promise<{ readonly verdict: Verdict }>): Promise<Expected> =>
  verdictOf([AuditPackError], async () => {
    const { authentic, consistent, complete } = (await checking).verdict;
    return {
      authentic: authentic.holds,
      consistent: consistent.holds,
      complete: complete.holds,
    };
  });

export const packOf = async (given: Input): Promise<PackInMemory> => {
  const { pack: path, put, putBase64, remove } = input.parse(given);
  const pack = await packFiles(path);
  for (const [file, text] of Object.entries(put))
    pack.set(file, Uint8Array.from(Buffer.from(text)));
  for (const [file, text] of Object.entries(putBase64)) {
    pack.set(file, Uint8Array.from(Buffer.from(text, "base64")));
  }
  for (const file of remove) pack.delete(file);
  return pack;
};

export const judgePack: Judge = async (given) => {
  const { publicKey, trust, entries } = input.parse(given);
  const pack = await packOf(given);
  await using folder = await temporaryFolder();
  for (const [file, bytes] of pack) {
    const target = join(folder.path, "pack", file);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, bytes);
  }
  const trusted = trust && { sequence: BigInt(trust.checkpoint), digest: trust.digest };
  const keptEntries = join(folder.path, "entries");
  await writeFile(keptEntries, JSON.stringify({ entries: entries ?? [] }));
  const whole = await tiersOf(
    verifyPack(
      join(folder.path, "pack"),
      { publicKey, trusted },
      { entries: entries && [keptEntries] },
    ),
  );
  return { ...whole, withoutFacts: await tiersOf(verifyAuditPack(pack, { publicKey })) };
};

const key = KEYS.deployment;
const { publicKey } = key;
const PROVEN = "test/fixtures/audit-pack-v1-proven.zip";
const SIGNED = "test/fixtures/audit-pack-v1-signed.zip";
const WHOLE = "test/fixtures/audit-pack-v2-whole.zip";
const ACTING = "test/fixtures/audit-pack-v3-whole.zip";

/** The changes that turn one pack into another. */
const difference = (pack: string, before: PackInMemory, after: PackInMemory) => {
  const put: Record<string, string> = {};
  const putBase64: Record<string, string> = {};
  for (const [path, bytes] of after) {
    const own = Buffer.from(bytes);
    if (own.equals(before.get(path) ?? Buffer.alloc(0)) && before.has(path)) continue;
    const text = own.toString();
    if (Buffer.from(text).equals(own)) put[path] = text;
    else putBase64[path] = own.toString("base64");
  }
  const remove = [...before.keys()].filter((path) => !after.has(path));
  return { pack, put, putBase64, remove };
};

/** Forgeries by name, with the expected error. */
const CHOSEN: Readonly<Record<string, string>> = {
  "a bit of manifest.json is another": "manifest",
  "a bit of movements.ndjson is another": "movements.ndjson: was changed: its SHA-256 is another",
  "the manifest says: a ledger that clears the terminal": "chainId must be",
  "the manifest says: a checkpoint with a leading zero": "last.checkpoint must be",
  "the manifest says: the token without leading zeros": "coinType must be",
  "the manifest says: a member that nobody knows": "has the unknown member",
  "the manifest says: another root": "last/cap-table.json: has the root",
  "the manifest says: a file less than there is": "files has no movements.ndjson",
  "the manifest says: another time, of the last checkpoint":
    "manifest.json: checkpoint 32 has digest",
  "a file that is not in the manifest": "notes.txt: is no file of the manifest",
  "a manifest with spaces": "is not in the form that is signed",
  "the roots signed with another key": "the signature of the last root does not fit the key",
  "committee.json: in another order": "the members must ascend by their keys",
  "committee.json: other stakes": "committee.json",
  "last/cap-table.json: another supply": "the treasury has issued",
  "last/cap-table.json: a balance with a leading zero": "balance must be",
  "last/cap-table.json: members of a wallet in another order": "has its members in another order",
  "first and last register, all made anew: the largest holder is left out": "",
  "first and last register, all made anew: rows in another order": "stands out of its order",
  "first and last register, all made anew: another group": "has another holder, group or freeze",
  "first and last register, all made anew: tokens are called granted": "",
  "movements.ndjson: one is left out": "",
  "movements.ndjson: another cause": "movements.ndjson: line 1",
  "movements.ndjson: members in another order": "is not in RFC 8785 form",
  "holder-events.ndjson: an event is left out": "",
  "role-events.ndjson: all are left out": "role-events.ndjson",
  "report.md: one more sentence": "report.md",
  "excerpts: the last one is missing": "checkpoints/32.binpb: is missing",
  "excerpts: an unknown field behind the end": "checkpoints/32.binpb",
};
const CHOSEN_OF_WHOLE: Readonly<Record<string, string>> = {
  "the manifest says: another end of the facts": "the chain of the coin's",
  "excerpts: the first one is missing": "",
  "first/state.ndjson: a role is left out": "first/state.ndjson",
};

const CHOSEN_OF_ACTS: Readonly<Record<string, string>> = {
  "movements.ndjson: another time": "movements.ndjson: line 1",
  "acts.ndjson: left out": "files has no acts.ndjson",
  "acts.ndjson: in a pack of version 2": "",
  "acts.ndjson: in another order": "stands out of its order",
  "acts.ndjson: an entry of before": "names entry",
  "acts.ndjson: a salt in capitals": "salt must be",
  "acts.ndjson: a member that nobody knows": "has the unknown member",
  "acts.ndjson: one is left out": "report.md: says something else",
  "acts.ndjson: another command": "report.md: says something else",
};

const KIT = [
  ...FORGERIES_OF_ACTS,
  ...FORGED_ACTS,
  ...FORGERIES,
  ...FORGED_FILES,
  ...FORGERIES_OF_WHOLE,
];

const forgedCases = async (
  version: string,
  path: string,
  chosen: Readonly<Record<string, string>>,
): Promise<readonly Case[]> => {
  const before = await packFiles(path);
  const honest = signedAnew(before, undefined, key);
  const cases: Case[] = [
    [
      `${version}, signed by the key of the vectors`,
      { ...difference(path, before, honest), publicKey },
      null,
    ],
  ];
  for (const [name, fails] of Object.entries(chosen)) {
    const forgery = KIT.find((one) => one.name === name);
    if (forgery === undefined) throw new Error(`no edit of the forger's kit is called ${name}`);
    const forged = await forgery.forge(honest, key);
    cases.push([`${version}: ${name}`, { ...difference(path, before, forged), publicKey }, fails]);
  }
  return cases;
};

/** A kept entry that covers the pack's facts. */
const entryCases = async (): Promise<readonly Case[]> => {
  const before = await packFiles(WHOLE);
  const pack = { ...difference(WHOLE, before, signedAnew(before, undefined, key)), publicKey };
  const { chainId, coinType, last, coinChain } = manifestIn(before);
  if (coinChain === null || coinChain === undefined) throw new Error("the pack has no chain");
  const { facts, hash, entry: number } = coinChain;
  const end = { chainId, coinType, checkpoint: last.checkpoint, facts, hash };
  const entry = (body: typeof end) =>
    signedBy(key, {
      number,
      previous: "ab".repeat(32),
      kind: "coin",
      body,
      at: "2026-07-01T00:00:02.114Z",
    });
  return [
    ["version 2, the entry of its chain kept", { ...pack, entries: [entry(end)] }, null],
    [
      "version 2: the kept entry has one fact more",
      { ...pack, entries: [entry({ ...end, facts: `${BigInt(facts) + 1n}` })] },
      "facts were left out, added or changed",
    ],
  ];
};

/** A kept entry about an act of the pack. */
const actCases = async (): Promise<readonly Case[]> => {
  const before = await packFiles(ACTING);
  const pack = { ...difference(ACTING, before, signedAnew(before, undefined, key)), publicKey };
  const [, text = ""] = textIn(before, "acts.ndjson").split("\n");
  const act: ActLine = JSON.parse(text);
  const entry = (sha256: string) =>
    signedBy(key, {
      number: act.entry ?? "",
      previous: "ab".repeat(32),
      kind: "act",
      body: { act: act.number, sha256 },
      at: "2026-07-01T00:00:02.114Z",
    });
  const zeros = "0".repeat(64);
  return [
    [
      "version 3, the entry of an act kept",
      { ...pack, entries: [entry(await actHash(act))] },
      null,
    ],
    [
      "version 3: the kept entry of an act has another hash",
      { ...pack, entries: [entry(zeros)] },
      "acts.ndjson",
    ],
  ];
};

const honestCases = async (): Promise<readonly Case[]> => {
  const cases: Case[] = [];
  for (const pack of [PROVEN, SIGNED, WHOLE, ACTING]) {
    const manifest = manifestIn(await packFiles(pack));
    cases.push([`${pack}, nothing known`, { pack }, null]);
    cases.push([`${pack}, its key known`, { pack, publicKey: manifest.publicKey }, null]);
    cases.push([`${pack}: another key is known`, { pack, publicKey }, "is signed with the key"]);
    const { checkpoint, digest } = manifest.trust;
    if (checkpoint === null || digest === null) continue;
    const trust = { checkpoint, digest };
    cases.push([`${pack}, the checkpoint that it begins with known`, { pack, trust }, null]);
    const other = { ...trust, digest: manifest.last.digest };
    cases.push([
      `${pack}: another checkpoint is trusted`,
      { pack, trust: other },
      "the pack begins with the committee that checkpoint",
    ]);
  }
  return cases;
};

export const packVectors = async (): Promise<string> => {
  const cases = [
    ...(await honestCases()),
    ...(await forgedCases("version 1", PROVEN, {
      "a bit of report.md is another": "report.md: was changed",
    })),
    ...(await forgedCases("version 2", WHOLE, { ...CHOSEN, ...CHOSEN_OF_WHOLE })),
    ...(await forgedCases("version 3", ACTING, CHOSEN_OF_ACTS)),
    ...(await entryCases()),
    ...(await actCases()),
  ];
  return vectorFile(ABOUT, { pack: await judged(judgePack, cases) });
};
