/**
 * Input versions of what an older version read: filled in from the source, from the log's first checkpoint on,
 * until they meet those that appends wrote.
 */
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

/** What is left to fill in. */
export type PastInputs = {
  /** Of the next checkpoints with changes of objects, ascending. */
  readonly marks: readonly CheckpointMark[];
  /** The last checkpoint that may have some. */
  readonly last: bigint;
};

/** Each checkpoint is looked up on its own: a join might read all facts. */
const MARKS = `
  select c.checkpoint as sequence, c.digest, c.timestamp_ms as "timestampMs"
  from log_checkpoints c, lateral (
    select from log_facts f where f.checkpoint = c.checkpoint and f.kind = 1 limit 1) as changed
  where c.checkpoint > $1 and c.checkpoint < $2 order by c.checkpoint limit $3`;

/** What is left to fill in, at most so many checkpoints of it; null when nothing is. */
export const pastInputs = async (sql: Sql, most: number): Promise<PastInputs | null> => {
  const [past] = await inputStretches(sql);
  const { checkpoint } = await inputEnd(sql, past);
  const parameters = [`${checkpoint}`, `${past.to}`, `${most}`];
  const marks = await sql.unsafe<CheckpointMark[]>(MARKS, parameters, { prepare: true });
  return marks.length === 0 ? null : { marks, last: past.to - 1n };
};

/** A checkpoint that was read again. */
export type ReadAgain = { readonly mark: CheckpointMark; readonly facts: readonly ReadFact[] };

/**
 * Fills in the inputs of these checkpoints: the next ones that `pastInputs` gave, none left out.
 * @param on the session that holds the lock of the log
 * @throws OtherCheckpointError (stop) when the log knows one of them by another digest, LogChangedError (stop)
 *   when it has a change of an object that the checkpoint does not have; nothing is written then
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

/** Packages that joined later may have more facts: the transaction and the object tell which is which. */
const keyOf = ({ transaction, objectId }: Pick<Input, "transaction" | "objectId">): string =>
  `${transaction} ${objectId}`;

type Change = Omit<Input, "version"> & { readonly digest: string };

/** Changes of objects as the log has them, in order. */
const changesIn = (sql: Sql, read: readonly ReadAgain[]): Promise<readonly Change[]> => sql<
  Change[]
>`
  select f.checkpoint, f.transaction, f.index, f.object_id as "objectId", c.digest
  from log_facts f join log_checkpoints c using (checkpoint)
  where f.checkpoint = any(${bigints(read.map(({ mark }) => mark.sequence))}::int8[]) and f.kind = 1
  order by f.checkpoint, f.transaction, f.index`;
