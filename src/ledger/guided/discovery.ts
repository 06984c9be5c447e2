/** What discovery takes, what its steps share, and what it gives. */
import type { LogCommittee } from "../../log/fact.ts";
import type { LedgerIndex, ListedRange } from "../history/ledger-index.ts";
import type { GuidedProgress } from "../reading/progress.ts";
import type { Trust } from "../reading/trust.ts";
import type { CheckpointSource } from "../sources/source.ts";
import type { Committees } from "./committees.ts";
import type { Findings, KnownObject } from "./findings.ts";
import type { Intake } from "./intake.ts";
import type { Report } from "./report.ts";
import type { Searches } from "./search.ts";
import type { Staging } from "./staging.ts";

export type DiscoverOptions = {
  readonly index: LedgerIndex;
  readonly source: CheckpointSource;
  /** Committees that were verified before. */
  readonly committees?: readonly LogCommittee[] | undefined;
  readonly trust: Trust;
  readonly staging: Staging;
  /** Canonical, original first. */
  readonly packages: readonly string[];
  /** First and last checkpoint; the last one is always read. */
  readonly range: ListedRange;
  /** What the log knows before the range; nothing by default. */
  readonly known?: AsyncIterable<KnownObject> | Iterable<KnownObject>;
  /** Checkpoints fetched at once; 32 by default. */
  readonly concurrency?: number;
  /** Repeated fetches of an invalid checkpoint; 2 by default. */
  readonly refetches?: number;
  /** Longest wait in place for a source that is behind the lists, ms; a minute by default. */
  readonly sourceWaitMs?: number;
  readonly onProgress?: (progress: GuidedProgress) => void;
  readonly onRefused?: (error: Error) => void;
  readonly onNotice?: (notice: string) => void;
};

export type Discovery = Pick<DiscoverOptions, "index" | "source" | "range"> & {
  readonly findings: Findings;
  readonly searches: Searches;
  readonly intake: Intake;
  readonly report: Report;
  /** Checkpoint that published the contract's original package. */
  readonly began: bigint;
  readonly signal: AbortSignal;
};

/** A chain that cannot be completed. */
export type Missing = {
  readonly objectId: string;
  readonly coinType: string | null;
  readonly version: bigint;
  /** Checkpoint of the last known change before it; null: the chain's beginning is missing. */
  readonly after: bigint | null;
  readonly reason: string;
};

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
