import { expect, test } from "vitest";
import { decodeExcerpt, noVerifier } from "../../../src/ledger/decode/decode.ts";
import { discover } from "../../../src/ledger/guided/discover.ts";
import type { DiscoverOptions } from "../../../src/ledger/guided/options.ts";
import { memoryStaging, type Staging, stagedAfter } from "../../../src/ledger/guided/staging.ts";
import { createWanted, factsOf } from "../../../src/ledger/reading/facts.ts";
import { createCheckpointReader } from "../../../src/ledger/reading/read.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import type { GuidedProgress } from "../../../src/values/bulk-progress.ts";
import { hiding } from "../history/hiding.ts";
import { HONEST, type Lies } from "../history/lies.ts";
import { listedDemo } from "../history/listed-demo.ts";
import { listedIndex } from "../history/listed-index.ts";
import { factsOfContract, stagedFacts as factsStaged } from "./facts-found.ts";
import { listedSource } from "./listed-source.ts";

const ledger = listedDemo(
  { seed: 28, epochLength: 40, noise: 0.6, actionsPerCheckpoint: 0.7 },
  400,
);
const { demo } = ledger;
const never = new AbortController().signal;
const coinTypes = new Set(demo.coinTypes.map(({ coinType }) => coinType));

const optionsOf = (
  lies: Partial<Lies> = {},
  more: Partial<DiscoverOptions> = {},
): DiscoverOptions => ({
  index: listedIndex(ledger, { ...HONEST, ...lies }),
  source: listedSource(ledger, lies.withheld).source,
  trust: { committee: demo.committee },
  staging: memoryStaging(),
  packages: demo.packages.slice(0, 1),
  range: { first: 0n, last: ledger.newest() },
  ...more,
});

const ofTheContract = ({ coinType }: ReadFact): boolean =>
  coinType === null || coinTypes.has(coinType);

/** Facts of the contract's coins, as an exhaustive reading has them. */
const everyFact = ((): readonly ReadFact[] => {
  const read = createCheckpointReader(demo.packages);
  const facts: ReadFact[] = [];
  for (let sequence = 0n; sequence <= ledger.newest(); sequence += 1n) {
    const bytes = ledger.checkpoint(sequence);
    facts.push(...read({ sequence, encoding: "protobuf", bytes }).facts.filter(ofTheContract));
  }
  return facts;
})();

const stagedFacts = async (staging: Staging): Promise<readonly ReadFact[]> => {
  const wanted = createWanted(demo.packages);
  const facts: ReadFact[] = [];
  for await (const { checkpoint, excerpt } of stagedAfter(staging, -1n)) {
    const read = decodeExcerpt({ sequence: checkpoint, bytes: excerpt }, wanted, noVerifier);
    facts.push(...factsOf(read).filter(ofTheContract));
  }
  return facts;
};

test("discovery stages every fact of the contract's coins, and fetches a part of the ledger", async () => {
  const staging = memoryStaging();
  const { source, given } = listedSource(ledger);
  const found = await discover(optionsOf({}, { staging, source }), never);
  expect(found.missing).toEqual([]);
  expect(found.packages).toEqual(demo.packages);
  expect(found.coins).toEqual(coinTypes);
  expect(await stagedFacts(staging)).toEqual(everyFact);
  expect(given.length).toBeLessThan(0.75 * Number(ledger.newest()));
});

/** Transactions with facts, by digest: the objects that each changed, and whether it removed them all. */
const transactions = new Map<string, { readonly objects: Set<string>; removesAll: boolean }>();
for (const fact of everyFact) {
  const known = transactions.get(fact.txDigest) ?? { objects: new Set(), removesAll: true };
  transactions.set(fact.txDigest, known);
  if (fact.kind !== "event") known.objects.add(fact.objectId);
  if (fact.kind !== "removal") known.removesAll = false;
}
const digests = [...transactions.keys()];
/** A few of each kind come in any stretch of this length. */
const STEP = 12;

test("transactions that the lists hide are found by the versions that they gave", async () => {
  for (let nth = 0; nth < digests.length; nth += STEP) {
    const staging = memoryStaging();
    const [digest = ""] = digests.slice(nth);
    const unlisted = new Set([digest]);
    const found = await discover(optionsOf({ unlisted }, { staging }), never);
    const { objects, removesAll } = transactions.get(digest) ?? { removesAll: false };
    if (found.missing.length > 0) {
      // Nothing else changes with an empty grant, so no other chain leads to its removal.
      expect(removesAll, digest).toBe(true);
      expect(found.missing.map(({ objectId }) => objectId)).toEqual([...(objects ?? [])]);
    } else expect(await stagedFacts(staging)).toEqual(everyFact);
  }
});

test("a transaction that the node hides everywhere is missed, with an object and version that show it", async () => {
  for (let nth = 3 % STEP; nth < digests.length; nth += STEP) {
    const [digest = ""] = digests.slice(nth);
    const hidden = new Set([digest]);
    const staging = memoryStaging();
    const found = await discover(
      optionsOf({ unlisted: hidden, unknown: hidden }, { staging }),
      never,
    );
    // Others of its checkpoint may have led to it.
    const facts = await stagedFacts(staging);
    if (facts.some(({ txDigest }) => txDigest === digest)) continue;
    const missed = found.missing.map(({ objectId }) => objectId);
    const { objects = new Set() } = transactions.get(digest) ?? {};
    expect(
      missed.some((id) => objects.has(id)),
      digest,
    ).toBe(true);
  }
});

test("half of all transactions hidden at once are found by walking back", async () => {
  const staging = memoryStaging();
  const listed = (digest: string, nth: number) =>
    nth % 2 === 1 || transactions.get(digest)?.removesAll;
  const unlisted = new Set(digests.filter((digest, nth) => !listed(digest, nth)));
  const found = await discover(optionsOf({ unlisted }, { staging }), never);
  expect(found.missing).toEqual([]);
  expect(await stagedFacts(staging)).toEqual(everyFact);
});

test("a restart goes on from what was staged", async () => {
  const staging = memoryStaging();
  const { source, given } = listedSource(ledger);
  for (const stopAt of [15, 10, 5]) {
    const stopping = new AbortController();
    const onProgress = ({ fetched }: GuidedProgress) => {
      if (fetched >= stopAt) stopping.abort(new Error("stopped"));
    };
    const stopped = discover(optionsOf({}, { staging, source, onProgress }), stopping.signal);
    await expect(stopped).rejects.toThrow("stopped");
  }
  const before = given.length;
  const found = await discover(optionsOf({}, { staging, source }), never);
  expect(found.missing).toEqual([]);
  expect(await stagedFacts(staging)).toEqual(everyFact);
  const again = await discover(optionsOf({}, { staging, source }), never);
  expect(again.fetched).toBeLessThan(20);
  expect(given.length - before).toBeLessThan(found.fetched + 100);
});

test("a false hint at an epoch's end, an older head and needless entries change nothing", async () => {
  const staging = memoryStaging();
  const [first = ""] = digests;
  const place = ledger.placeOf(first);
  const heads = new Map(
    everyFact.flatMap((fact) =>
      fact.kind === "object"
        ? [[fact.objectId, { version: 1n, digest: "", previousTransaction: first }] as const]
        : [],
    ),
  );
  const alsoListed = place === undefined ? [] : [place, { ...place, checkpoint: 333n }];
  const honest = listedIndex(ledger, { ...HONEST, alsoListed, heads });
  const index = { ...honest, epochEnd: async (epoch: bigint) => (epoch % 2n === 0n ? 7n : null) };
  const found = await discover(optionsOf({}, { staging, index }), never);
  expect(found.missing).toEqual([]);
  expect(await stagedFacts(staging)).toEqual(everyFact);
});

test("a checkpoint that the committee did not sign is refused, and nothing of it staged", async () => {
  const other = listedDemo({ seed: 29, epochLength: 40 }, 400);
  const staging = memoryStaging();
  const { source } = listedSource({
    ...ledger,
    newest: () => ledger.newest(),
    checkpoint: (sequence) => (sequence === 30n ? other : ledger).checkpoint(sequence),
  });
  const refused: string[] = [];
  const onRefused = ({ name }: Error) => refused.push(name);
  const options = optionsOf({}, { staging, source, refetches: 0, onRefused });
  const alsoListed = digests.flatMap((digest) => ledger.placeOf(digest) ?? []);
  const index = listedIndex(ledger, {
    ...HONEST,
    alsoListed: [{ checkpoint: 30n, index: 0, digest: "" }, ...alsoListed],
  });
  await expect(discover({ ...options, index }, never)).rejects.toThrow(/checkpoint 30:/);
  expect(refused).toEqual(["CertificateError"]);
  expect((await staging.after(29n, 1)).map(({ checkpoint }) => checkpoint)).not.toContain(30n);
});

test("an upgrade at the end of an epoch is known before the range's last checkpoint is read", async () => {
  // The upgrade is in checkpoint 29, the last one of epoch 0.
  const own = listedDemo({ seed: 28, epochLength: 30 }, 80);
  const coins = new Set(own.demo.coinTypes.map(({ coinType }) => coinType));
  const all = factsOfContract(own);
  for (const last of [36n, 37n, 38n]) {
    const staging = memoryStaging();
    const options = {
      index: listedIndex(own, HONEST),
      source: listedSource(own).source,
      trust: { committee: own.demo.committee },
      staging,
      packages: own.demo.packages.slice(0, 1),
      range: { first: 0n, last },
    };
    const found = await discover(options, never);
    expect(found.packages).toEqual(own.demo.packages);
    const facts = await factsStaged(staging, own.demo.packages);
    expect(
      facts.filter(({ coinType }) => coinType === null || coins.has(coinType)),
      `${last}`,
    ).toEqual(all.filter(({ checkpoint }) => checkpoint <= last));
  }
});

test("a source that is behind the lists makes no token incomplete: discovery waits for it", async () => {
  const last = 350n;
  const staging = memoryStaging();
  const { source } = listedSource(ledger);
  let asked = 0;
  const catchingUp = async () => {
    asked += 1;
    return asked < 4 ? last : ledger.newest();
  };
  const range = { first: 0n, last };
  const found = await discover(
    optionsOf({}, { staging, source: { ...source, latest: catchingUp }, range }),
    never,
  );
  expect(found.missing).toEqual([]);
  expect(await stagedFacts(staging)).toEqual(
    everyFact.filter(({ checkpoint }) => checkpoint <= last),
  );

  const behind = { ...source, latest: async () => last };
  const steps = new Set<string>();
  const onProgress = ({ step }: GuidedProgress) => steps.add(step);
  await expect(
    discover(optionsOf({}, { source: behind, range, sourceWaitMs: 1, onProgress }), never),
  ).rejects.toMatchObject({
    name: "SourceBehindError",
    remedy: "wait",
    message: expect.stringMatching(
      /^a ledger in memory reaches checkpoint 350: waiting until it has 3\d\d, which the lists name$/,
    ),
  });
  expect([...steps]).toContainEqual(
    expect.stringMatching(
      /^waiting for checkpoint 3\d\d of a ledger in memory, which reaches 350$/,
    ),
  );
});

test("metadata that the node names is missing by object and version when its transaction is hidden", async () => {
  const made = everyFact.flatMap((fact) => {
    if (fact.kind !== "object" || !fact.name.startsWith("coin")) return [];
    const head = ledger.headOf(fact.objectId);
    const isOnly = fact.versionBefore === null && head?.previousTransaction === fact.txDigest;
    return isOnly && ledger.metadataOf(fact.coinType ?? "") === fact.objectId ? [fact] : [];
  });
  expect(made.length).toBeGreaterThan(0);
  for (const { txDigest, coinType, objectId, version } of made) {
    const { missing } = await discover(
      optionsOf(hiding(ledger, txDigest, everyFact).everywhere),
      never,
    );
    const reason = `the node knows no checkpoint of transaction ${txDigest}`;
    expect(missing).toContainEqual({ objectId, coinType, version, after: null, reason });
  }
});

test("earlier gaps of an object are closed though a later one cannot be", async () => {
  const within = (first: bigint, last: bigint) =>
    new Set(
      everyFact
        .filter(({ checkpoint }) => checkpoint >= first && checkpoint <= last)
        .map(({ txDigest }) => txDigest),
    );
  const [earlier, between, unknown] = [within(60n, 149n), within(150n, 279n), within(280n, 370n)];
  /** Earlier transactions that a listed change of one of their objects leads back to. */
  const due = new Set<string>();
  const lastOf = new Map<string, string>();
  for (const fact of everyFact) {
    if (fact.kind === "event") continue;
    const before = lastOf.get(fact.objectId) ?? "";
    if (between.has(fact.txDigest) && earlier.has(before)) due.add(before);
    lastOf.set(fact.objectId, fact.txDigest);
  }
  expect(due.size).toBeGreaterThan(5);
  const staging = memoryStaging();
  const lies = { unlisted: new Set([...earlier, ...unknown]), unknown };
  const found = await discover(optionsOf(lies, { staging }), never);
  expect(found.missing.length).toBeGreaterThan(0);
  const read = new Set((await stagedFacts(staging)).map(({ txDigest }) => txDigest));
  expect([...due].filter((digest) => !read.has(digest))).toEqual([]);
});
