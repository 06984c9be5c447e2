/** The way from bytes to projections, a batch at a time and without a source. */
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { openLog } from "../../src/log/log.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline } from "../../src/pipelines/register.ts";
import { piecesOf } from "../log/facts.ts";
import type { TestDatabase } from "../postgres.ts";

/** Reads checkpoints of a ledger into the log and every projection: from checkpoint 0 on, or from where a copy is. */
export const follow = async (
  database: TestDatabase,
  {
    chainId,
    packages,
    hidden = new Set(),
    begin: firstCheckpoint = 0n,
  }: {
    readonly chainId: string;
    readonly packages: readonly string[];
    /** Digests of transactions that a dishonest operator leaves out. */
    readonly hidden?: ReadonlySet<string>;
    /** The log begins here. */
    readonly begin?: bigint;
  },
) => {
  const read = createCheckpointReader(packages);
  const log = await openLog(database, { chainId, packages, firstCheckpoint });
  const begin = await log.highWater();
  const next = new Map<string, bigint>();
  for (const pipeline of ledgerPipelines) {
    const { nextCheckpoint } = await registerPipeline(database.sql, pipeline, begin);
    next.set(pipeline.name, nextCheckpoint);
  }

  return {
    /** Appends the next checkpoints as one batch. */
    append: async (raws: readonly RawCheckpoint[]) => {
      const seen = raws.map(read);
      const [first, last] = [seen.at(0)?.mark, seen.at(-1)?.mark];
      if (first === undefined || last === undefined) return;
      await log.append(
        {
          first: first.sequence,
          last,
          marks: seen.map(({ mark }) => mark),
          blocks: piecesOf(seen.map(({ mark }) => mark)),
          facts: seen.flatMap(({ facts }) => facts.filter(({ txDigest }) => !hidden.has(txDigest))),
        },
        seen.flatMap(({ coins }) => coins),
      );
    },
    /** Lets every pipeline read the log to its end, this many facts at a time. */
    project: async (maxFacts: number) => {
      for (const pipeline of ledgerPipelines) {
        for (;;) {
          const from = next.get(pipeline.name) ?? 0n;
          const batch = await log.readFacts({
            from,
            names: pipeline.facts,
            maxFacts,
            maxBytes: 8 * 1024 * 1024,
          });
          if (batch === null) break;
          await applyBatch(database, pipeline, batch);
          next.set(pipeline.name, batch.last.sequence + 1n);
        }
      }
    },
  };
};
