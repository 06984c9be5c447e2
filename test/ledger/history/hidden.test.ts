// @module-tag thorough
/** A node that hides any one of a thousand transactions: in its lists, or wherever it is asked. */
import { expect, test } from "vitest";
import { discover } from "../../../src/ledger/guided/discover.ts";
import { memoryStaging } from "../../../src/ledger/guided/staging.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { stagedFacts } from "../guided/facts-found.ts";
import { listedSource } from "../guided/listed-source.ts";
import { drawFrom, EPOCH_LENGTH, HIDDEN_OF_EACH, KINDS } from "./hidden-draws.ts";
import { hiding, type Versioned } from "./hiding.ts";
import type { Lies } from "./lies.ts";
import type { ListedDemo } from "./listed-demo.ts";
import { listedIndex } from "./listed-index.ts";

const LEDGERS = 10;
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
  return [...newest].flatMap(([objectId, ours]): readonly Versioned[] => {
    const head = heads.get(objectId)?.version ?? null;
    return head === ours ? [] : [{ objectId, version: ours ?? head ?? 0n }];
  });
};

const placeOf = ({ checkpoint, transaction, kind, index }: ReadFact) =>
  `${checkpoint} ${transaction} ${kind} ${index}`;

const SEEDS = Array.from({ length: LEDGERS }, (_, n) => `hidden ${n}`);

test("the thousand that are hidden are of every kind, each some ten times or more", () => {
  const counts = new Map<string, number>();
  for (const seed of SEEDS) {
    for (const kinds of drawFrom(seed).drawn.values()) {
      for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  for (const kind of KINDS) expect(counts.get(kind), kind).toBeGreaterThanOrEqual(8);
});

for (const seed of SEEDS) {
  test(
    `each of ${HIDDEN_OF_EACH} hidden transactions of the ledger of seed ${seed}, all that upgrade, describe or create a token and others at random, is read, or named by object and version`,
    async () => {
      const { ledger, facts, drawn } = drawFrom(seed);
      let read = 0;

      for (const [digest, kinds] of drawn) {
        const hidden = hiding(ledger, digest, facts);
        const shown = `${digest} at checkpoint ${hidden.checkpoint}: ${kinds.join(", ")}`;
        const others = facts.filter(({ checkpoint }) => checkpoint !== hidden.checkpoint);
        /** Only what is hidden is named, and of the transaction one at least. */
        const expectNamed = (named: readonly Versioned[], leads = hidden.changed) => {
          expect(
            named.filter((one) => !hidden.changedBeside(one)),
            shown,
          ).toEqual([]);
          expect(named.filter(leads), shown).not.toEqual([]);
        };

        const unlisted = await reading(ledger, hidden.lists);
        if (unlisted.missing.length === 0) {
          expect(unlisted.facts, shown).toEqual(facts);
          read += 1;
        } else {
          // No later version leads back to a transaction that removes all that it takes.
          expectNamed(unlisted.missing);
          expect(unlisted.facts, shown).toEqual(others);
          expect(hidden.removesAll, shown).toBe(true);
        }

        if (
          hidden.checkpoint % EPOCH_LENGTH === EPOCH_LENGTH - 1n ||
          hidden.checkpoint === ledger.newest()
        ) {
          // It names a committee, or begins the reading: nothing goes on without it.
          await expect(reading(ledger, hidden.everywhere), shown).rejects.toThrow(
            `checkpoint ${hidden.checkpoint}`,
          );
          continue;
        }
        const nowhere = await reading(ledger, hidden.everywhere);
        expectNamed(nowhere.missing);
        // What only the hidden ones lead to is of a token that they name; a package's is every token's.
        const seen = new Set(nowhere.facts.map(placeOf));
        const named = new Set(nowhere.missing.map(({ coinType }) => coinType));
        const lost = others.filter((fact) => !seen.has(placeOf(fact)));
        const unnamed = lost.filter(({ coinType }) => !named.has(null) && !named.has(coinType));
        expect(unnamed, shown).toEqual([]);
        expect(nowhere.facts, shown).toEqual(others.filter((fact) => seen.has(placeOf(fact))));
        // Without a last change among those hidden, there are no versions to deny.
        if (hidden.stale.heads.size === 0) continue;
        const denied = await reading(ledger, hidden.stale);
        const differing = await differingFrom(ledger, denied.facts);
        // Metadata that the node does not name either: its coin is named by its treasury, which is beside it.
        const leads = kinds.includes("metadata") ? hidden.changedBeside : hidden.changed;
        expectNamed([...denied.missing, ...differing], leads);
      }
      expect(drawn.size).toBe(HIDDEN_OF_EACH);
      expect(read).toBeGreaterThan(0.9 * HIDDEN_OF_EACH);
    },
    PATIENCE_MS,
  );
}
