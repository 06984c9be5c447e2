/** How far the lists and the source go. */
import { lowest } from "../../values/bigints.ts";
import { pause } from "../../waiting/backoff.ts";
import type { LedgerIndex } from "../history/ledger-index.ts";
import { REFETCH_PAUSE_MS } from "../reading/proving.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { SourceBehindError } from "./guided-errors.ts";
import type { DiscoverOptions } from "./options.ts";
import type { Report } from "./report.ts";

/** Newest checkpoint that lists and source both have; null: the source has none. */
export const newestOfBoth = async (
  index: Pick<LedgerIndex, "covers">,
  source: Pick<CheckpointSource, "latest">,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const [newest, listed] = await Promise.all([source.latest(signal), index.covers(signal)]);
  return newest === null ? null : lowest(newest, listed.last);
};

const SOURCE_WAIT_MS = 60_000;

type WaitFor = Pick<DiscoverOptions, "source" | "sourceWaitMs"> & { readonly report: Report };

/** The lists' node may be ahead of the source. @throws SourceBehindError (wait) */
export const untilSourceHas = async (
  { source, report, sourceWaitMs = SOURCE_WAIT_MS }: WaitFor,
  sequence: bigint,
  signal: AbortSignal,
): Promise<void> => {
  const deadline = performance.now() + sourceWaitMs;
  const { step } = report;
  for (;;) {
    const newest = await source.latest(signal);
    if (newest === null || newest >= sequence) break;
    signal.throwIfAborted();
    if (performance.now() >= deadline) {
      throw new SourceBehindError(source.description, newest, sequence);
    }
    report.step = `waiting for checkpoint ${sequence} of ${source.description}, which reaches ${newest}`;
    report.show();
    await pause(REFETCH_PAUSE_MS, signal);
  }
  report.step = step;
};
