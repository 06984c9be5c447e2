/** `prove`: the contract's upgrades, the end of its upgrade capability, and code that no profile knows. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { OPENING_ENDS } from "../../demo/issuer/advance.ts";
import { certify, storeProof } from "../../src/audit/complete/certificate.ts";
import { type Proof, type ProofRequest, prove } from "../../src/audit/complete/prove.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { completenessCheck } from "../../src/audit/watch/completeness-check.ts";
import { acceptedBytecode } from "../../src/ledger/contract/bytecode.ts";
import { HistoryIndexMissingError } from "../../src/ledger/history/history-errors.ts";
import { readMeta } from "../../src/projections/meta.ts";
import { listedSource } from "../ledger/guided/listed-source.ts";
import { HONEST, type Lies } from "../ledger/history/lies.ts";
import { listedIndex } from "../ledger/history/listed-index.ts";
import { losePackages, markGuided } from "../log/damage.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { type UpgradeLedger, upgradeLedger } from "./upgrade-ledgers.ts";

const { signal } = new AbortController();
/** The log of every ledger ends here, before the capability is deleted or wrapped. */
const READ = OPENING_ENDS;

const kept = upgradeLedger("keep");
const deleted = upgradeLedger("delete");

let database: TestDatabase;
beforeAll(async () => {
  database = await logOf(kept, READ);
});
afterAll(() => database.close());

/** Ledgers of one seed are the same up to the end of the opening. */
const logOf = async (ledger: UpgradeLedger, through: bigint): Promise<TestDatabase> => {
  const log = await freshDatabase();
  const following = await follow(log, ledger.demo);
  await following.append(
    Array.from({ length: Number(through) + 1 }, (_, at) => {
      const sequence = BigInt(at);
      return { sequence, encoding: "protobuf" as const, bytes: ledger.checkpoint(sequence) };
    }),
  );
  return log;
};

const requestOf = (
  ledger: UpgradeLedger,
  lies: Partial<Lies> = {},
  more: Partial<ProofRequest> = {},
): ProofRequest => ({
  source: listedSource(ledger, lies.withheld).source,
  verification: { level: "signatures", trust: async () => ({ committee: ledger.demo.committee }) },
  index: listedIndex(ledger, { ...HONEST, ...lies }),
  witness: null,
  accepted: acceptedBytecode(),
  againMs: 1,
  ...more,
});

const proven = (
  ledger: UpgradeLedger,
  lies?: Partial<Lies>,
  more?: Partial<ProofRequest>,
  of: TestDatabase = database,
): Promise<Proof> => prove(of, requestOf(ledger, lies, more), signal);

/** One verdict of all tokens, and one list of reasons. */
const judged = ({ coins }: Proof) => {
  const verdicts = new Set(coins.map(({ verdict }) => verdict));
  expect(verdicts.size).toBe(1);
  const [coin] = coins;
  if (coin === undefined) throw new Error("no coins");
  return coin;
};

const deletionIn = ({ ofCap }: UpgradeLedger) => {
  const last = ofCap.at(-1);
  if (last === undefined) throw new Error("nothing touches the capability");
  return { checkpoint: last.checkpoint, transaction: last.digest };
};

test("a deleted upgrade capability ends the upgrades: that none was missed rests on no node's word", async () => {
  const proof = await proven(deleted);
  const coin = judged(proof);
  expect({ verdict: coin.verdict, notShown: coin.notShown }).toEqual({
    verdict: "complete",
    notShown: [],
  });
  expect(proof.code.caps).toMatchObject([
    { objectId: deleted.capId, packages: 2n, deleted: deletionIn(deleted), shownBy: "signature" },
  ]);
  expect(coin.onFaith.join()).not.toContain("upgrade");
  const key = await openDeploymentKey(database, Buffer.alloc(32, 7));
  const [certificate] = await certify(proof, key);
  expect(certificate?.onFaith.join()).not.toContain("upgrade");

  // While it is there, its newest version is a node's word.
  const before = judged(await proven(kept));
  expect(before.verdict).toBe("complete");
  expect(before.onFaith.join()).toContain(`${kept.capId} has no version after`);
});

test("a deletion in the log's own range counts, too, as does a second node's list of it", async () => {
  await using whole = await logOf(deleted, deleted.newest());
  const missing = new HistoryIndexMissingError("witness", "UNIMPLEMENTED");
  const witness = { ...listedIndex(deleted), covers: () => Promise.reject(missing) };
  const { capId } = deleted;
  // Its head is still served by one node, and the other has no lists.
  const [, upgrade] = kept.ofCap;
  const stale = {
    version: kept.demo.object(capId)?.version ?? 0n,
    digest: "",
    previousTransaction: upgrade?.digest ?? "",
  };
  for (const [index, second] of [
    [listedIndex(deleted), witness],
    [witness, listedIndex(deleted)],
    [listedIndex(deleted, { ...HONEST, heads: new Map([[capId, stale]]) }), listedIndex(deleted)],
  ] as const) {
    const proof = await proven(deleted, {}, { index, witness: second }, whole);
    expect(judged(proof)).toMatchObject({ verdict: "complete", notShown: [] });
    expect(proof.code.caps.map((cap) => cap.deleted)).toEqual([deletionIn(deleted)]);
  }
});

test("an upgrade that was not read is named behind the deletion of the capability", async () => {
  await using altered = await copyOf(database);
  await losePackages(altered);
  const { code, ...proof } = await proven(deleted, {}, {}, altered);
  expect(code.hidden).toMatchObject([{ address: deleted.demo.packages[1] }]);
  expect(judged({ ...proof, code }).verdict).toBe("incomplete");
  // And nothing is complete where a node does not name it.
  const [, upgrade] = deleted.ofCap;
  const unknown = new Set([upgrade?.digest ?? ""]);
  const hiding = judged(await proven(deleted, { unknown }, {}, altered));
  expect(hiding.verdict).toBe("not shown");
  expect(hiding.notShown.join()).toContain(
    `does not know the checkpoint of transaction ${upgrade?.digest}`,
  );
});

test("an upgrade in the very transaction that deletes the capability is one of the upgrades", async () => {
  const ledger = upgradeLedger("upgrade and delete");
  await using whole = await logOf(ledger, ledger.newest());
  const { checkpoint } = deletionIn(ledger);
  const hidden = await proven(ledger, {}, {}, whole);
  expect(hidden.code.hidden).toMatchObject([{ checkpoint, cap: { objectId: ledger.capId } }]);
  expect(judged(hidden).verdict).toBe("incomplete");
  // In the log, it is a version like others.
  const { address = "" } = hidden.code.hidden[0] ?? {};
  await whole.sql`insert into log_packages values (${address}, ${checkpoint}, 0)`;
  const { code, ...proof } = await proven(ledger, {}, {}, whole);
  expect(code.versions.at(-1)).toMatchObject({ address, version: 3n, checkpoint });
  const unknown = judged({ ...proof, code });
  expect(unknown).toMatchObject({ verdict: "incomplete", gaps: [], notShown: [] });
  const bytecode = code.versions.at(-1)?.bytecode ?? "";
  const accepted = new Map([...acceptedBytecode(), [bytecode, "setting"] as const]);
  expect(judged(await proven(ledger, {}, { accepted }, whole)).verdict).toBe("complete");
});

test("a node that hides the deletion, or claims one, shows nothing", async () => {
  const { transaction, checkpoint } = deletionIn(deleted);
  const unlisted = judged(await proven(deleted, { unlisted: new Set([transaction]) }));
  expect(unlisted.verdict).toBe("not shown");
  expect(unlisted.notShown[0]).toMatch(
    /^code: whether package 0x\w+ was upgraded: lists in memory has no object 0x\w+, its upgrade capability, and checkpoint \d+, the newest that lists in memory lists for it, does not delete it$/,
  );
  const withheld = judged(await proven(deleted, { withheld: new Set([checkpoint]) }));
  expect(withheld.verdict).toBe("not shown");
  expect(withheld.notShown.join()).toContain(`checkpoint ${checkpoint} cannot be had`);

  const claimed = new Map([[kept.capId, undefined]]);
  expect(judged(await proven(kept, { heads: claimed })).verdict).toBe("not shown");
  // Nor does it, with an upgrade that was not read.
  await using altered = await copyOf(database);
  await losePackages(altered);
  const [, upgrade] = kept.ofCap;
  for (const lies of [{}, { unlisted: new Set([upgrade?.digest ?? ""]) }]) {
    const claiming = judged(await proven(kept, { ...lies, heads: claimed }, {}, altered));
    expect(claiming.verdict).toBe("not shown");
    expect(claiming.notShown.join()).toContain("does not delete it");
  }
  // A second node that serves it shows the upgrade.
  const witness = listedIndex(kept);
  const shown = await proven(kept, { heads: claimed }, { witness }, altered);
  expect(judged(shown).verdict).toBe("incomplete");
});

test("a capability that is or was wrapped may have upgraded unseen: nothing is complete", async () => {
  const wrapped = upgradeLedger("wrap");
  const inside = judged(await proven(wrapped));
  expect(inside.verdict).toBe("not shown");
  expect(inside.notShown.join()).toMatch(
    /it was wrapped in checkpoint \d+, the newest that lists in memory lists for it, and a wrapped one can be used unseen/,
  );
  const unwrapped = upgradeLedger("wrap and unwrap");
  const back = judged(await proven(unwrapped));
  expect(back.verdict).toBe("not shown");
  expect(back.notShown.join()).toMatch(
    /the upgrade capability 0x\w+ was unwrapped at checkpoint \d+, and a wrapped one can be used unseen/,
  );
});

test("a deletion in a checkpoint without a signature rests on the source, and only where the log does", async () => {
  const unsigned: Partial<ProofRequest> = { verification: { level: "links" } };
  const { code, ...proof } = await proven(deleted, {}, unsigned);
  const coin = judged({ ...proof, code });
  expect(coin.verdict).toBe("complete");
  expect(coin.onFaith).toContain(
    `that the upgrade capability ${deleted.capId} was deleted at checkpoint ${deletionIn(deleted).checkpoint}, after all its upgrades were read: the source`,
  );
  const noTrust: Partial<ProofRequest> = { verification: { level: "signatures" } };
  expect(judged(await proven(deleted, {}, noTrust)).verdict).toBe("not shown");
});

/** Hashes of the two versions. */
const hashesOf = async (): Promise<readonly [string, string]> => {
  const { code } = await proven(kept);
  const [first, second] = code.versions.map(({ bytecode }) => bytecode);
  if (first === undefined || second === undefined) throw new Error("no versions");
  return [first, second];
};

test("a first version that no profile knows leaves tokens open, until the setting names its hash", async () => {
  const [first, second] = await hashesOf();
  const unknown = judged(await proven(kept, {}, { accepted: new Map([[second, "profile"]]) }));
  expect(unknown).toMatchObject({ verdict: "not shown", gaps: [], unknownCode: [] });
  expect(unknown.notShown.join()).toContain(first);
  const accepted = new Map([
    [second, "profile"],
    [first, "setting"],
  ] as const);
  const coin = judged(await proven(kept, {}, { accepted }));
  expect(coin.verdict).toBe("complete");
  expect(coin.onFaith.filter((line) => line.includes("CONTRACT_BYTECODE"))).toHaveLength(1);
});

test("an upgrade that no profile knows makes every token incomplete, names the capability, and withholds none", async () => {
  const [first, second] = await hashesOf();
  const accepted = new Map([[first, "profile"]] as const);
  await using altered = await copyOf(database);
  await markGuided(altered, { first: 0n, last: READ });
  const proof = await proven(kept, {}, { accepted }, altered);
  const coin = judged(proof);
  const [publication, upgrade] = kept.ofCap;
  const version = proof.code.versions[1]?.cap?.version;
  expect(coin).toMatchObject({
    ...{ verdict: "incomplete", gaps: [], notShown: [] },
    unknownCode: [
      {
        ...{ objectId: kept.capId, version, from: upgrade?.checkpoint },
        what: `the contract was upgraded to ${kept.demo.packages[1]} at checkpoint ${upgrade?.checkpoint}, whose bytecode ${second} no profile is known to hold for: review its code, then add the hash to CONTRACT_BYTECODE`,
      },
    ],
  });
  const key = await openDeploymentKey(altered, Buffer.alloc(32, 7));
  expect(await certify(proof, key)).toEqual([]);
  // Found missing before, and read since.
  const missing = { version: 1n, from: 2n, objectId: kept.capId, what: "was not read" };
  const coins = proof.coins.map((one) => ({
    ...one,
    gaps: [{ coinType: one.coinType, ...missing }],
  }));
  await altered.transaction(({ sql }) => storeProof(sql, { ...proof, coins }, [], true));
  expect(await altered.sql`select from incomplete_coins`).toHaveLength(coins.length);
  await altered.transaction(({ sql }) => storeProof(sql, proof, [], true));
  expect(await altered.sql`select from incomplete_coins`).toHaveLength(0);
  expect((await readMeta(altered)).completeThrough).toBeNull();

  // Before the upgrade its code did nothing.
  const through = (upgrade?.checkpoint ?? 0n) - 1n;
  expect(publication?.checkpoint).toBeLessThan(through);
  const earlier = await proven(kept, {}, { accepted, through }, altered);
  expect(judged(earlier).verdict).toBe("complete");
  expect(earlier.code.versions).toHaveLength(1);

  // Nor does a process that was told the hash wait for the next guided range.
  const check = (of: ProofRequest["accepted"]) =>
    completenessCheck({
      ...{ key, signal, onProved: () => undefined },
      open: async () => ({
        ...requestOf(kept, {}, { accepted: of }),
        [Symbol.asyncDispose]: async () => undefined,
      }),
    });
  await check(accepted).next(altered);
  expect((await readMeta(altered)).completeThrough).toBeNull();
  await check(new Map([...accepted, [second, "setting"]])).next(altered);
  expect((await readMeta(altered)).completeThrough).toBe(READ);
});
