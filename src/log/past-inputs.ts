/** Fills in input versions that an older version did not write, from the log's start on. */
import { bigints } from "../database/column-arrays.ts";
import type { Sql, Transactor } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import { LogChangedError } from "./chain.ts";
import type { CheckpointMark, ReadFact } from "./fact.ts";
import {
  type Input,
  type InputLink,
  inputEnd,
  inputLink,
  inputStretches,
  inputsOf,
} from "./input-chain.ts";
import { OtherCheckpointError } from "./past-blocks.ts";
import { logInputChain, logInputs } from "./tables.ts";

/** The rest to fill in. */
export type PastInputs = {
  /** The next checkpoints with object changes, ascending. */
  readonly marks: readonly CheckpointMark[];
  /** The first of them. */
  readonly next: bigint;
  /** The last checkpoint that may have some. */
  readonly last: bigint;
};

/** One look-up per checkpoint: a join might read all facts. */
const MARKS = `
  select c.checkpoint as sequence, c.digest, c.timestamp_ms as "timestampMs"
  from log_checkpoints c, lateral (
    select from log_facts f where f.checkpoint = c.checkpoint and f.kind = 1 limit 1) as changed
  where c.checkpoint > $1 and c.checkpoint < $2 order by c.checkpoint limit $3`;

/** The rest to fill in, at most `most` checkpoints; null when none. */
export const pastInputs = async (sql: Sql, most: number): Promise<PastInputs | null> => {
  const [past] = await inputStretches(sql);
  const { checkpoint } = await inputEnd(sql, past);
  const parameters = [`${checkpoint}`, `${past.to}`, `${most}`];
  const marks = await sql.unsafe<CheckpointMark[]>(MARKS, parameters, { prepare: true });
  const [next] = marks;
  return next === undefined ? null : { marks, next: next.sequence, last: past.to - 1n };
};

export type ReadAgain = { readonly mark: CheckpointMark; readonly facts: readonly ReadFact[] };

/**
 * Fills in inputs of the next checkpoints that `pastInputs` gave, without gaps.
 * @param on session of the log's writer lock
 * @throws OtherCheckpointError (stop) on another digest, LogChangedError (stop) when the log has an
 * object change that the checkpoint lacks; nothing is written
 */
export const fillInInputs = async (on: Transactor, read: readonly ReadAgain[]): Promise<void> =>
  on.transaction(async ({ sql }) => {
    const [past] = await inputStretches(sql);
    let { hash } = await inputEnd(sql, past);
    const changes = Map.groupBy(await changesIn(sql, read), ({ checkpoint }) => checkpoint);
    const inputs: Input[] = [];
    const links: InputLink[] = [];
    for (const { mark, facts } of read) {
      const { sequence } = mark;
      const stored = changes.get(sequence) ?? [];
      const [{ digest } = { digest: "none" }] = stored;
      if (digest !== mark.digest) throw new OtherCheckpointError(mark, digest);
      const taken = new Map(inputsOf(facts).map((input) => [keyOf(input), input.version]));
      const own = stored.map((change) => {
        const version = taken.get(keyOf(change));
        if (version !== undefined) return { ...change, version };
        const what = `log_facts has a change of object ${change.objectId} by transaction ${change.transaction}, which the ledger does not have`;
        throw new LogChangedError({ checkpoint: sequence, what });
      });
      const link = inputLink(hash, sequence, own);
      ({ hash } = link);
      links.push(link);
      inputs.push(...own);
    }
    await appendRows(sql, logInputs, inputs);
    await appendRows(sql, logInputChain, links);
  });

/** Packages that joined later may have more facts: match by transaction and object. */
const keyOf = ({ transaction, objectId }: Pick<Input, "transaction" | "objectId">): string =>
  `${transaction} ${objectId}`;

type Change = Omit<Input, "version"> & { readonly digest: string };

/** Object changes in the log, in order. */
const changesIn = (sql: Sql, read: readonly ReadAgain[]): Promise<readonly Change[]> => sql<
  Change[]
>`
  select f.checkpoint, f.transaction, f.index, f.object_id as "objectId", c.digest
  from log_facts f join log_checkpoints c using (checkpoint)
  where f.checkpoint = any(${bigints(read.map(({ mark }) => mark.sequence))}::int8[]) and f.kind = 1
  order by f.checkpoint, f.transaction, f.index`;
