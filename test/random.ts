/**
 * Chance that can be repeated. `npm test` always has the same seed; `npm run test:soak` draws a new one,
 * prints it, and searches on for as long as it was told.
 */
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { inject, TestRunner } from "vitest";
import { type Random, randomFrom } from "./seeded-random.ts";

export { type Random, randomFrom } from "./seeded-random.ts";

/** What `npm run test:soak` was told. */
export type Soak = {
  readonly seed: number;
  /** How long a test goes on; one that kills processes takes several shares. */
  readonly shareMs: number;
};

declare module "vitest" {
  interface ProvidedContext {
    /** Null in `npm test`. */
    soak: Soak | null;
  }
  interface TaskMeta {
    /** What a test of a soak did and found, for its last lines. */
    tally?: Readonly<Record<string, number>>;
  }
}

const soak = inject("soak");

/** The seed of the run: what is drawn depends on it alone. */
export const SEED = soak?.seed ?? 20_251_120;

fc.configureGlobal({ seed: SEED });

/** The numbers of the run's seed for one purpose. */
export const randomFor = (purpose: string): Random => randomFrom(SEED ^ crc32(purpose));

/** 0, 1, 2 …: `usual` of them in `npm test`; in a soak as many as its shares allow, but at least these. */
export function* rounds(usual: number, shares = 1): Generator<number> {
  const end = performance.now() + shares * (soak?.shareMs ?? 0);
  for (let round = 0; round < usual || performance.now() < end; round += 1) yield round;
}

/** Notes what the test that runs now did; a soak prints it. */
export const tally = (entries: Readonly<Record<string, number>>): void => {
  const test = TestRunner.getCurrentTest();
  if (test !== undefined) test.meta.tally = { ...test.meta.tally, ...entries };
};

/** Holds a property against `runs` examples; in a soak against as many as its time allows. */
export const search = async <Example>(
  property: fc.IRawProperty<Example>,
  runs: number,
  parameters: fc.Parameters<Example> = {},
): Promise<void> => {
  for (const block of rounds(1)) {
    await fc.assert(property, { ...parameters, numRuns: runs, seed: SEED + block });
    tally({ examples: (block + 1) * runs });
  }
};
