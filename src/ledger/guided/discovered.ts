import type { Committees } from "./committees.ts";

/** A chain that cannot be completed. */
export type Missing = {
  readonly objectId: string;
  readonly coinType: string | null;
  readonly version: bigint;
  /** Checkpoint of the last known change before it; null: the chain's beginning is missing. */
  readonly after: bigint | null;
  readonly reason: string;
};

/** What discovery staged and could not find. */
export type Discovered = {
  readonly packages: readonly string[];
  /** Coin types of the contract. */
  readonly coins: ReadonlySet<string>;
  /** The committee that signed each staged checkpoint, by epoch. */
  readonly committeeOf: Committees["of"];
  readonly missing: readonly Missing[];
  readonly fetched: number;
  readonly bytes: number;
  readonly objects: number;
};
