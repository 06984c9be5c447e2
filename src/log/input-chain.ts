/**
 * Hash chain over input versions (`log_inputs`), per checkpoint with object changes:
 *
 * input = transaction, object id and version, each as text after its length in bytes, u32
 * big-endian; ff ff ff ff for a null version
 *
 * inputs = SHA-256 over the checkpoint's, ordered by transaction and index
 *
 * hash = SHA-256(previous hash, or 32 zero bytes at the start of its stretch; checkpoint, u64
 * big-endian; inputs)
 *
 * The appended and the filled-in stretch (past-inputs.ts) have a chain each.
 */
import { createHash } from "node:crypto";
import type { Sql } from "../database/connect.ts";
import { highest } from "../values/bigints.ts";
import { archivedBefore } from "./archived.ts";
import type { LogFault } from "./chain.ts";
import { createWriter, inOrder, START, sqlField } from "./chain-hash.ts";
import type { ReadFact } from "./fact.ts";
import type { logInputChain, logInputs } from "./tables.ts";

/** The version of an object that a transaction changed, created or removed. */
export type Input = typeof logInputs.$inferSelect & { readonly objectId: string };
export type InputLink = typeof logInputChain.$inferSelect;

/** Inputs of a checkpoint's facts, by transaction and index. */
export const inputsOf = (facts: readonly ReadFact[]): readonly Input[] => {
  const inputs: Input[] = [];
  for (const fact of inOrder(facts)) {
    if (fact.kind === "event") continue;
    const { checkpoint, transaction, index, objectId } = fact;
    const version = fact.kind === "removal" ? fact.version : fact.versionBefore;
    inputs.push({ checkpoint, transaction, index, objectId, version });
  }
  return inputs;
};

/**
 * A checkpoint's link after `before`.
 * @param inputs all of the checkpoint, in order
 */
export const inputLink = (
  before: Uint8Array,
  checkpoint: bigint,
  inputs: readonly Input[],
): InputLink => {
  const writer = createWriter();
  for (const { transaction, objectId, version } of inputs) {
    writer.text(`${transaction}`);
    writer.text(objectId);
    writer.text(version?.toString() ?? null);
  }
  const hash = createHash("sha256").update(writer.bytes()).digest();
  return { checkpoint, inputs: inputs.length, hash: hashBehind(before, checkpoint, hash) };
};

const hashBehind = (before: Uint8Array, checkpoint: bigint, inputs: Uint8Array): Buffer => {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(checkpoint);
  return createHash("sha256").update(before).update(number).update(inputs).digest();
};

/** Checkpoints whose inputs form one chain; `to` is excluded. */
export type InputStretch = { readonly from: bigint; readonly to: bigint };

/** The filled-in stretch and the appended one. */
export const inputStretches = async (sql: Sql): Promise<readonly [InputStretch, InputStretch]> => {
  const [row] = await sql<{ first: bigint; begin: bigint; next: bigint }[]>`
    select first_checkpoint as first, coalesce(inputs_from, next_checkpoint) as begin,
           next_checkpoint as next
    from log_high_water`;
  const { first, begin, next } = row ?? { first: 0n, begin: 0n, next: 0n };
  return [
    { from: first, to: begin },
    { from: begin, to: next },
  ];
};

/** End of a stretch's chain; the checkpoint before its first when empty. */
type InputEnd = Pick<InputLink, "checkpoint" | "hash">;

export const inputEnd = async (sql: Sql, { from, to }: InputStretch): Promise<InputEnd> => {
  const [row] = await sql<InputEnd[]>`
    select checkpoint, hash from log_input_chain
    where checkpoint >= ${from} and checkpoint < ${to} order by checkpoint desc limit 1`;
  return row ?? { checkpoint: from - 1n, hash: START };
};

/** A checkpoint in facts, inputs and chain. */
type Row = {
  readonly checkpoint: bigint;
  /** Object changes, input rows, and pairs with equal keys. */
  readonly objects: number | null;
  readonly inputs: number | null;
  readonly both: number | null;
  readonly inputsHash: Buffer | null;
  readonly chained: number | null;
  readonly chainedHash: Buffer | null;
};

// One statement, as both may be filled in meanwhile.
const ROWS = `
  select checkpoint, stored.objects, stored.inputs, stored.both, stored.hash as "inputsHash",
         chained.inputs as chained, chained.hash as "chainedHash"
  from (
    select checkpoint, count(f.index)::int as objects, count(i.index)::int as inputs,
           count(f.index) filter (where i.index is not null)::int as both,
           sha256(string_agg(${["transaction", "object_id", "version"].map(sqlField).join(" || ")},
                             ''::bytea order by transaction, index)) as hash
    from (select checkpoint, transaction, index, object_id from log_facts
          where public.log_has($1::int8 + 1) and checkpoint > $1 and checkpoint <= $2 and kind = 1) as f
    full join (select * from log_inputs where checkpoint > $1 and checkpoint <= $2) as i
      using (checkpoint, transaction, index)
    group by checkpoint
  ) as stored
  full join (select * from log_input_chain where checkpoint > $1 and checkpoint <= $2) as chained
    using (checkpoint)
  order by checkpoint`;

/** Checks filled-in inputs in (after, through] against their chain and the facts. Reads only. */
export const inputFaults = async (
  sql: Sql,
  after: bigint,
  through: bigint,
): Promise<readonly LogFault[]> => {
  const [past, appended] = await inputStretches(sql);
  // Before the rows: it only moves on.
  const filled = await inputEnd(sql, past);
  const begin = after < appended.from ? past.from : appended.from;
  let before = await inputEnd(sql, { from: begin, to: after + 1n });
  const faults: LogFault[] = [];
  for (const row of await sql.unsafe<Row[]>(ROWS, [`${after}`, `${through}`])) {
    const { checkpoint, chainedHash } = row;
    const begins = checkpoint >= appended.from && before.checkpoint < appended.from;
    const isDue = checkpoint >= appended.from || checkpoint <= filled.checkpoint;
    const what = faultOf(row, begins ? START : before.hash, isDue);
    if (what !== null) faults.push({ checkpoint, what });
    if (chainedHash !== null) before = { checkpoint, hash: chainedHash };
  }
  return faults;
};

const faultOf = (row: Row, before: Uint8Array, isDue: boolean): string | null => {
  const { checkpoint, objects, inputs, both, inputsHash, chained, chainedHash } = row;
  if (chained === null || chainedHash === null) {
    if (inputs === 0 && !isDue) return null;
    return inputs === 0
      ? `log_inputs and log_input_chain have nothing of ${objects} changes of objects: they were deleted, or an older version appended them`
      : `log_inputs has ${inputs} rows that log_input_chain does not know: they were added, or its row was deleted`;
  }
  if (inputsHash === null) {
    return `log_input_chain has a row of ${chained} inputs, but log_inputs none and log_facts no object`;
  }
  if (inputs !== chained || both !== inputs || objects !== inputs) {
    return `log_inputs has ${inputs} rows, of which ${both} are of one of ${objects} changes of objects, instead of ${chained}: some were deleted or added`;
  }
  return hashBehind(before, checkpoint, inputsHash).equals(chainedHash)
    ? null
    : `the hash of its ${inputs} inputs is not the one in log_input_chain: a version or the chain was altered`;
};

const LINKS_PER_READ = 250;

/**
 * Checks the next inputs, a bounded number of checkpoints; not those of archived facts, which can be compared once they
 * are attached.
 */
export const checkInputs = async (sql: Sql, place: { readonly next: bigint }, before: bigint) => {
  const next = highest(place.next, (await archivedBefore(sql)) ?? 0n);
  const [row] = await sql<{ checkpoint: bigint }[]>`
    select checkpoint from log_input_chain where checkpoint >= ${next} and checkpoint < ${before}
    order by checkpoint offset ${LINKS_PER_READ - 1} limit 1`;
  const through = row?.checkpoint ?? highest(next, before) - 1n;
  return {
    faults: await inputFaults(sql, next - 1n, through),
    place: { next: through + 1n },
  };
};
