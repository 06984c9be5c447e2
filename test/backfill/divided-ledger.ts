/** A demo ledger in an object store, read by many workers and joined, with real parts. */
import { zstdCompressSync } from "node:zlib";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { BACKFILL_QUEUE, joinRanges } from "../../src/backfill/join-ranges.ts";
import { packRange } from "../../src/backfill/range-content.ts";
import { readRange } from "../../src/backfill/read-range.ts";
import { type RangeReader, workRanges } from "../../src/backfill/work-ranges.ts";
import type { Database } from "../../src/database/connect.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { readerAt } from "../../src/ledger/reading/read.ts";
import { type ReaderOptions, runReader } from "../../src/ledger/reading/reader.ts";
import { openSource } from "../../src/ledger/sources/open-source.ts";
import type { VerifyLevel } from "../../src/settings/values.ts";
import { startObjectStore } from "../ledger/sources/object-store-server.ts";
import type { TestDatabase } from "../postgres.ts";

const LEVEL = "signatures";

export const divideLedger = async (checkpoints: number, seed = 7) => {
  const ledger = createDemoLedger({ seed, noise: 0.3 });
  const bytes = Array.from({ length: checkpoints }, () => ledger.next().raw("protobuf"));
  const store = await startObjectStore({
    newest: BigInt(checkpoints - 1),
    object: (sequence) => zstdCompressSync(bytes[Number(sequence)] ?? new Uint8Array()),
  });
  // The other one joins by an upgrade.
  const packages = ledger.packages.slice(0, 1);
  const { committee } = ledger;
  const last = BigInt(checkpoints - 1);

  const readLog = async (database: Database, options: Partial<ReaderOptions> = {}) => {
    const source = openSource(store.base.href, { certificates: true });
    try {
      await runReader(
        {
          ...{ database, source, packages, last, read: readerAt(LEVEL), firstCheckpoint: 0n },
          verification: { level: LEVEL, trust: async () => ({ committee }) },
          ...options,
          waits: { backoff: { firstMs: 20, maxMs: 100 }, ...options.waits },
        },
        AbortSignal.timeout(60_000),
      );
    } finally {
      await source.close();
    }
  };

  const queuesOf = (database: TestDatabase, errors: Error[]) =>
    openQueues({ databaseUrl: database.url, onError: (error) => errors.push(error) });

  return {
    ...{ store, last, packages, committee, readLog },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    /** Appends what workers read, up to the ledger's end. */
    join: async (database: TestDatabase, options: Partial<ReaderOptions> = {}) => {
      await using queues = queuesOf(database, []);
      const queue = queues.queue(BACKFILL_QUEUE);
      const guide = joinRanges({ queue, size: 16n, ahead: 8, wakeEveryMs: 200 });
      await readLog(database, { guide, ...options });
    },
    /** A worker; `read` stands in for reading a range. */
    work: (
      database: TestDatabase,
      { read, level = LEVEL }: { readonly read?: RangeReader; readonly level?: VerifyLevel } = {},
    ) => {
      const errors: Error[] = [];
      const ranges: bigint[] = [];
      const queues = queuesOf(database, errors);
      const source = openSource(store.base.href, { certificates: true });
      const whole: RangeReader = async (range, known, signal) => {
        const found = await readRange({ source, level, packages: known, range }, signal);
        return { content: await packRange(found), rawBytes: found.rawBytes };
      };
      workRanges({
        ...{ database, queues, concurrency: 2, read: read ?? whole },
        onRead: ({ first }) => ranges.push(first),
        onFailed: (_, error) => errors.push(error),
      });
      return {
        ...{ ranges, errors, whole },
        [Symbol.asyncDispose]: async () => {
          await queues.close();
          await source.close();
        },
      };
    },
  };
};
