/** Running the shipping reader on a scripted ledger and a real database, and looking at what it did. */
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../../src/database/connect.ts";
import {
  type ReaderOptions,
  type ReaderProgress,
  runReader,
} from "../../../src/ledger/reading/reader.ts";
import type { FactBatch } from "../../../src/log/fact.ts";
import { readHighWater } from "../../../src/log/high-water.ts";
import { contentsOf } from "../../log/contents.ts";
import { PACKAGE } from "../../log/facts.ts";
import { freshDatabase } from "../../postgres.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

export type Ledger = ReturnType<typeof createScriptedLedger>;

/** Runs the shipping reader on a scripted ledger; keeps what it reported. */
export const start = (database: Database, ledger: Ledger, options: Partial<ReaderOptions> = {}) => {
  const controller = new AbortController();
  const batches: FactBatch[] = [];
  const notices: string[] = [];
  const seen: { latest: ReaderProgress | null } = { latest: null };
  const ended = runReader(
    {
      database,
      source: ledger.source,
      read: () => ledger.read,
      readPlace: ledger.read,
      packages: [PACKAGE],
      firstCheckpoint: 0n,
      bounds: { facts: 100, checkpoints: 50 },
      feed: { push: (batch) => batches.push(batch) },
      onNotice: (message, error) => notices.push(`${message}: ${String(error)}`),
      ...options,
      onProgress: (progress) => {
        seen.latest = progress;
        options.onProgress?.(progress);
      },
      waits: {
        backoff: { firstMs: 5, maxMs: 20 },
        tipEveryMs: 20,
        decimalsEveryMs: 30,
        refetches: 1,
        confirmMs: 20,
        past: { firstMs: 5, maxMs: 30 },
        ...options.waits,
      },
    },
    controller.signal,
  );
  // Looked at in the end; meanwhile its failure must not count as unhandled.
  ended.catch(() => undefined);
  const stop = async () => {
    controller.abort();
    await ended;
  };
  return { ended, stop, batches, notices, seen };
};

export type Running = ReturnType<typeof start>;

/** Waits until the log expects `next`; the deadline tells where it stood. */
export const reached = async (database: Database, next: bigint, withinMs = 30_000) => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const at = await nextOf(database);
    if (at >= next) return;
    if (performance.now() > deadline) throw new Error(`the log expects ${at}, not yet ${next}`);
    await wait(5);
  }
};

export const nextOf = async ({ sql }: Database): Promise<bigint> =>
  (await readHighWater(sql))?.nextCheckpoint ?? 0n;

/** Waits for a report; the deadline tells the last one. */
export const reported = async (
  { seen }: Running,
  holds: (progress: ReaderProgress) => boolean,
  withinMs = 30_000,
) => {
  const deadline = performance.now() + withinMs;
  while (seen.latest === null || !holds(seen.latest)) {
    if (performance.now() > deadline) {
      const { state, next } = seen.latest ?? {};
      throw new Error(`last report: ${state} at ${next}`);
    }
    await wait(5);
  }
};

/** What an undisturbed reading leaves in the log. */
export const undisturbed = async (last: bigint): Promise<string> => {
  await using database = await freshDatabase();
  await start(database, createScriptedLedger({ newest: last }), { last }).ended;
  return await contentsOf(database);
};
