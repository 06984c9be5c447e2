/** `prove`: what a node that hides, lags or upgrades in secret cannot make complete. */
import { bcs } from "@mysten/sui/bcs";
import { GrpcTypes } from "@mysten/sui/grpc";
import { toBase58 } from "@mysten/sui/utils";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CompletenessCertificate,
  certificateFaults,
  isCertificateSigned,
} from "../../client/completeness.ts";
import { isFormed } from "../../client/forms.ts";
import { certify, storeProof } from "../../src/audit/complete/certificate.ts";
import { liveObjects } from "../../src/audit/complete/heads.ts";
import { type Proof, type ProofRequest, prove } from "../../src/audit/complete/prove.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { completenessCheck } from "../../src/audit/watch/completeness-check.ts";
import { acceptedBytecode } from "../../src/ledger/contract/bytecode.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { HistoryIndexMissingError } from "../../src/ledger/history/history-errors.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import type { CheckpointSource } from "../../src/ledger/sources/source.ts";
import { SourceUnavailableError } from "../../src/ledger/sources/source-errors.ts";
import { noteIncomplete } from "../../src/projections/incomplete-coins.ts";
import { hash } from "../ledger/fixture-object.ts";
import { factsOfContract } from "../ledger/guided/facts-found.ts";
import { listedSource } from "../ledger/guided/listed-source.ts";
import { hiding } from "../ledger/history/hiding.ts";
import { HONEST, type Lies } from "../ledger/history/lies.ts";
import { listedDemo } from "../ledger/history/listed-demo.ts";
import { listedIndex } from "../ledger/history/listed-index.ts";
import {
  alterLog,
  changingTransactions,
  createLater,
  losePackages,
  loseTransaction,
  markGuided,
  renameFirst,
} from "../log/damage.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";

/** The log ends here; the ledger goes on. */
const READ = 300;
const ledger = listedDemo({ seed: 28, epochLength: 80 }, READ + 60);
const { demo } = ledger;
const coinTypes = demo.coinTypes.map(({ coinType }) => coinType);
const { signal } = new AbortController();

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  const following = await follow(database, demo);
  await following.append(
    Array.from({ length: READ }, (_, at) => {
      const sequence = BigInt(at);
      return { sequence, encoding: "protobuf" as const, bytes: ledger.checkpoint(sequence) };
    }),
  );
});
afterAll(() => database.close());

const requestOf = (lies: Partial<Lies> = {}, more: Partial<ProofRequest> = {}): ProofRequest => ({
  source: listedSource(ledger, lies.withheld).source,
  verification: { level: "signatures", trust: async () => ({ committee: demo.committee }) },
  index: listedIndex(ledger, { ...HONEST, ...lies }),
  witness: null,
  accepted: acceptedBytecode(),
  againMs: 1,
  // Several pages, between which checkpoints are read.
  objectsPerRead: 20,
  ...more,
});

const proven = (
  lies?: Partial<Lies>,
  more?: Partial<ProofRequest>,
  of: TestDatabase = database,
): Promise<Proof> => prove(of, requestOf(lies, more), signal);

/** Coins that are held as incomplete. */
const incompleteIn = async ({ sql }: TestDatabase): Promise<readonly string[]> => {
  const rows = await sql<{ coin: string }[]>`select coin_type as coin from incomplete_coins`;
  return rows.map(({ coin }) => coin);
};

const missingIn = ({ coins }: Proof) =>
  coins.flatMap(({ gaps }) => gaps.map(({ objectId, version }) => ({ objectId, version })));

test("every token of an exhaustively read log is complete, though its objects changed since", async () => {
  const { coins, heads } = await proven();
  expect(coins.map(({ verdict, notShown, gaps }) => ({ verdict, notShown, gaps }))).toEqual(
    coins.map(() => ({ verdict: "complete", notShown: [], gaps: [] })),
  );
  expect(coins.length).toBe(4);
  const [{ counts } = { counts: new Map() }] = heads;
  expect([...counts.values()].some(({ changed }) => changed > 0n)).toBe(true);
});

/** A node that serves the log's own versions; of what the log does not have, the ledger's. */
const headsOf = async ({ sql }: TestDatabase) => {
  const own = new Map<string, bigint>();
  for await (const page of liveObjects(sql, BigInt(READ - 1), coinTypes)) {
    for (const { objectId, version } of page) own.set(objectId, version);
  }
  return async (ids: readonly string[]) =>
    new Map(
      ids.map((id) => {
        const version = own.get(id);
        return [
          id,
          version === undefined
            ? (ledger.headOf(id) ?? null)
            : { version, digest: "", previousTransaction: "" },
        ] as const;
      }),
    );
};

test("a transaction that was not read is named though it is the last change of its objects, by a node or a witness", async () => {
  const all = await changingTransactions(database, coinTypes);
  const last = all.filter(({ changedLater }) => changedLater.length === 0);
  expect(last.length).toBeGreaterThan(20);
  for (const one of last.filter((_, at) => at % 9 === 0)) {
    await using altered = await copyOf(database);
    await loseTransaction(altered, one);
    const found = await proven({}, {}, altered);
    const missing = missingIn(found);
    expect(missing.length).toBeGreaterThan(0);
    expect(found.coins.some(({ verdict }) => verdict === "incomplete")).toBe(true);
    // The same by a second node, where the first one serves what the log has.
    const index = { ...listedIndex(ledger), heads: await headsOf(altered) };
    const { heads } = await proven({}, { index, witness: listedIndex(ledger) }, altered);
    const [first, second] = heads.map(({ gaps, said }) =>
      [...gaps, ...said].map(({ objectId }) => objectId),
    );
    expect(first).toEqual([]);
    const [alone] = found.heads;
    expect(second).toEqual(
      [...(alone?.gaps ?? []), ...(alone?.said ?? [])].map(({ objectId }) => objectId),
    );
  }
});

test("an upgrade that was not read makes every token incomplete, and its capability names it", async () => {
  await using altered = await copyOf(database);
  await losePackages(altered);
  const { coins, code } = await proven({}, {}, altered);
  expect(code.hidden).toMatchObject([{ address: demo.packages[1], checkpoint: 29n }]);
  for (const { verdict, gaps } of coins) {
    expect(verdict).toBe("incomplete");
    const [cap] = code.caps;
    expect(gaps.map(({ objectId }) => objectId)).toContain(cap?.objectId);
  }
});

test("a node whose heads are older than the log shows nothing, nor does one that lags", async () => {
  const [object] = (await proven()).coins;
  const stale = new Map(
    [...demo.model.coins.values()].map(({ treasuryId }) => [
      treasuryId,
      { version: 1n, digest: "x", previousTransaction: "x" },
    ]),
  );
  const { coins } = await proven({ heads: stale });
  expect(coins.map(({ verdict }) => verdict)).toEqual(coins.map(() => "not shown"));
  expect(coins[0]?.notShown[0]).toMatch(/has version 1 of object 0x\w+, older than the log's/);
  const index = listedIndex(ledger);
  const lagging = { ...index, newest: async () => 10n };
  const late = await proven({}, { index: lagging });
  expect(late.coins.find(({ coinType }) => coinType === object?.coinType)?.notShown).toEqual([
    "heads: lists in memory has checkpoints up to 10, before the log's 299",
  ]);
});

test("that an object is gone is believed of one node alone only where no other node has it", async () => {
  const [coin] = (await proven()).coins;
  const treasury = [...demo.model.coins.values()].find(
    ({ coinType }) => coinType === coin?.coinType,
  );
  const heads = new Map([[treasury?.treasuryId ?? "", undefined]]);
  const hiding = listedIndex(ledger, { ...HONEST, heads });
  const verdictOf = ({ coins }: Proof) =>
    coins.find(({ coinType }) => coinType === coin?.coinType)?.verdict;
  expect(verdictOf(await proven({}, { index: hiding }))).toBe("incomplete");
  expect(verdictOf(await proven({}, { index: hiding, witness: listedIndex(ledger) }))).toBe(
    "not shown",
  );
  expect(verdictOf(await proven({}, { index: hiding, witness: hiding }))).toBe("incomplete");
  // A witness behind the log has not seen the end of it.
  const behind = { ...listedIndex(ledger), newest: async () => 10n };
  expect(verdictOf(await proven({}, { index: hiding, witness: behind }))).toBe("incomplete");
  // One that answers right when it is asked again.
  let asked = 0;
  const honest = listedIndex(ledger);
  const balanced: ProofRequest["index"] = {
    ...honest,
    heads: (ids, of) => (asked++ % 2 === 0 ? hiding : honest).heads(ids, of),
  };
  expect(verdictOf(await proven({}, { index: balanced }))).toBe("complete");
});

test("an upgrade that one node hides is named by the other", async () => {
  await using altered = await copyOf(database);
  await losePackages(altered);
  const [cap] = (await proven()).code.caps;
  const [place] = ledger.listed(`object ${cap?.objectId}`);
  if (cap === undefined || place === undefined) throw new Error("no capability");
  // As its publication left it.
  const bytes = ledger.checkpoint(place.checkpoint);
  const published = decodeCheckpoint({ sequence: place.checkpoint, encoding: "protobuf", bytes });
  const version = published.transactions
    .flatMap(({ outputObjects }) => outputObjects)
    .find(({ id }) => id === cap.objectId)?.version;
  if (version === undefined) throw new Error("no version of the capability");
  const heads = new Map([
    [cap.objectId, { version, digest: "", previousTransaction: place.digest }],
  ]);
  const hiding = listedIndex(ledger, { ...HONEST, heads });
  const alone = await proven({}, { index: hiding }, altered);
  expect({ hidden: alone.code.hidden, versions: alone.code.versions.length }).toEqual({
    hidden: [],
    versions: 1,
  });
  expect(alone.coins[0]?.onFaith.join()).toContain(
    `${cap.objectId} has no version after ${version}`,
  );
  const both = await proven({}, { index: hiding, witness: listedIndex(ledger) }, altered);
  expect(both.code.hidden.map(({ address }) => address)).toEqual([demo.packages[1]]);
});

test("a log that begins after its tokens shows nothing missing, and nothing complete", async () => {
  await using later = await freshDatabase();
  const following = await follow(later, { ...demo, begin: 100n });
  await following.append(
    Array.from({ length: 60 }, (_, at) => {
      const sequence = BigInt(100 + at);
      return { sequence, encoding: "protobuf" as const, bytes: ledger.checkpoint(sequence) };
    }),
  );
  const { coins } = await proven({}, {}, later);
  for (const { verdict, gaps, notShown } of coins) {
    expect({ verdict, gaps }).toEqual({ verdict: "not shown", gaps: [] });
    expect(notShown.join()).toContain("existed before checkpoint 100, with which the log begins");
  }
});

test("without a node's lists an exhaustively read log is complete on the word of who read it", async () => {
  const { coins } = await proven({}, { index: null });
  expect(coins.map(({ verdict }) => verdict)).toEqual(coins.map(() => "complete"));
  for (const { onFaith } of coins) {
    expect(onFaith).toContain(
      "that no upgrade was missed: this deployment, which read every checkpoint",
    );
  }
});

test("once guided reading has ended, certificates and what is missing are stored, once for each range", async () => {
  const key = await openDeploymentKey(database, Buffer.alloc(32, 7));
  await using altered = await copyOf(database);
  let asked = 0;
  const check = completenessCheck({
    key,
    signal,
    onProved: () => undefined,
    open: async () => {
      asked += 1;
      return { ...requestOf(), [Symbol.asyncDispose]: async () => undefined };
    },
  });
  const stored = () =>
    altered.sql<
      { coin: string | null; certificate: unknown; incomplete: { version: string }[] }[]
    >`select coin_type as coin, certificate, incomplete from completeness order by id`;

  // Nothing was read guided.
  await check.next(altered);
  expect(asked).toBe(0);

  await markGuided(altered, { first: 0n, last: 149n });
  await check.next(altered);
  await check.next(altered);
  expect(asked).toBe(1);
  const rows = await stored();
  expect(rows.map(({ coin }) => coin)).toEqual([...coinTypes.toSorted(), null]);
  for (const { coin, certificate, incomplete } of rows) {
    expect(incomplete).toEqual([]);
    if (coin === null) continue;
    const faults = certificateFaults(certificate);
    expect(faults).toEqual([]);
    if (!isFormed<CompletenessCertificate>(certificate, faults)) continue;
    expect(isCertificateSigned(certificate)).toBe(true);
    expect(certificate.onFaith.join()).toContain("lists in memory (source), asked at");
  }

  // The next range lacks a transaction.
  const all = await changingTransactions(altered, coinTypes);
  const lost = all.filter(({ changedLater }) => changedLater.length > 0).at(-1);
  if (lost === undefined) throw new Error("no transaction to lose");
  await loseTransaction(altered, lost);
  await markGuided(altered, { first: 150n, last: BigInt(READ - 1) });
  // The first proof went through the log's end.
  await check.next(altered);
  expect(asked).toBe(1);
  const again = await prove(altered, requestOf(), signal);
  await altered.transaction(({ sql }) => storeProof(sql, again, [], true));
  const whole = (await stored()).findLast(({ coin }) => coin === null);
  expect(whole?.incomplete.map(({ version }) => version)).toContain(lost.changedLater[0]?.version);

  // An earlier checkpoint, where nothing is missing, does not clear it.
  const before = (await stored()).length;
  const earlier = await prove(altered, { ...requestOf(), through: 60n }, signal);
  expect(earlier.coins.map(({ verdict }) => verdict)).toEqual(coinTypes.map(() => "complete"));
  const isKept = await altered.transaction(async ({ sql }) =>
    storeProof(sql, earlier, await certify(earlier, key), true),
  );
  expect(isKept).toBe(false);
  expect((await stored()).length).toBe(before);
});

test("a node or a witness of another chain is refused: it would make every object look gone", async () => {
  const stranger = { ...listedIndex(ledger), chainId: async () => "another" };

  await expect(proven({}, { index: stranger })).rejects.toThrow(/is of chain another, and the log/);
  await expect(proven({}, { witness: stranger })).rejects.toMatchObject({
    name: "IndexOfOtherChainError",
    remedy: "stop",
  });
});

test("a transaction that the profile does not explain makes its token incomplete, and holds it", async () => {
  await using altered = await copyOf(database);
  await renameFirst(altered, "controlled_treasury::Mint", "controlled_treasury::Secret");
  const found = await proven({}, {}, altered);
  const incomplete = found.coins.filter(({ verdict }) => verdict === "incomplete");
  expect(incomplete.map(({ gaps }) => gaps.map(({ what }) => what).join())).toEqual([
    expect.stringMatching(
      /^transaction \w+ of checkpoint \d+ emitted controlled_treasury::Secret, which no function/,
    ),
  ]);
  await altered.transaction(({ sql }) => storeProof(sql, found, [], true));
  expect(await incompleteIn(altered)).toEqual(incomplete.map(({ coinType }) => coinType));
});

test("metadata of a package that is older than its token is not shown, and does not make the token incomplete for ever", async () => {
  await using altered = await copyOf(database);
  const coinType = coinTypes.find((each) => each.endsWith("::CEDAR")) ?? "";
  await createLater(altered, coinType);
  const ofCoin = async () =>
    (await proven({}, {}, altered)).coins.find((coin) => coin.coinType === coinType);
  // Read whole, it is a gap.
  expect(await ofCoin()).toMatchObject({ verdict: "incomplete" });

  // Published in one guided batch, a token of the contract only in the next.
  await markGuided(altered, { first: 0n, last: 4n });
  await markGuided(altered, { first: 5n, last: BigInt(READ - 1) });
  const later = await ofCoin();
  expect({ verdict: later?.verdict, gaps: later?.gaps }).toEqual({
    verdict: "not shown",
    gaps: [],
  });
  expect(later?.notShown).toContainEqual(
    expect.stringMatching(
      /^metadata: its metadata object 0x\w+, version \d+, of checkpoint 4, is not in the log, which was read guided before the token was known; a log takes no earlier facts$/,
    ),
  );
});

/** A checkpoint of one token that nothing but the newest versions of its objects shows, and a log without it. */
const withoutLastChange = async () => {
  const facts = factsOfContract(ledger);
  const all = await changingTransactions(database, coinTypes);
  for (const one of all.toReversed()) {
    const inside = facts.filter(({ checkpoint }) => checkpoint === one.checkpoint);
    const [first] = inside;
    const isAlone = all.filter(({ checkpoint }) => checkpoint === one.checkpoint).length === 1;
    const isNewest = inside.every(
      (fact) =>
        fact.kind === "event" ||
        (fact.kind === "object" &&
          !facts.some(
            (later) =>
              later.kind !== "event" &&
              later.objectId === fact.objectId &&
              later.checkpoint > fact.checkpoint,
          )),
    );
    const changed = inside.find((fact) => fact.kind === "object" && fact.versionBefore !== null);
    if (!isAlone || !isNewest || first?.coinType == null || changed?.kind !== "object") continue;
    const altered = await copyOf(database);
    await loseTransaction(altered, one);
    const { coins } = await proven({}, { index: null }, altered);
    if (coins.every(({ verdict }) => verdict === "complete")) {
      const { objectId, version, coinType } = changed;
      return {
        altered,
        coinType,
        objectId,
        version,
        hidden: hiding(ledger, changed.txDigest, facts),
      };
    }
    await altered.close();
  }
  throw new Error("every transaction shows by later ones");
};

/** Fails as a node does that announces checkpoints and does not serve some. */
const announcing = (withheld: ReadonlySet<bigint>): CheckpointSource => {
  const { source } = listedSource(ledger);
  return {
    ...source,
    checkpoints: async function* (range, of) {
      if (withheld.has(range.first)) {
        const wanted = `checkpoint ${range.first}`;
        throw new SourceUnavailableError("it", wanted, 8, new Error("announced, but not found"));
      }
      yield* source.checkpoints(range, of);
    },
  };
};

test("a withheld checkpoint names the object and the version that nodes serve, and leaves other tokens complete", async () => {
  const { altered, coinType, objectId, version, hidden } = await withoutLastChange();
  await using _ = { [Symbol.asyncDispose]: () => altered.close() };
  const source = announcing(hidden.everywhere.withheld);
  const index = listedIndex(ledger, hidden.everywhere);
  const judged = async (more: Partial<ProofRequest>) => {
    const proof = await proven({}, { source, index, ...more }, altered);
    const rest = proof.coins.filter((coin) => coin.coinType !== coinType);
    expect(rest.map(({ verdict }) => verdict)).toEqual(rest.map(() => "complete"));
    const coin = proof.coins.find((one) => one.coinType === coinType);
    const named = [...(coin?.gaps ?? []), ...(coin?.newer ?? [])];
    return { verdict: coin?.verdict, named };
  };
  const named = expect.arrayContaining([expect.objectContaining({ objectId, version })]);

  // A node that does not say when: it may be after the log's end.
  expect(await judged({})).toEqual({ verdict: "not shown", named });
  // A node that ends with the log, or says when.
  const own = await headsOf(altered);
  const ends = {
    ...index,
    newest: async () => BigInt(READ - 1),
    heads: async (ids: readonly string[], of: AbortSignal) => {
      const served = await index.heads(ids, of);
      return new Map(
        [...(await own(ids))].map(([id, head]) => {
          const newer = served.get(id) ?? null;
          const isServed = id === objectId || newer?.version === head?.version;
          return [id, isServed ? newer : head];
        }),
      );
    },
  };
  expect(await judged({ index: ends })).toEqual({ verdict: "incomplete", named });
  const witness = listedIndex(ledger);
  expect(await judged({ witness })).toEqual({ verdict: "incomplete", named });
  // Against a node that serves the log's version.
  const stale = listedIndex(ledger, hidden.stale);
  expect(await judged({ index: stale, witness })).toEqual({ verdict: "not shown", named });

  // A source that fails as a whole says nothing about a token.
  const down = { ...source, latest: () => Promise.reject(new Error("away")) };
  await expect(proven({}, { source: down, index, witness }, altered)).rejects.toThrow(
    "announced, but not found",
  );
});

test("a witness without lists is enough: its newest versions count", async () => {
  const missing = new HistoryIndexMissingError("witness", "UNIMPLEMENTED");
  const witness = {
    ...listedIndex(ledger),
    covers: () => Promise.reject(missing),
    touching: () => {
      throw missing;
    },
  };
  const { coins, heads } = await proven({}, { witness });
  expect(coins.map(({ verdict }) => verdict)).toEqual(coins.map(() => "complete"));
  expect(heads.map(({ as }) => as)).toEqual(["source", "witness"]);
});

test("a proof without a key does not stand in for the signed one that follows", async () => {
  const key = await openDeploymentKey(database, Buffer.alloc(32, 7));
  await using altered = await copyOf(database);
  await markGuided(altered, { first: 0n, last: BigInt(READ - 1) });
  const unsigned = await prove(altered, requestOf(), signal);
  await altered.transaction(({ sql }) => storeProof(sql, unsigned, null, true));
  let asked = 0;
  const open = async () => {
    asked += 1;
    return { ...requestOf(), [Symbol.asyncDispose]: async () => undefined };
  };
  const common = { signal, open, onProved: () => undefined };
  await completenessCheck(common).next(altered);
  expect(asked).toBe(0);
  const check = completenessCheck({ ...common, key });
  await check.next(altered);
  await check.next(altered);
  expect(asked).toBe(1);
  const [row] = await altered.sql<{ signed: bigint }[]>`
    select count(*) as signed from completeness where signature is not null`;
  expect(row?.signed).toBe(BigInt(coinTypes.length));
});

test("a proof up to an earlier checkpoint does not clear what reading noted of a later one", async () => {
  await using altered = await copyOf(database);
  const [coinType = ""] = coinTypes;
  const noted = { coinType, objectId: "0x1", version: 1n, from: 200n, reason: "was not read" };
  await noteIncomplete(altered.sql, [noted]);
  const proof = async (through: bigint) => {
    const made = await proven({}, { through }, altered);
    expect(await altered.transaction(({ sql }) => storeProof(sql, made, null, true))).toBe(true);
    return await incompleteIn(altered);
  };
  expect(await proof(150n)).toEqual([coinType]);
  expect(await proof(BigInt(READ - 1))).toEqual([]);
});

/** A checkpoint whose transaction took another version of an object, with right digests, unsigned. */
const forgedCheckpoint = (sequence: bigint, txDigest: string, objectId: string, took: bigint) => {
  const message = GrpcTypes.Checkpoint.fromBinary(ledger.checkpoint(sequence));
  const swap = (bytes: Uint8Array, from: Uint8Array, to: Uint8Array): Uint8Array => {
    const at = Buffer.from(bytes).indexOf(from);
    if (at < 0) throw new Error("not found");
    const changed = Buffer.from(bytes);
    changed.set(to, at);
    return Uint8Array.from(changed);
  };
  const index = ledger.placeOf(txDigest)?.index ?? -1;
  let old: GrpcTypes.Object | undefined;
  for (let at = 0n; at < sequence && old === undefined; at += 1n) {
    const { objects } = GrpcTypes.Checkpoint.fromBinary(ledger.checkpoint(at));
    old = objects?.objects.find((one) => one.objectId === objectId && one.version === took);
  }
  if (old === undefined) throw new Error("no old object");
  const effects = message.transactions[index]?.effects?.bcs;
  const contents = message.contents?.bcs;
  const summary = message.summary?.bcs;
  if (!effects?.value || !contents?.value || !summary?.value) throw new Error("no parts");
  const parsed = bcs.TransactionEffects.parse(effects.value);
  for (const [id, change] of parsed.V2?.changedObjects ?? []) {
    if (id !== objectId || change.inputState.Exist == null) continue;
    change.inputState.Exist[0][0] = `${took}`;
    change.inputState.Exist[0][1] = toBase58(hash("Object", old.bcs?.value ?? new Uint8Array()));
  }
  const set = message.objects?.objects ?? [];
  set.push(old);
  const key = ({ objectId = "", version = 0n }: GrpcTypes.Object) =>
    `${objectId} ${`${version}`.padStart(20, "0")}`;
  set.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const other = bcs.TransactionEffects.serialize(parsed).toBytes();
  const otherContents = swap(
    contents.value,
    hash("TransactionEffects", effects.value),
    hash("TransactionEffects", other),
  );
  summary.value = swap(
    summary.value,
    hash("CheckpointContents", contents.value),
    hash("CheckpointContents", otherContents),
  );
  effects.value = other;
  contents.value = otherContents;
  delete message.signature;
  delete message.digest;
  delete message.summary?.digest;
  delete message.contents?.digest;
  delete message.transactions[index]?.effects?.digest;
  return GrpcTypes.Checkpoint.toBinary(message);
};

test("an unsigned checkpoint of the source does not explain away a newer version that a witness serves", async () => {
  const read = createCheckpointReader(demo.packages);
  const facts = Array.from({ length: READ + 60 }, (_, at) => {
    const sequence = BigInt(at);
    return read({ sequence, encoding: "protobuf", bytes: ledger.checkpoint(sequence) }).facts;
  }).flat();
  const changes = facts.filter((fact) => fact.kind !== "event");
  const byTx = Map.groupBy(facts, ({ txDigest }) => txDigest);
  let tried = 0;
  for (const [txDigest, own] of byTx) {
    const [change] = own.filter((one) => one.kind !== "event");
    if (change?.kind !== "object" || change.versionBefore === null) continue;
    if (own.filter((one) => one.kind !== "event").length !== 1) continue;
    if (change.checkpoint >= BigInt(READ) || !change.type.includes("SharedToken")) continue;
    const later = changes.filter(
      (one) =>
        one.objectId === change.objectId &&
        one.kind === "object" &&
        one.versionBefore !== null &&
        one.version > change.version,
    );
    const [next] = later;
    if (later.length !== 1 || next === undefined || next.checkpoint < BigInt(READ)) continue;
    if (changes.some((one) => one.objectId === change.objectId && one.kind === "removal")) continue;
    tried += 1;
    await using altered = await copyOf(database);
    await alterLog(altered, `delete from log_facts where tx_digest = '${txDigest}'`);
    await markGuided(altered, { first: 0n, last: BigInt(READ - 1) });
    const bytes = forgedCheckpoint(
      next.checkpoint,
      next.txDigest,
      change.objectId,
      change.versionBefore,
    );
    const forged = {
      ...ledger,
      newest: () => ledger.newest(),
      checkpoint: (at: bigint) => (at === next.checkpoint ? bytes : ledger.checkpoint(at)),
    };
    const index = { ...listedIndex(ledger), heads: await headsOf(altered) };
    const found = await proven(
      {},
      { index, witness: listedIndex(ledger), source: listedSource(forged).source },
      altered,
    );
    const coin = found.coins.find(({ coinType }) => coinType === change.coinType);
    expect(coin?.verdict).not.toBe("complete");
    const why = `checkpoint ${next.checkpoint} of a ledger in memory has no signature by`;
    if (coin?.notShown.some((what) => what.includes(why))) return;
  }
  expect.fail(`${tried} were tried, and none was refused for its signature`);
});
