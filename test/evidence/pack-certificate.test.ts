/**
 * Packs with a certificate of completeness: what their facts show without a server, and what a
 * dishonest operator, who signs anything, gains by it.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import mcl from "mcl-wasm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { canonicalJson } from "../../client/canonical-json.ts";
import type { CompletenessCertificate } from "../../client/completeness.ts";
import { signedCertificate } from "../../client/completeness.ts";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.ts";
import { validatorsOf } from "../../client/mcl.ts";
import { NEEDED } from "../../client/pack-chains.ts";
import { verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { keyIdOf } from "../../src/audit/sequence/deployment-key.ts";
import { needed } from "../../src/ledger/contract/profile.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { readToExtract } from "../../src/ledger/proof/excerpt.ts";
import { createWanted } from "../../src/ledger/reading/facts.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import type { ReadFact } from "../../src/log/fact.ts";
import { type Ran, runCommand } from "../commands/run-command.ts";
import { misfits } from "../docs/published-schemas.ts";
import { runVerifier, whyNoPython } from "../docs/python.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { temporaryFolder } from "../service/process.ts";
import { certificateOf, ON_FAITH } from "./certificates.ts";
import { registers } from "./forging.ts";
import { filesIn, manifestOf, signAnew } from "./packs.ts";

const COUNT = 400;
const LATE = { first: 70, last: 110 };
/** Where summaries begin to commit to objects, as the network's did with protocol 125. */
const COMMITS_FROM = 40;

const running = new AsyncDisposableStack();
const masterKey = randomBytes(32).toString("base64");
const CHANGED = /controlled_treasury::|shared_token::|timelock::/;

let folder: string;
let ledger: string;
let chain: { readonly chainId: string; readonly packages: readonly string[] };
let coins: readonly string[];
let coinType: string;
let raws: readonly RawCheckpoint[];
let facts: readonly ReadFact[];
let honest: TestDatabase;

/** A deployment that reads the ledger up to a checkpoint, without these transactions. */
const deployment = async (
  hidden: ReadonlySet<string> = new Set(),
  through = COUNT - 1,
): Promise<TestDatabase> => {
  const database = await freshDatabase();
  running.defer(() => database.close());
  const following = await follow(database, { ...chain, hidden });
  await following.append(raws.slice(0, through + 1));
  await following.project(1_000);
  return database;
};

beforeAll(async () => {
  folder = running.use(await temporaryFolder()).path;
  ledger = join(folder, "ledger");
  const options = { checkpoints: COUNT, seed: 11, format: "chk", epochLength: 50 } as const;
  const commitsFrom = BigInt(COMMITS_FROM);
  const written = await writeDemoLedger({ dir: ledger, ...options, commitsFrom });
  chain = written;
  coins = written.coinTypes.map((one) => one.coinType);
  coinType = coins[2] ?? "";
  const files = Array.from({ length: COUNT }, (_, at) => join(ledger, `${at}.chk`));
  raws = await Promise.all(files.map((file) => readCheckpointFile(file)));
  const read = createCheckpointReader(chain.packages);
  facts = raws.flatMap((raw) => read(raw).facts).filter((fact) => fact.coinType === coinType);
  honest = await deployment();
  await make("whole", honest, LATE);
});
afterAll(() => running.disposeAsync());

/** The certificate that an operator would sign. */
const certify = (
  database: TestDatabase,
  last: number,
  { of = coinType }: { readonly of?: string } = {},
) => {
  const { digest } = readMark(last);
  const through = { checkpoint: `${last}`, digest };
  const { chainId, packages } = chain;
  return certificateOf(database, masterKey, { chainId, packages, coinType: of, through });
};

const readMark = (at: number) => {
  const raw = raws[at] ?? expect.fail(`no checkpoint ${at}`);
  return createCheckpointReader(chain.packages)(raw).mark;
};

const tryMaking = async (
  name: string,
  database: TestDatabase,
  { first, last }: { readonly first: number; readonly last: number },
  certificate?: CompletenessCertificate,
): Promise<Ran & { readonly out: string }> => {
  const out = join(folder, name);
  const file = `${out}-certificate.json`;
  await writeFile(file, JSON.stringify(certificate ?? (await certify(database, last)), null, 2));
  const range = ["--from", `${first}`, "--to", `${last}`, "--certificate", file];
  const args = ["audit-pack", "--coin", coinType, ...range, "--no-papers", "--out", out];
  const ran = await runCommand(args, {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: masterKey,
    LEDGER_SOURCE: `dir:${ledger}`,
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  });
  return { ...ran, out };
};

const make = async (...args: Parameters<typeof tryMaking>): Promise<string> => {
  const { out, ...ran } = await tryMaking(...args);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  return out;
};

const verify = (...args: readonly string[]) => runCommand(["audit-pack", "verify", ...args], {});
const REQUIRED = ["--require", "consistent,complete"];
const source = () => ["--source", `dir:${ledger}`, "--since", "0"];

const copyOf = async (pack: string) => {
  const copy = running.use(await temporaryFolder()).path;
  await cp(pack, copy, { recursive: true });
  return copy;
};

/** A pack whose certificate says something else; the pack is signed by its key or another. */
const recertified = async (
  pack: string,
  edit: (certificate: CompletenessCertificate) => object,
  signer = generateKeyPair(),
) => {
  const copy = await copyOf(pack);
  const path = join(copy, "certificate.json");
  const own: CompletenessCertificate = JSON.parse(await readFile(path, "utf8"));
  const { publicKey, secretKey } = signer;
  const edited = { ...own, publicKey, keyId: keyIdOf(publicKey), ...edit(own) };
  const text = canonicalJson(signedCertificate(edited));
  const signature = signBytes(Buffer.from(text), secretKeyOf(secretKey));
  await writeFile(path, `${canonicalJson({ ...edited, signature })}\n`);
  await signAnew(copy, undefined, signer);
  return copy;
};

/** The client's verdict on completeness, or why it refuses. */
const byClient = async (pack: string, isSigned = true): Promise<string> => {
  const validators = isSigned ? await validatorsOf(mcl) : undefined;
  return verifyAuditPack(await filesIn(pack), { validators }).then(
    ({ verdict: { complete } }) =>
      [`${complete.holds}`, ...complete.by, ...complete.not_shown].join("\n"),
    ({ message }: Error) => message,
  );
};

const whyNot = await whyNoPython();
if (whyNot !== null) console.warn(`${whyNot}: verify_pack.py is not tested`);

/** What `verify_pack.py` prints of each pack; nothing where there is no Python. */
const byPython = async (...packs: readonly string[]): Promise<readonly string[]> => {
  if (whyNot !== null) return [];
  const ran = await runVerifier(
    "verify_pack.py",
    packs.map((pack) => [pack, "--require", "complete"]),
  );
  return ran.map(({ code, stdout, stderr }) => `${code}\n${stdout}${stderr}`);
};

type Change = Exclude<ReadFact, { kind: "event" }>;

const isChange = (fact: ReadFact): fact is Change =>
  fact.kind !== "event" && CHANGED.test(fact.type);

/** The next change of the same object; undefined if there is none. */
const nextOf = ({ objectId, checkpoint, transaction }: Change): bigint | undefined =>
  facts.find(
    (fact) =>
      isChange(fact) &&
      fact.objectId === objectId &&
      (fact.checkpoint > checkpoint ||
        (fact.checkpoint === checkpoint && fact.transaction > transaction)),
  )?.checkpoint;

/** The last checkpoint after which each live object is changed again. */
const lastChangedAgain = (): number => {
  const first = facts.find(isChange)?.checkpoint ?? 0n;
  for (let at = COUNT - 1; at > Number(first); at--) {
    const live = new Map<string, Change>();
    for (const fact of facts) {
      if (!isChange(fact) || fact.checkpoint > BigInt(at)) continue;
      if (fact.kind === "removal") live.delete(fact.objectId);
      else live.set(fact.objectId, fact);
    }
    if ([...live.values()].every((change) => nextOf(change) !== undefined)) return at;
  }
  return expect.fail("some object is never changed again");
};

/**
 * A transaction of the late range, without the treasury, that takes objects whose next changes are
 * as given: a register without it adds up.
 */
const hideable = (isNext: (next: bigint | undefined) => boolean) => {
  const changes = facts.filter(isChange);
  for (const [txDigest, own] of Map.groupBy(changes, (change) => change.txDigest)) {
    const taken = own.filter((one) => one.kind === "object" && one.versionBefore !== null);
    const [{ checkpoint = 0n, objectId = "" } = {}] = taken;
    const isAlone = own.every(({ kind, type }) => kind === "object" && !type.includes("reasury"));
    if (checkpoint <= BigInt(LATE.first) || checkpoint > BigInt(LATE.last)) continue;
    const isInRange = (next: bigint | undefined) => next !== undefined && next <= LATE.last;
    const isLeft = own.every((one) => taken.includes(one) || !isInRange(nextOf(one)));
    // Beside another change of it in its checkpoint, the summary would show that it is missing.
    const isOnly = !changes.some(
      (one) =>
        one.objectId === objectId && one.checkpoint === checkpoint && one.txDigest !== txDigest,
    );
    if (
      isAlone &&
      isOnly &&
      isLeft &&
      taken.length === 1 &&
      taken.every((one) => isNext(nextOf(one)))
    ) {
      return { txDigest, objectId };
    }
  }
  return expect.fail("the demo ledger has no such transaction");
};

test("a pack shows chains, closure and conservation by its facts, and names whose word the rest is", async () => {
  const ran = await verify(join(folder, "whole"));
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain("complete (nothing of the range is missing): not shown");
  expect(ran.stdout).toMatch(
    /by: chains: each of the token's \d+ objects goes .* through \d+ versions without a gap/,
  );
  expect(ran.stdout).toMatch(/by: closure: each of the \d+ transactions does what a function/);
  expect(ran.stdout).toMatch(
    /by: conservation: tokens and grants come to the supply .* after each/,
  );
  const [, shown, of] =
    /by: heads: (\d+) of the contract's (\d+) live objects were next changed in \d+ later checkpoints/.exec(
      ran.stdout,
    ) ?? [];
  expect(Number(shown)).toBeGreaterThan(10);
  const sets =
    /by: object sets: (\d+) of the token's (\d+) live objects were left in this very version by their checkpoints, as the summaries of (\d+) of these commit to/.exec(
      ran.stdout,
    );
  const [, committed, live, summaries] = sets ?? [];
  expect(Number(committed)).toBeGreaterThan(10);
  expect(Number(committed)).toBeLessThan(Number(live));
  const { files } = await manifestOf(join(folder, "whole"));
  const proofs = Object.keys(files).filter((file) => file.startsWith("objects/"));
  expect(proofs.length).toBe(Number(summaries));
  expect(proofs.every((file) => Number(/\d+/.exec(file)?.[0]) >= COMMITS_FROM)).toBe(true);
  // Some were left before summaries committed to objects, and changed by nothing since.
  expect(ran.stdout).toMatch(
    /not shown: that nothing touched \d+ of these later in the very checkpoint that left them so: its summary predates protocol 125 and commits to no objects/,
  );
  const byLast = Number(
    /For (\d+), which no later checkpoint shows, that is the last/.exec(ran.stdout)?.[1] ?? 0,
  );
  expect(ran.stdout).toContain(
    `not shown: that nothing up to checkpoint 110 touched the other ${Number(of) - Number(shown) - byLast} live objects after their last version here: no node was asked, so it is the word of the deployment alone. --source reads the checkpoints again`,
  );
  const inClient = await byClient(join(folder, "whole"));
  const complete = ran.stdout
    .split("\n")
    .filter((line) => / (?:chains|closure|heads|object sets): /.test(line));
  for (const line of complete) expect(inClient).toContain(line.replace(/^ *by: /, ""));
  expect(inClient).toMatch(/^null\n/);
  for (const said of await byPython(join(folder, "whole"))) {
    const counts = (text: string) =>
      text.match(/\d+ (?:objects|versions|transactions|checkpoints)/g);
    expect(said).toMatch(/^3\n/);
    for (const count of counts(said) ?? []) expect(counts(inClient)).toContain(count);
    expect(counts(said)?.length).toBeGreaterThanOrEqual(4);
    expect(said).toContain(`heads: ${shown} of ${of} live objects were next changed later`);
    expect(said).toContain(`object sets: ${committed} of ${live} live objects were left in this`);
    expect(said).toContain("predates protocol 125");
    expect(said).toContain("after their last version here: the word of the deployment alone");
    expect(said).toContain("not shown: that validators signed the checkpoints of these facts");
  }
  const required = await verify(join(folder, "whole"), ...REQUIRED);
  expect(required).toMatchObject({ code: 3, stderr: "required, and not shown: complete\n" });
  expect(await verify(join(folder, "whole"), ...REQUIRED, ...source())).toMatchObject({ code: 0 });
});

test("where each object was changed again later, a pack is complete without a word about live objects", async () => {
  const last = lastChangedAgain();
  const pack = await make("early", honest, { first: last - 5, last });
  const ran = await verify(pack, ...REQUIRED);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain("complete (nothing of the range is missing): holds");
  expect(ran.stdout).not.toContain("is the word of");
  expect(ran.stdout).toContain("not shown: that the contract's code is that of the profile");
  expect(await byClient(pack)).toMatch(/^true\nchains: each of the token's/);
  const unsigned = await byClient(pack, false);
  expect(unsigned).toMatch(/^null\nchains: each of the token's/);
  expect(unsigned).toContain("that validators signed the checkpoints of these facts: not checked");
});

test("the rules that verifiers know are those of the contract's profile", async () => {
  const least = (alternatives: readonly (readonly string[])[]) =>
    alternatives
      .filter(
        (one, at) =>
          !alternatives.some(
            (other, place) =>
              place !== at &&
              other.every((deed) => one.includes(deed)) &&
              (other.length < one.length || place < at),
          ),
      )
      .map((one) => one.toSorted().join())
      .toSorted();
  const made = "made controlled_treasury::ControlledTreasury";
  // `create` makes what it needs.
  const own = new Map(
    [...NEEDED].map(([deed, of]) => [deed, least(deed === made ? [[made]] : of)]),
  );
  expect(own).toEqual(new Map([...needed].map(([deed, of]) => [deed, least(of)])));
  if (whyNot !== null) return;
  const dump =
    "import json; from holderbook.chains import NEEDED; print(json.dumps({deed: [sorted(one) for one in of] for deed, of in NEEDED.items()}))";
  const { stdout } = await promisify(execFile)("python3", ["-B", "-c", dump], {
    cwd: join(import.meta.dirname, "..", "..", "docs", "examples"),
  });
  const inPython = z.record(z.string(), z.array(z.array(z.string()))).parse(JSON.parse(stdout));
  const sorted = (of: Iterable<readonly [string, readonly (readonly string[])[]]>) =>
    new Map([...of].map(([deed, alternatives]) => [deed, least(alternatives)]));
  expect(sorted(Object.entries(inPython))).toEqual(sorted(NEEDED));
});

test("an operator who drops a transaction in the middle of a chain cannot make a pack", async () => {
  const { txDigest, objectId } = hideable((next) => next !== undefined && next <= LATE.last);
  const { code, stderr } = await tryMaking("middle", await deployment(new Set([txDigest])), LATE);
  expect(code).toBe(1);
  expect(stderr).toContain(`found the object ${objectId} in version`);
  expect(stderr).toContain("a checkpoint between is missing");
});

/** A transaction that alone changes its object, which others changed in the same checkpoint before. */
const lastOnItsObject = () => {
  const changes = facts.filter(isChange);
  for (const [txDigest, [own, ...others]] of Map.groupBy(changes, (one) => one.txDigest)) {
    if (own?.kind !== "object" || others.length > 0 || own.checkpoint < COMMITS_FROM) continue;
    const { checkpoint, transaction, objectId } = own;
    const beside = changes.filter(
      (one) => one.objectId === objectId && one.checkpoint === checkpoint && one !== own,
    );
    if (beside.length > 0 && beside.every((one) => one.transaction < transaction)) {
      return { txDigest, transaction, at: Number(checkpoint) };
    }
  }
  return expect.fail("the demo ledger has no such transaction");
};

test("the last transaction on an object, cut out of its checkpoint, is missed by what the summary commits to", async () => {
  const { txDigest, transaction, at } = lastOnItsObject();
  const range = { first: at - 5, last: at };
  const file = `objects/${at}.bin`;
  // The program refuses to make it from a log without the transaction.
  const hiding = await deployment(new Set([txDigest]), at);
  const { code, stderr } = await tryMaking("cut", hiding, range);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`AuditPackError: ${file}: `)]);

  const honestly = await make("until-cut", honest, range);
  expect(await byClient(honestly)).toMatch(/For \d+, which no later checkpoint shows, that is/);
  const proof = await readFile(join(honestly, file));
  const refused = async (why: string, edit: (copy: string) => Promise<unknown>) => {
    const copy = await copyOf(honestly);
    await edit(copy);
    await signAnew(copy);
    return { copy: await recertified(copy, () => ({})), why };
  };
  const raw = raws[at] ?? expect.fail("no checkpoint");
  const { excerptOf } = readToExtract(raw, createWanted(chain.packages));
  const own = facts.filter((fact) => fact.checkpoint === BigInt(at) && fact.txDigest !== txDigest);
  const before = new Set(own.map((fact) => fact.transaction));
  expect(before.has(transaction)).toBe(false);
  const elsewhere = `${file}: does not match the commitment of the checkpoint's summary: the checkpoint left object`;
  const other = Object.keys((await manifestOf(honestly)).files).find(
    (path) => path.startsWith("objects/") && path !== file,
  );
  const forgeries = await Promise.all([
    refused(elsewhere, async (copy) =>
      writeFile(join(copy, "checkpoints", `${at}.binpb`), await excerptOf(before)),
    ),
    refused(`${file}: is missing`, (copy) => rm(join(copy, file))),
    refused(`${file}: `, (copy) => cp(join(copy, other ?? "none"), join(copy, file))),
    refused(elsewhere, (copy) => {
      const changed = Buffer.from(proof);
      const hashAt = proof.indexOf(0) + 1;
      changed[hashAt] = (changed[hashAt] ?? 0) ^ 1;
      return writeFile(join(copy, file), changed);
    }),
    refused(`${file}: is no proof of these objects`, (copy) =>
      writeFile(join(copy, file), Buffer.concat([proof, Buffer.of(0)])),
    ),
    refused("objects/1.bin: proves no live object", (copy) =>
      writeFile(join(copy, "objects", "1.bin"), proof),
    ),
  ]);
  const inPython = await byPython(...forgeries.map(({ copy }) => copy));
  for (const [nth, { copy, why }] of forgeries.entries()) {
    expect(await byClient(copy)).toContain(why);
    if (whyNot === null) expect(inPython[nth]).toContain(`1\n${why}`);
    // The register would have to be another, too: the command finds that first.
    const said = (await verify(copy)).stderr;
    expect(said).toContain(nth === 0 ? "AuditPackError: " : why);
  }
});

test("a checkpoint taken out of a pack is missed by the next transaction, in command and client", async () => {
  const whole = join(folder, "whole");
  const { checkpoint, objectId } =
    facts.filter(isChange).find((one) => {
      const isTaken = one.kind === "object" && one.versionBefore !== null;
      return isTaken && (nextOf(one) ?? one.checkpoint) > one.checkpoint;
    }) ?? expect.fail("no object is changed twice");
  const copy = await copyOf(whole);
  await rm(join(copy, "checkpoints", `${checkpoint}.binpb`));
  const forged = await recertified(copy, () => ({}));
  const ran = await verify(forged);
  const inClient = [await byClient(forged), await byClient(forged, false)];
  for (const why of [ran.stderr, ...inClient, ...(await byPython(forged))]) {
    expect(why).toContain(`found the object ${objectId} in version`);
    expect(why).toContain("a checkpoint between is missing");
  }
});

test("validators that did not sign are refused by the client, too", async () => {
  const copy = await copyOf(join(folder, "whole"));
  const path = join(copy, "committee.json");
  const otherLedger = join(folder, "other-ledger");
  await writeDemoLedger({ dir: otherLedger, checkpoints: 2, seed: 12, format: "chk" });
  const { committee } = JSON.parse(await readFile(join(otherLedger, "ledger.json"), "utf8"));
  const members = committee.members.toSorted((a: { publicKey: string }, b: { publicKey: string }) =>
    Buffer.compare(Buffer.from(a.publicKey, "base64"), Buffer.from(b.publicKey, "base64")),
  );
  await writeFile(path, `${JSON.stringify({ epoch: "0", members }, null, 1)}\n`);
  const forged = await recertified(copy, () => ({}));
  const why = "the signature is not that of the";
  expect((await verify(forged)).stderr).toContain(why);
  expect(await byClient(forged)).toContain(why);
});

test("an object that a dropped transaction changed last in the range is refuted by its next change", async () => {
  const { txDigest, objectId } = hideable((next) => next !== undefined && next > LATE.last);
  const { code, stderr } = await tryMaking("next", await deployment(new Set([txDigest])), LATE);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(`later/\\d+.binpb: transaction \\w+ found the object ${objectId}`),
  );
});

test("an operator who drops the last transaction of an object is believed in nothing, and refuted by a source", async () => {
  const { txDigest } = hideable((next) => next === undefined);
  const pack = await make("last", await deployment(new Set([txDigest])), LATE);
  const ran = await verify(pack, ...REQUIRED);
  expect(ran).toMatchObject({ code: 3, stderr: "required, and not shown: complete\n" });
  expect(ran.stdout).toContain("it is the word of the deployment alone");
  const again = await verify(pack, ...source());
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`leaves out transaction ${txDigest}`);
  // The honest certificate of the same key names other heads.
  const honestly = await readFile(join(folder, "whole", "certificate.json"), "utf8");
  const { chains, closure, conservation, heads } = JSON.parse(honestly);
  const counted = await recertified(pack, () => ({ chains, closure, conservation, heads }));
  expect((await verify(counted)).stderr).toMatch(
    /certificate.json: says that there are \d+ versions of objects; the pack's facts give \d+/,
  );
  const wrong = await recertified(pack, (own) => ({ heads: { ...own.heads, hash: heads.hash } }));
  expect(await verify(wrong)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      "certificate.json: has the hash of other versions of the live objects than the pack's facts end with",
    ),
  });
});

test("a certificate of another token, chain, key or checkpoint is refused by its difference", async () => {
  const whole = join(folder, "whole");
  const other = await certify(honest, LATE.last, { of: coins[0] ?? "" });
  const older = await certify(honest, LATE.last - 5);
  for (const [at, certificate] of [other, older].entries()) {
    const { code, stderr } = await tryMaking(`other-${at}`, honest, LATE, certificate);
    expect(code).toBe(2);
    expect(stderr).toContain(`has no certificate of ${coinType} through checkpoint 110`);
    expect(stderr).toContain(`${certificate.coinType} through checkpoint ${110 - 5 * at}`);
  }
  const refused = async (edit: Parameters<typeof recertified>[1], why: string) => {
    const { code, stderr } = await verify(await recertified(whole, edit));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`certificate.json: ${why}`)]);
  };
  await refused(() => ({ coinType: coins[0] }), `is of the token ${coins[0]}, not ${coinType}`);
  await refused(
    ({ through }) => ({ through: { ...through, checkpoint: "105" } }),
    "is of the checkpoint 105, not 110, as the pack",
  );
  await refused(() => ({ chainId: "other" }), "is of the chain other, not");
  await refused(({ packages }) => ({ packages: packages.slice(1) }), "is of the packages");
  await refused(
    ({ through }) => ({ through: { ...through, digest: "1".repeat(32) } }),
    "is of the checkpoint of digest",
  );
  const { publicKey } = generateKeyPair();
  await refused(() => ({ publicKey }), `is of the key ${publicKey}, not`);
});

test("a certificate that counts otherwise than the facts is refused, whoever signed it", async () => {
  const whole = join(folder, "whole");
  const forgeries: { readonly pack: string; readonly why: string; readonly misfit: number }[] = [];
  const more = (text: string) => `${BigInt(text) + 1n}`;
  const refused = async (edit: Parameters<typeof recertified>[1], why: string) => {
    const forged = await recertified(whole, edit);
    const { code, stderr } = await verify(forged);
    expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
    expect(await byClient(forged, false)).toContain(why);
    const certificate: unknown = JSON.parse(
      await readFile(join(forged, "certificate.json"), "utf8"),
    );
    forgeries.push({ pack: forged, why, misfit: misfits("completeness", certificate).length });
  };
  await refused(
    ({ chains }) => ({ chains: { ...chains, objects: more(chains.objects) } }),
    "objects; the pack's facts give",
  );
  await refused(
    ({ chains }) => ({ chains: { ...chains, live: more(chains.live) } }),
    "live objects; the pack's facts give",
  );
  await refused(
    ({ closure }) => ({ closure: { transactions: more(closure.transactions) } }),
    "transactions; the pack's facts give",
  );
  await refused(
    ({ conservation }) => ({
      conservation: { ...conservation, supply: more(conservation.supply) },
    }),
    "units of supply; the pack's facts give",
  );
  await refused(
    ({ heads }) => ({
      heads: {
        ...heads,
        served: [
          { source: "x", as: "source", at: "2026-07-01T00:00:00.000Z", same: "1", changed: "0" },
        ],
      },
    }),
    "heads.served must each come to the",
  );
  await refused(() => ({ profile: "a b" }), "profile must be a profile's name");
  expect(forgeries.map(({ misfit }) => misfit)).toEqual([0, 0, 0, 0, 0, 1]);
  for (const [at, said] of (await byPython(...forgeries.map(({ pack }) => pack))).entries()) {
    expect(said).toMatch(/^1\ncertificate\.json: /);
    expect(said).toContain(forgeries[at]?.why.replace(" of objects", "") ?? "");
  }
});

test("a pack with a certificate is of version 4, and has all facts since the token's first", async () => {
  const { version, files, opening } = await manifestOf(join(folder, "whole"));
  expect([version, opening]).toEqual([4, "whole"]);
  expect(misfits("pack-manifest-v4", await manifestOf(join(folder, "whole")))).toEqual([]);
  expect(Object.keys(files)).toContain("certificate.json");
  const file = join(folder, "whole-certificate.json");
  const signedOpening = await runCommand(
    [
      ...["audit-pack", "--coin", coinType, "--from", "70", "--to", "110", "--opening", "signed"],
      ...["--certificate", file, "--no-papers", "--out", join(folder, "signed")],
    ],
    { DATABASE_URL: honest.url, CALLBACK_MASTER_KEY: masterKey },
  );
  expect(signedOpening).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--certificate needs --opening whole"),
  });
});

test("what `prove complete` prints goes into a pack, and other files do not", async () => {
  const settings = {
    DATABASE_URL: honest.url,
    CALLBACK_MASTER_KEY: masterKey,
    LEDGER_SOURCE: `dir:${ledger}`,
    COMMITTEE_FILE: join(ledger, "ledger.json"),
  };
  const { last, first } = LATE;
  const proven = await runCommand(
    ["prove", "complete", "--through", `${last}`, "--json"],
    settings,
  );
  expect(proven).toMatchObject({ code: 0, stderr: "" });
  const file = join(folder, "proven.json");
  const packed = async (text: string) => {
    await writeFile(file, text);
    const out = join(folder, "proven");
    const range = ["--from", `${first}`, "--to", `${last}`, "--certificate", file];
    const args = ["audit-pack", "--coin", coinType, ...range, "--no-papers", "--out", out];
    return runCommand(args, settings);
  };
  for (const [text, why] of [
    ["", "has 0 bytes"],
    ["\u0000\u001b[2J", "is not JSON"],
    ["[]", "is no certificate of completeness: it must be an object"],
    ['{"certificates":[]}', `has no certificate of ${coinType} through checkpoint 110`],
    ['{"certificates":[{}]}', "is no certificate of completeness: format is missing"],
  ] as const) {
    const { code, stderr } = await packed(text);
    expect([text, code, stderr]).toEqual([text, 2, expect.stringContaining(why)]);
  }
  expect(await packed(proven.stdout)).toMatchObject({ code: 0, stderr: "" });
  const ran = await verify(join(folder, "proven"));
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain(
    "by: certificate.json, signed by the key of the pack, counts the same",
  );
});

test("a pack of which every fact is left out is refused, for it has no treasury", async () => {
  const copy = await copyOf(join(folder, "whole"));
  for (const path of Object.keys((await manifestOf(copy)).files)) {
    if (/^(later|checkpoints|objects)\//.test(path)) await rm(join(copy, path));
  }
  // The last one of an epoch, and those of the registers.
  for (const at of [49, LATE.first, LATE.last]) {
    const raw = raws[at] ?? expect.fail(`no checkpoint ${at}`);
    const { excerptOf } = readToExtract(raw, createWanted(chain.packages));
    await writeFile(join(copy, "checkpoints", `${at}.binpb`), await excerptOf(new Set()));
  }
  const forged = await recertified(copy, () => ({
    chains: { objects: "0", versions: "0", live: "0" },
    closure: { transactions: "0" },
    conservation: { checkpoints: "0", supply: "0" },
    heads: { hash: createHash("sha256").digest("hex"), served: [] },
  }));
  const why =
    "certificate.json: cannot hold: the pack's facts make 0 treasuries of the token, and leave 0, instead of one";
  expect(await byClient(forged)).toBe(why);
  for (const said of await byPython(forged)) expect(said).toBe(`1\n${why}\n`);
  expect(await verify(forged)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("AuditPackError: first/state.ndjson: object"),
  });
});

test("whose word a certificate rests on is in the verdict of every verifier, and so are hidden upgrades", async () => {
  const pack = join(folder, "whole");
  const { stdout } = await verify(pack);
  for (const said of [stdout, await byClient(pack), ...(await byPython(pack))]) {
    expect(said).toContain(`as certificate.json says, it rests on somebody's word: ${ON_FAITH}`);
    expect(said).toContain(
      "that the contract was upgraded to no package but the 2 of the pack: nothing here shows an upgrade that was hidden; the deployment says so",
    );
  }
});

test("a certificate that names no bytecode of a package does not make a pack complete", async () => {
  const bare = await recertified(join(folder, "whole"), () => ({ bytecode: [] }));
  for (const said of [await byClient(bare), ...(await byPython(bare))]) {
    expect(said).not.toMatch(/^true/);
    for (const address of chain.packages) {
      expect(said).toContain(
        `that the profile holds for package ${address}: certificate.json names no bytecode of it`,
      );
    }
  }
});

test("registers in which two holders exchange what they hold are refused by the facts", async () => {
  const signer = generateKeyPair();
  const pack = await make("narrow", honest, { first: LATE.last - 2, last: LATE.last });
  const copy = await recertified(pack, () => ({}), signer);
  const movements = await readFile(join(copy, "movements.ndjson"), "utf8");
  const forgery = registers("two holders exchange what they hold", ({ rows }) => {
    const [one, other] = rows.filter(({ wallets }) =>
      wallets.every(({ address }) => !movements.includes(address)),
    );
    if (one === undefined || other === undefined) throw new Error("no two rest in the range");
    [one.holderId, other.holderId] = [other.holderId, one.holderId];
    [one.wallets, other.wallets] = [other.wallets, one.wallets];
    for (const { wallets, balance } of [one, other]) {
      for (const [at, wallet] of wallets.entries()) wallet.balance = at === 0 ? balance : "0";
    }
  });
  const forged = await forgery.forge(await filesIn(copy), signer);
  for (const [path, bytes] of forged) await writeFile(join(copy, path), bytes);
  const why = /last\/cap-table.json: has \d+ of 0x\w{64}; the pack's facts give \d+/;
  expect(await byClient(copy)).toMatch(why);
  for (const said of await byPython(copy)) expect(said).toMatch(why);
  expect(await verify(copy)).toMatchObject({ code: 1 });
});
