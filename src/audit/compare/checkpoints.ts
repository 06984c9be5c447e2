/** Compares what is not a list: checkpoints, heads of the log, stored digests. */
import { read } from "../../database/readers.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { pipelineDigest } from "../../projections/digests.ts";
import { type Answered, NotAnsweredError } from "./other-deployment.ts";
import type { Compared } from "./progress.ts";
import { compareRows } from "./rows.ts";
import { numberIn, type Row, rowsIn, textIn } from "./served-rows.ts";

/**
 * Compares stored digests of a pipeline. Equality proves nothing, since rows may have been altered
 * underneath; the first difference shows where to compare rows first.
 */
export const compareDigests = async (
  { on, there, progress, first }: Compared,
  pipeline: Pipeline,
): Promise<void> => {
  const { name } = pipeline;
  const at = async (checkpoint: bigint) => {
    const [own, other] = await Promise.all([
      pipelineDigest(on, pipeline, checkpoint),
      there.digest(name, checkpoint),
    ]);
    return own === other ? null : { checkpoint, own, other };
  };
  let found = await at(progress.through);
  for (let from = first; found !== null && from < found.checkpoint; ) {
    const middle = (from + found.checkpoint) / 2n;
    const earlier = await at(middle);
    if (earlier === null) from = middle + 1n;
    else found = earlier;
  }
  progress.count("digests that both keep", { rows: 1, lists: 1 });
  if (found === null) return;
  progress.hint(name, found.checkpoint);
  progress.add([
    {
      what: `digest of ${name}`,
      coinType: null,
      row: `from checkpoint ${found.checkpoint} on`,
      here: { digest: found.own },
      there: { digest: found.other },
    },
  ]);
};

/** Checkpoints per query. */
const CHECKPOINTS_PER_QUERY = 12;
const NUMBERS = Array.from({ length: CHECKPOINTS_PER_QUERY }, (_, index) => index);

const metas = (argument: string, fields: string) => `
  query (${NUMBERS.map((index) => `$m${index}: String!`).join(", ")}) {
    ${NUMBERS.map((index) => `m${index}: _meta(${argument}: $m${index}) { ${fields} }`).join("\n")} }`;

const BY_NUMBER = metas("atCheckpoint", "checkpoint checkpointTimestamp checkpointDigest");
const BY_SECOND = metas("atTimestamp", "checkpoint checkpointDigest");

const rowsOf = (data: Answered, given: readonly string[]): readonly Row[] =>
  NUMBERS.flatMap((index) => {
    const [row] = rowsIn({ one: [data[`m${index}`]] }, "one");
    return row === undefined ? [] : [{ asked: given[index] ?? "", ...row }];
  });

const BY_NUMBER_NAME = "times and digests of checkpoints at random";
const BY_SECOND_NAME = "checkpoints at a second, at random";

/** Compares random checkpoints' times and digests, and resolution by time. */
export const compareCheckpoints = async (
  { here, there, progress, first, isGuided, known }: Compared,
  count: number,
): Promise<void> => {
  const ask = async (what: string, query: string, given: readonly string[]) => {
    const variables = Object.fromEntries(given.map((value, index) => [`m${index}`, value]));
    const [own, other] = await Promise.all([
      here.ask(query, variables),
      there.ask(query, variables),
    ]);
    const rows = rowsOf(own, given);
    const key = (row: Row) => textIn(row, "asked");
    const found = compareRows({ what, coinType: null }, rows, rowsOf(other, given), { key });
    progress.count(what, found);
    progress.add(found.differences);
    return rows;
  };
  progress.count(BY_NUMBER_NAME, { lists: 1 });
  // A second may end between two checkpoints that were read.
  progress.count(BY_SECOND_NAME, { lists: 1, inPart: isGuided ? 1 : 0 });
  const { through } = progress;
  const timeOf = async (checkpoint: bigint) => {
    const variables = Object.fromEntries(NUMBERS.map((index) => [`m${index}`, `${checkpoint}`]));
    const [row] = rowsOf(await here.ask(BY_NUMBER, variables), []);
    return row === undefined ? 0n : numberIn(row, "checkpointTimestamp");
  };
  const bounds = isGuided ? null : [await timeOf(first), await timeOf(through)];
  for (let number = 0; number < count; number += CHECKPOINTS_PER_QUERY) {
    const given = await Promise.all(
      NUMBERS.map(async (index) => {
        if (number + index === 0) return `${through}`;
        const random = progress.random(`checkpoint ${number + index}`, through - first + 1n);
        return `${await known(first + random)}`;
      }),
    );
    const rows = await ask(BY_NUMBER_NAME, BY_NUMBER, given);
    if (bounds === null) continue;
    const [earliest = 0n, latest = 0n] = bounds;
    // The last second may still gain checkpoints on either side.
    const seconds = rows
      .map((row) => numberIn(row, "checkpointTimestamp"))
      .filter((second) => second >= earliest && second < latest);
    const [one] = seconds;
    if (one === undefined) continue;
    await ask(
      BY_SECOND_NAME,
      BY_SECOND,
      NUMBERS.map((index) => `${seconds[index] ?? one}`),
    );
  }
};

const CHAIN = `
  select checkpoint, encode(hash, 'hex') as hash from log_chain
  where checkpoint = any($1::int8[])`;
const CHAIN_END = `select max(checkpoint) as checkpoint from log_chain`;

/** Compares the other one's signed log heads with this log's hash chain. */
export const compareHeads = async (
  { on, there, progress, sameFirst, isGuided }: Compared,
  most: number,
): Promise<void> => {
  const what = "heads of the log that are published there";
  // The hash covers all facts since the log's first checkpoint, of foreign coins' metadata, too,
  // which guided reading does not keep.
  if (!sameFirst || isGuided) return progress.count(what, { lists: 1, inPart: 1 });
  const [end] = await read<{ readonly checkpoint: bigint | null }>(on, CHAIN_END, []);
  const last = end?.checkpoint ?? -1n;
  progress.count(what, { lists: 1 });
  let [before, left] = [progress.through + 1n, most];
  for (;;) {
    const page = await there.heads(before);
    if (page === null) throw new NotAnsweredError("it publishes none");
    const checkpoints = [before, ...page.map(({ checkpoint }) => checkpoint)];
    if (checkpoints.some((each, index) => index > 0 && each >= (checkpoints[index - 1] ?? each))) {
      throw new NotAnsweredError("its pages do not advance");
    }
    const heads = page.filter(({ checkpoint }) => checkpoint <= last).slice(0, left);
    const numbers = heads.map(({ checkpoint }) => checkpoint);
    const own = await read<{ readonly checkpoint: bigint; readonly hash: string }>(on, CHAIN, [
      `{${numbers.join(",")}}`,
    ]);
    const row = ({ checkpoint, hash }: (typeof own)[number]) => ({
      checkpoint: `${checkpoint}`,
      hash,
    });
    const key = (of: Row) => `checkpoint ${textIn(of, "checkpoint")}`;
    const found = compareRows({ what, coinType: null }, own.map(row), heads.map(row), { key });
    progress.count(what, found);
    progress.add(found.differences);
    left -= heads.length;
    const next = page.at(-1)?.checkpoint;
    if (next === undefined) return;
    if (left === 0) {
      progress.count(what, { inPart: 1 });
      return;
    }
    before = next;
  }
};
