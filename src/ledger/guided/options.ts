import type { LogCommittee } from "../../log/fact.ts";
import type { GuidedProgress } from "../../values/bulk-progress.ts";
import type { LedgerIndex, ListedRange } from "../history/ledger-index.ts";
import type { Trust } from "../reading/trust.ts";
import type { CheckpointSource } from "../sources/source.ts";
import type { KnownObject } from "./findings.ts";
import type { Staging } from "./staging.ts";

/** What discovery works with. */
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
