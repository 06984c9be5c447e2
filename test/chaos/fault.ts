/** What a kind of fault is, and how a run draws its faults. */
import { crc32 } from "node:zlib";
import { type Random, randomFrom } from "../seeded-random.ts";
import type { World } from "./world.ts";

/** A fault under way. */
export type Struck = {
  /** What was drawn, for the message of a failure. */
  readonly what: string;
  /** Everything is as before when it resolves, but for what the service has to mend itself. */
  end(): Promise<void>;
};

/** A kind of fault. A further one is an entry in `kinds.ts`. */
export type FaultKind = {
  readonly name: string;
  /** It lasts so long that it is drawn once where others are drawn three times. */
  readonly isLong?: boolean;
  /** Why it cannot strike here; undefined where it can. */
  readonly lacks?: (world: World) => string | undefined;
  /** How soon after its end all has to be well, in ms. */
  readonly withinMs: number;
  /** Strikes, waits for what it has to show while it lasts, and returns how it ends. */
  strike(world: World, random: Random): Promise<Struck>;
};

export type Fault = {
  /** From 1. */
  readonly number: number;
  readonly kind: FaultKind;
  /** What the fault draws, whatever others drew. */
  readonly random: Random;
};

/** The same faults in the same order for one seed: every kind in turn, shuffled anew in each round. */
export const drawFaults = (
  kinds: readonly FaultKind[],
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Fault[] => {
  const drawn: FaultKind[] = [];
  const shuffling = randomFrom(seed ^ crc32("order"));
  for (let round = 0; drawn.length < count; round += 1) {
    const deck = kinds.filter(({ isLong }) => !isLong || kinds.length === 1 || round % 3 === 1);
    for (let left = deck.length; left > 0; left -= 1) {
      const [kind] = deck.splice(shuffling(left), 1);
      if (kind !== undefined) drawn.push(kind);
    }
  }
  return drawn.slice(0, count).map((kind, index) => ({
    number: index + 1,
    kind,
    random: randomFrom(seed ^ crc32(`fault ${index + 1}`)),
  }));
};
