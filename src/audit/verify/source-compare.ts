/** Compares the log with source checkpoints: facts, inputs, times, digests, packages. */
import type { Sql } from "../../database/connect.ts";
import { columnsByKey } from "../../database/table-rows.ts";
import type { ReadCheckpoint } from "../../ledger/reading/read.ts";
import { rowOf } from "../../log/append.ts";
import { markAt } from "../../log/block.ts";
import type { LogFault } from "../../log/chain.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { inputEnd, inputStretches, inputsOf } from "../../log/input-chain.ts";
import { logFacts, type logInputs } from "../../log/tables.ts";

/** A checkpoint where the log differs from the source, with the differences. */
export type SourceFault = LogFault & { readonly facts: readonly string[] };

type FactRow = ReturnType<typeof rowOf>;
type MarkRow = {
  readonly checkpoint: bigint;
  readonly digest: string;
  readonly timestampMs: bigint;
};
type BlockRow = {
  readonly first: bigint;
  readonly count: number;
  readonly times: Buffer;
  readonly digests: Buffer;
};
type PackageRow = {
  readonly address: string;
  readonly checkpoint: bigint;
  readonly transaction: number;
};

type InputRow = Omit<typeof logInputs.$inferSelect, "version"> & {
  readonly version: string | null;
};

const STORED = `
  select ${columnsByKey(logFacts)} from log_facts
  where public.log_has($1) and checkpoint >= $1 and checkpoint <= $2`;

/**
 * Differences between the log and these checkpoints.
 * @param seen ascending, from a trusted source
 */
export const compareStretch = async (
  sql: Sql,
  seen: readonly ReadCheckpoint[],
): Promise<readonly SourceFault[]> => {
  const [first, last] = [seen[0]?.mark.sequence, seen.at(-1)?.mark.sequence];
  if (first === undefined || last === undefined) return [];
  const range = [`${first}`, `${last}`];
  const facts = Map.groupBy(
    await sql.unsafe<FactRow[]>(STORED, range),
    ({ checkpoint }) => checkpoint,
  );
  const marks = await sql.unsafe<MarkRow[]>(
    `select checkpoint, digest, timestamp_ms as "timestampMs" from log_checkpoints
     where checkpoint >= $1 and checkpoint <= $2`,
    range,
  );
  const markOf = new Map(marks.map((mark) => [mark.checkpoint, mark]));
  const blocks = await sql.unsafe<BlockRow[]>(
    `select first_checkpoint as first, count, times, digests from log_blocks
     where first_checkpoint <= $2 and first_checkpoint >= coalesce(
       (select max(first_checkpoint) from log_blocks where first_checkpoint <= $1), $1)
     order by first_checkpoint`,
    range,
  );
  const packages = await sql.unsafe<PackageRow[]>(
    `select address, checkpoint, transaction from log_packages
     where checkpoint >= $1 and checkpoint <= $2`,
    range,
  );
  const packagesOf = Map.groupBy(packages, ({ checkpoint }) => checkpoint);
  const [past, { from: appended }] = await inputStretches(sql);
  // Read before the rows: it only advances.
  const { checkpoint: filled } = await inputEnd(sql, past);
  const inputs = Map.groupBy(
    await sql.unsafe<InputRow[]>(
      "select * from log_inputs where checkpoint >= $1 and checkpoint <= $2",
      range,
    ),
    ({ checkpoint }) => checkpoint,
  );
  return seen.flatMap((one) => {
    const { sequence } = one.mark;
    const wrong = [
      ...wrongRows(one, facts.get(sequence) ?? []),
      ...wrongMark("log_checkpoints", one, markOf.get(sequence)),
      ...wrongMark("log_blocks", one, blockMark(blocks, sequence)),
      ...wrongPackages(one, packagesOf.get(sequence) ?? []),
      // Unfilled inputs are reported elsewhere.
      ...(sequence > filled && sequence < appended
        ? []
        : wrongInputs(one, inputs.get(sequence) ?? [])),
    ];
    const what = "the log is not what the ledger says";
    return wrong.length === 0 ? [] : [{ checkpoint: sequence, what, facts: wrong }];
  });
};

const blockMark = (blocks: readonly BlockRow[], sequence: bigint): CheckpointMark | undefined => {
  const block = blocks.findLast(({ first }) => first <= sequence);
  if (block === undefined || sequence >= block.first + BigInt(block.count)) return undefined;
  return markAt(block.first, block, Number(sequence - block.first));
};

const wrongMark = (
  table: string,
  { mark }: ReadCheckpoint,
  stored: Pick<CheckpointMark, "digest" | "timestampMs"> | undefined,
): readonly string[] => {
  // A missing row is reported by the chain's check.
  if (stored === undefined) return [];
  const wrong: string[] = [];
  if (stored.digest !== mark.digest) {
    wrong.push(`${table}: digest is ${stored.digest}, the ledger has ${mark.digest}`);
  }
  if (stored.timestampMs !== mark.timestampMs) {
    wrong.push(
      `${table}: timestamp_ms is ${stored.timestampMs}, the ledger has ${mark.timestampMs}`,
    );
  }
  return wrong;
};

const wrongPackages = (
  { joined }: ReadCheckpoint,
  rows: readonly PackageRow[],
): readonly string[] => {
  const nameOfRow = ({ address, transaction }: Pick<PackageRow, "address" | "transaction">) =>
    `package ${address} of transaction ${transaction}`;
  const [published, stored] = [joined.map(nameOfRow), rows.map(nameOfRow)];
  return [
    ...published
      .filter((name) => !stored.includes(name))
      .map((name) => `log_packages: ${name} is missing`),
    ...stored
      .filter((name) => !published.includes(name))
      .map((name) => `log_packages: ${name} was added, the ledger publishes none there`),
  ];
};

const wrongInputs = ({ facts }: ReadCheckpoint, rows: readonly InputRow[]): readonly string[] => {
  const place = ({ transaction, index }: Pick<InputRow, "transaction" | "index">) =>
    `of transaction ${transaction}, object change ${index}`;
  const stored = new Map(rows.map((row) => [place(row), row]));
  const wrong: string[] = [];
  for (const input of inputsOf(facts)) {
    const name = `log_inputs: input ${place(input)} (${input.objectId})`;
    const row = stored.get(place(input));
    stored.delete(place(input));
    const should = input.version === null ? "none" : `version ${input.version}`;
    if (row === undefined) wrong.push(`${name} is missing`);
    else if (row.version !== (input.version?.toString() ?? null)) {
      const is = row.version === null ? "none" : `version ${row.version}`;
      wrong.push(`${name} is ${is}, the ledger has ${should}`);
    }
  }
  for (const row of stored.values()) {
    wrong.push(`log_inputs: input ${place(row)} was added, the ledger has none`);
  }
  return wrong;
};

/** Equal exactly if the column values are. */
const shown = (value: FactRow[keyof FactRow] | string): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : `${value}`;

const nameOf = ({ kind, transaction, index, txDigest, name }: FactRow): string =>
  `${kind === 0 ? "event" : "object"} ${name} of transaction ${transaction} (${txDigest}), index ${index}`;

const placeOf = ({ transaction, kind, index }: FactRow): string =>
  `${transaction} ${kind} ${index}`;

/** Longer values are cut. */
const LONGEST_VALUE = 80;

const cut = (text: string): string =>
  text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;

const wrongRows = ({ facts }: ReadCheckpoint, rows: readonly FactRow[]): readonly string[] => {
  const stored = new Map(rows.map((row) => [placeOf(row), row]));
  const wrong: string[] = [];
  for (const fact of facts) {
    const read = rowOf(fact);
    const row = stored.get(placeOf(read));
    stored.delete(placeOf(read));
    if (row === undefined) {
      wrong.push(`${nameOf(read)}: missing in log_facts`);
      continue;
    }
    for (const column of Object.keys(read) as (keyof FactRow)[]) {
      const [is, should] = [shown(row[column]), shown(read[column])];
      if (is === should) continue;
      wrong.push(`${nameOf(read)}: ${column} is ${cut(is)}, the ledger has ${cut(should)}`);
    }
  }
  for (const row of stored.values()) wrong.push(`${nameOf(row)}: added, the ledger has none`);
  return wrong;
};
