/** Which transactions are hidden: a hundred of each ledger, and what kinds they are of. */
import { diceFrom, roll } from "../../../demo/random.ts";
import { TREASURY } from "../../../src/ledger/contract/names.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { factsOfContract } from "../guided/facts-found.ts";
import { type ListedDemo, listedDemo } from "./listed-demo.ts";

export const HIDDEN_OF_EACH = 100;
export const EPOCH_LENGTH = 60n;
const CHECKPOINTS = 160;

export const KINDS = [
  "upgrade",
  "metadata",
  "create through a foreign package",
  "claim through a foreign package",
  "split through a foreign package",
  "of an object deleted later",
  "deletion",
] as const;
export type Kind = (typeof KINDS)[number];

/** A ledger, all of its facts, and the transactions to hide, each with its kinds. */
export type Draw = {
  readonly ledger: ListedDemo;
  readonly facts: readonly ReadFact[];
  readonly drawn: ReadonlyMap<string, readonly Kind[]>;
};

/** All that upgrade, describe a coin or create its treasury, one of each other kind, and others at random. */
export const drawFrom = (seed: string): Draw => {
  const ledger = listedDemo(
    {
      ...{ seed, foreign: 0.4, noise: 0.1, actionsPerCheckpoint: 0.8 },
      epochLength: Number(EPOCH_LENGTH),
    },
    CHECKPOINTS,
  );
  const facts = factsOfContract(ledger);
  const kinds = kindsIn(ledger, facts);
  const rare: readonly Kind[] = ["upgrade", "metadata", "create through a foreign package"];
  const drawn = new Map<string, readonly Kind[]>();
  const add = (digest: string) => drawn.set(digest, kinds.get(digest) ?? []);
  for (const [digest, of] of kinds) if (of.some((kind) => rare.includes(kind))) add(digest);
  for (const kind of KINDS) {
    const [first] = [...kinds].find(([, of]) => of.includes(kind)) ?? [];
    if (first !== undefined) add(first);
  }
  const dice = diceFrom(seed);
  const digests = [...new Set(facts.map(({ txDigest }) => txDigest))];
  while (drawn.size < HIDDEN_OF_EACH) add(digests[roll(dice, digests.length)] ?? "");
  return { ledger, facts, drawn };
};

/** Kinds of the ledger's transactions, by digest. */
const kindsIn = (
  ledger: ListedDemo,
  facts: readonly ReadFact[],
): ReadonlyMap<string, readonly Kind[]> => {
  const kinds = new Map<string, Set<Kind>>();
  const note = (digest: string, kind: Kind) =>
    kinds.set(digest, (kinds.get(digest) ?? new Set()).add(kind));
  const { packages, foreignPackages } = ledger.demo;
  const contract = new Set(packages.flatMap((id) => digestsOf(ledger, `call ${id}`)));
  const listed = (key: string, kind: Kind) => {
    for (const digest of digestsOf(ledger, key)) if (!contract.has(digest)) note(digest, kind);
  };
  for (const id of packages.slice(1)) listed(`object ${id}`, "upgrade");
  const pool = `call ${foreignPackages[1]}::pool`;
  for (const name of ["claim", "claim_into"]) {
    listed(`${pool}::${name}`, "claim through a foreign package");
  }
  listed(`${pool}::split`, "split through a foreign package");

  const deleted = new Set<string>();
  for (const fact of facts.toReversed()) {
    if (fact.kind === "event") continue;
    const { txDigest, objectId } = fact;
    if (fact.kind === "removal") {
      note(txDigest, "deletion");
      deleted.add(objectId);
      continue;
    }
    if (deleted.has(objectId)) note(txDigest, "of an object deleted later");
    if (fact.name.startsWith("coin")) note(txDigest, "metadata");
    else if (fact.name === TREASURY && fact.versionBefore === null && !contract.has(txDigest)) {
      note(txDigest, "create through a foreign package");
    }
  }
  return new Map([...kinds].map(([digest, of]) => [digest, [...of]]));
};

const digestsOf = (ledger: ListedDemo, key: string): readonly string[] =>
  ledger.listed(key).map(({ digest }) => digest);
