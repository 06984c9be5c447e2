// @module-tag thorough
/** A node that hides any one of a thousand transactions: in its lists, or wherever it is asked. */
import { expect, test } from "vitest";
import { diceFrom, roll } from "../../../demo/random.ts";
import { TREASURY } from "../../../src/ledger/contract/names.ts";
import { discover } from "../../../src/ledger/guided/discover.ts";
import { memoryStaging } from "../../../src/ledger/guided/staging.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { factsOfContract, stagedFacts } from "../guided/facts-found.ts";
import { listedSource } from "../guided/listed-source.ts";
import { hiding } from "./hiding.ts";
import type { Lies } from "./lies.ts";
import { type ListedDemo, listedDemo } from "./listed-demo.ts";
import { listedIndex } from "./listed-index.ts";

const LEDGERS = 10;
const HIDDEN_OF_EACH = 100;
const CHECKPOINTS = 160;
/** For the readings of one ledger. */
const PATIENCE_MS = 900_000;

const never = new AbortController().signal;

const reading = async (ledger: ListedDemo, lies: Lies) => {
  const staging = memoryStaging();
  const { missing } = await discover(
    {
      index: listedIndex(ledger, lies),
      source: listedSource(ledger, lies.withheld).source,
      trust: { committee: ledger.demo.committee },
      staging,
      packages: ledger.demo.packages.slice(0, 1),
      range: { first: 0n, last: ledger.newest() },
    },
    never,
  );
  return { missing, facts: await stagedFacts(staging, ledger.demo.packages) };
};

/** Objects whose newest version is not the one that another node serves. */
const differingFrom = async (ledger: ListedDemo, facts: readonly ReadFact[]) => {
  const newest = new Map<string, bigint | null>();
  for (const fact of facts) {
    if (fact.kind === "object") newest.set(fact.objectId, fact.version);
    else if (fact.kind === "removal") newest.set(fact.objectId, null);
  }
  const heads = await listedIndex(ledger).heads([...newest.keys()], never);
  return [...newest].flatMap(([id, version]) =>
    (heads.get(id)?.version ?? null) === version ? [] : [{ objectId: id, version }],
  );
};

const isRare = (fact: ReadFact): boolean =>
  fact.kind === "object" &&
  (fact.name.startsWith("coin") || (fact.name === TREASURY && fact.versionBefore === null));

/** Transactions with facts: those that make metadata and treasuries, and others at random. */
const drawFrom = (facts: readonly ReadFact[], seed: string): ReadonlySet<string> => {
  const dice = diceFrom(seed);
  const digests = [...new Set(facts.map(({ txDigest }) => txDigest))];
  const drawn = new Set(facts.filter(isRare).map(({ txDigest }) => txDigest));
  while (drawn.size < HIDDEN_OF_EACH) drawn.add(digests[roll(dice, digests.length)] ?? "");
  return drawn;
};

for (let n = 0; n < LEDGERS; n += 1) {
  const seed = `hidden ${n}`;
  const pace = { foreign: 0.4, noise: 0.1, actionsPerCheckpoint: 0.8, epochLength: 60 };

  test(
    `each of a hundred hidden transactions of the ledger of seed ${seed} is read or named`,
    async () => {
      const ledger = listedDemo({ seed, ...pace }, CHECKPOINTS);
      const facts = factsOfContract(ledger);
      const outcomes = { read: 0, named: 0, foreign: 0, removed: 0 };
      const [, exchange = ""] = ledger.demo.foreignPackages;
      const foreign = new Set(ledger.listed(`call ${exchange}`).map(({ digest }) => digest));

      for (const digest of drawFrom(facts, seed)) {
        const hidden = hiding(ledger, digest, facts);
        const isHidden = ({ objectId }: { readonly objectId: string }) =>
          hidden.objects.has(objectId);
        const shown = `${digest} at checkpoint ${hidden.checkpoint}`;
        const inside = facts.filter(({ txDigest }) => txDigest === digest);
        if (foreign.has(digest)) outcomes.foreign += 1;
        if (inside.some(({ kind }) => kind === "removal")) outcomes.removed += 1;

        const unlisted = await reading(ledger, hidden.lists);
        if (unlisted.missing.length === 0) {
          expect(unlisted.facts, shown).toEqual(facts);
          outcomes.read += 1;
        } else {
          // No later version leads back to a transaction that removes all that it takes.
          expect(unlisted.missing.every(isHidden), shown).toBe(true);
          expect(hidden.removesAll, shown).toBe(true);
          outcomes.named += 1;
        }

        const isEnd = hidden.checkpoint % BigInt(pace.epochLength) === BigInt(pace.epochLength - 1);
        if (isEnd || hidden.checkpoint === ledger.newest()) {
          // It names a committee, or begins the reading: nothing goes on without it.
          await expect(reading(ledger, hidden.everywhere), shown).rejects.toThrow(
            `checkpoint ${hidden.checkpoint}`,
          );
          continue;
        }
        const nowhere = await reading(ledger, hidden.everywhere);
        expect(nowhere.missing.some(isHidden), shown).toBe(true);
        // Without a last change among those hidden, there are no versions to deny.
        if (hidden.stale.heads.size === 0) continue;
        const denied = await reading(ledger, hidden.stale);
        const noticed = denied.missing.some(isHidden)
          ? denied.missing
          : await differingFrom(ledger, denied.facts);
        expect(noticed.some(isHidden), shown).toBe(true);
      }
      expect(outcomes.read).toBeGreaterThan(0.9 * HIDDEN_OF_EACH);
      expect(outcomes.foreign).toBeGreaterThan(0);
      expect(outcomes.removed).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );
}

test("a hidden upgrade is read, or named with the right to upgrade", async () => {
  const ledger = listedDemo({ seed: "hidden upgrade", epochLength: 60 }, 80);
  const facts = factsOfContract(ledger);
  const [, upgraded = ""] = ledger.demo.packages;
  const [published] = ledger.listed(`object ${upgraded}`);
  const hidden = hiding(ledger, published?.digest ?? "", facts);

  const unlisted = await reading(ledger, hidden.lists);
  expect(unlisted).toEqual({ missing: [], facts });
  const { missing } = await reading(ledger, hidden.everywhere);
  const cap = missing.find(({ objectId }) =>
    ledger.demo.object(objectId)?.type.endsWith("::UpgradeCap"),
  );
  expect(cap?.version).toBeGreaterThan(0n);
});
