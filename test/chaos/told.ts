/** What a run of `npm run test:chaos` is told, and what its tests tell it. */

export type Chaos = {
  readonly seed: number;
  readonly faults: number;
  /** Only this kind. */
  readonly only: string | null;
};

declare module "vitest" {
  interface ProvidedContext {
    chaos: Chaos;
  }
  interface TaskMeta {
    /** What a fault of this kind took to mend, in ms; null where it cannot strike. */
    fault?: {
      readonly number: number;
      readonly kind: string;
      readonly recoveredMs: number | null;
    };
  }
}
