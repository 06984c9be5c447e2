/** `facts-N.parquet`: the log's facts, compared with its chain as they are read. */
import type { Sql } from "../../database/connect.ts";
import { chainEnd, LogChangedError } from "../../log/chain.ts";
import type { ReadFact } from "../../log/fact.ts";
import { readBatches } from "../../log/read-batches.ts";
import { ARCHIVE_START, type ChainPlaces, placesAfter } from "../chain-places.ts";
import type { ExportFolder } from "./folder.ts";
import { FACTS, factSize } from "./tables.ts";

/** Of a batch; a single checkpoint may exceed them. */
const BATCH = { maxFacts: 20_000, maxBytes: 32 * 1024 * 1024, maxCheckpoints: 65_536 };

export const factsName = (part: number): string =>
  `facts-${part.toString().padStart(4, "0")}.parquet`;

/** @throws LogChangedError (stop), LogUnfilledError (wait) */
export const writeFacts = async (sql: Sql, folder: ExportFolder): Promise<void> => {
  const { first, last, files } = folder.wanted;
  const parts = files.filter(({ through }) => through !== undefined);
  let part = parts.length;
  let next = (parts.at(-1)?.through ?? first - 1n) + 1n;
  // A range without facts has one empty part.
  while (next <= last || part === 0) {
    part += 1;
    const from = next;
    const stretch = readPart(sql, { from, last, most: folder.limits.factsPerPart });
    await folder.write({
      ...{ name: factsName(part), columns: FACTS, sizeOf: factSize, rows: stretch.rows },
      metadata: () => ({ first_checkpoint: `${from}`, last_checkpoint: `${stretch.through()}` }),
      through: stretch.through,
    });
    next = stretch.through() + 1n;
  }
};

type Part = { readonly from: bigint; readonly last: bigint; readonly most: number };

const readPart = (sql: Sql, { from, last, most }: Part) => {
  let through = from - 1n;
  async function* rows(): AsyncGenerator<readonly ReadFact[]> {
    const facts = await hashAt(sql, from - 1n);
    let places: ChainPlaces = { facts, blocks: ARCHIVE_START, inputs: ARCHIVE_START };
    const maxFacts = Math.min(most, BATCH.maxFacts);
    let read = 0;
    for await (const batch of readBatches(sql, { begin: from, from, last, ...BATCH, maxFacts })) {
      places = placesAfter(places, batch);
      const { sequence } = batch.last;
      if ((await hashAt(sql, sequence)) !== places.facts) {
        const what = "log_facts or log_chain is not what was appended; nothing of it was exported";
        throw new LogChangedError({ checkpoint: sequence, what });
      }
      yield batch.facts;
      through = sequence;
      read += batch.facts.length;
      if (read >= most) return;
    }
    // Nothing was read after it.
    through = last;
  }
  return { rows: rows(), through: () => through };
};

/** Of the log's chain of facts, hex. */
export const hashAt = async (sql: Sql, checkpoint: bigint): Promise<string> =>
  Buffer.from((await chainEnd(sql, checkpoint)).hash).toString("hex");
