/** A process, Postgres and the ledger's sources struck at the same time. */
import { type Random, randomFrom } from "../seeded-random.ts";
import type { FaultKind } from "./fault.ts";
import { databaseOutages } from "./kinds-of-databases.ts";
import { processCrashes } from "./kinds-of-processes.ts";
import { sourceKinds } from "./kinds-of-sources.ts";

const drawn = (random: Random, kinds: readonly FaultKind[]): readonly FaultKind[] => {
  const kind = kinds[random(kinds.length)];
  return kind === undefined ? [] : [kind];
};

export const together: FaultKind = {
  name: "a process, Postgres and the ledger's sources at once",
  withinMs: 120_000,
  strike: async (world, random) => {
    const kinds = [
      ...drawn(random, processCrashes),
      ...drawn(random, databaseOutages),
      ...drawn(
        random,
        sourceKinds.filter(({ isLong }) => !isLong),
      ),
    ].map((kind) => ({ kind, own: randomFrom(random(2 ** 31)) }));
    const whats = await Promise.all(
      kinds.map(async ({ kind, own }) => {
        const struck = await kind.strike(world, own);
        await struck.end();
        return `${kind.name}: ${struck.what}`;
      }),
    );
    return { what: whats.join("; "), end: async () => undefined };
  },
};
