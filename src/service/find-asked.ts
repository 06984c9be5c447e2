/**
 * Finds checkpoints between those that were read, when serving processes ask for them
 * (`projections/asking.ts`): one at a time, so that callers cannot take the source from the reader.
 */
import type { Database } from "../database/connect.ts";
import { createSummaryFinder } from "../ledger/reading/find-summaries.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { ASKED_CHANNEL, type Moment, readAsked } from "../log/between.ts";
import { aborted } from "../waiting/aborted.ts";
import { errorOf } from "../waiting/remedy.ts";

/** Moments that wait; more have to be asked for again. */
const MOST_WAITING = 64;

/** A moment that takes longer has to be asked for again. */
const FIND_WITHIN_MS = 30_000;

type FindAsked = {
  readonly database: Pick<Database, "sql" | "listen">;
  readonly source: CheckpointSource;
  readonly onFailure: (error: Error) => void;
  readonly signal: AbortSignal;
};

/** Listens until `signal` aborts; resolves when nothing is under way. */
export const findAsked = async ({
  database,
  source,
  onFailure,
  signal,
}: FindAsked): Promise<void> => {
  const finder = createSummaryFinder({ sql: database.sql, source });
  const waiting = new Map<string, Moment>();
  let finding = Promise.resolve();

  const findNext = async (): Promise<void> => {
    const [next] = waiting;
    if (next === undefined || signal.aborted) return;
    const [payload, asked] = next;
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(FIND_WITHIN_MS)]);
      await finder.find(asked, within);
    } catch (error) {
      if (!signal.aborted) onFailure(errorOf(error));
    }
    // Kept until now, so that the same question is not queued twice.
    waiting.delete(payload);
  };

  database.listen(
    ASKED_CHANNEL,
    (payload) => {
      const asked = payload === null ? null : readAsked(payload);
      if (payload === null || asked === null || waiting.has(payload)) return;
      if (waiting.size >= MOST_WAITING) return;
      waiting.set(payload, asked);
      finding = finding.then(findNext);
    },
    signal,
  );
  await aborted(signal);
  await finding;
};
