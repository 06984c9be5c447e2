/**
 * Recomputes digests from the stored rows. Where they differ from the stored ones, compares rows
 * with those that the checkpoint's facts give, to name the wrong ones.
 */
import { getTableName } from "drizzle-orm";
import { texts } from "../../database/column-arrays.ts";
import type { Db, Sql } from "../../database/connect.ts";
import { within } from "../../database/session.ts";
import { readFacts } from "../../log/read-facts.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { makeRows, type Pipeline } from "../../pipelines/pipeline.ts";
import {
  kindOf,
  linesOf,
  type StoredCheckpoint,
  storedCheckpoints,
  tableOf,
} from "../../pipelines/stored-rows.ts";
import { BEFORE_SETTING } from "../../pipelines/stored-tables.ts";
import type { DigestLine } from "../../projections/digest-lines.ts";
import { digestsOf, NO_ROWS } from "../../projections/digests.ts";
import { readLeftOut, withoutLeftOut } from "../../projections/left-out-facts.ts";
import type { Findings } from "./findings.ts";

/** Mismatched checkpoints of a pipeline that are reported row by row. */
const MOST_CHECKPOINTS = 100;

/** Checkpoints whose rows do not give their stored digest. */
export const wrongCheckpoints = async (
  { sql }: Db,
  pipeline: Pipeline,
  upTo: bigint,
  signal: AbortSignal,
): Promise<readonly StoredCheckpoint[]> => {
  const wrong: StoredCheckpoint[] = [];
  // After a mismatch, either the stored or the computed digest may be right.
  let before: readonly Uint8Array[] = [NO_ROWS];
  for await (const stored of storedCheckpoints(sql, pipeline, { first: 0n, last: upTo })) {
    signal.throwIfAborted();
    const { checkpoint, rows, digest } = stored;
    const lines = linesOf(checkpoint, rows);
    if (lines.length === 0 && digest === null) continue;
    const made = before.flatMap((each) => digestsOf(each, pipeline.layout, lines));
    const fits = digest !== null && made.some((each) => digest.equals(each.digest));
    const chained = made.length > 0 ? made.map((each) => each.digest) : before;
    // At most two candidates, however long the run of mismatches.
    before = fits ? [digest] : [...chained, ...(digest ? [digest] : [])].slice(-2);
    if (fits) continue;
    wrong.push(stored);
    if (wrong.length >= MOST_CHECKPOINTS) break;
  }
  return wrong;
};

/** Facts of a checkpoint may give no row: an object created and deleted within it. */
const MOST_WITHOUT = 10_000;

/** Checkpoints with facts for a pipeline, but no digest. */
export const withoutDigest = async (
  { sql }: Db,
  pipeline: Pipeline,
  upTo: bigint,
): Promise<readonly bigint[]> => {
  const names = pipeline.factsWithLines ?? pipeline.facts;
  const rows = await sql.unsafe<{ checkpoint: bigint }[]>(
    `select distinct checkpoint from log_facts f
     where public.log_has(0) and f.checkpoint <= $1 and f.name = any($2::text[])
       and not exists (select from public.${getTableName(pipeline.digests)} d
                       where d.checkpoint = f.checkpoint)
     order by 1 limit ${MOST_WITHOUT}`,
    [`${upTo}`, texts(names)],
  );
  return rows.map(({ checkpoint }) => checkpoint);
};

/** Reports what is wrong with a checkpoint's rows or digest. Needs the views of `showThePast`. */
export const reportMismatch = async (
  tx: Db,
  pipeline: Pipeline,
  { checkpoint, rows, digest }: StoredCheckpoint,
  found: Findings,
): Promise<void> => {
  const expected = new Map<string, DigestLine>();
  try {
    for (const line of await expectedLines(tx, pipeline, checkpoint))
      expected.set(line.place, line);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    found.add(`${pipeline.name}, checkpoint ${checkpoint}: ${error.message}`);
    return;
  }
  const stored = new Map(linesOf(checkpoint, rows).map((line) => [line.place, line]));
  const places = new Set([...stored.keys(), ...expected.keys()]);
  let wrong = 0;
  for (const place of [...places].sort()) {
    const [is, should] = [stored.get(place), expected.get(place)];
    const line = is ?? should;
    if (line === undefined || is?.text === should?.text) continue;
    wrong += 1;
    const where = `${tableOf(pipeline, line, rows)}, checkpoint ${checkpoint}, ${keyOf(pipeline, place)}`;
    found.add(`${where}: ${difference(is, should)}`);
  }
  if (wrong > 0) return;
  const table = `${getTableName(pipeline.digests)}, checkpoint ${checkpoint}`;
  if (digest !== null)
    found.add(`${table}: digest is ${digest.toString("hex")}, which the rows do not give`);
  else if (expected.size > 0) found.add(`${table}: the row is missing`);
};

const keyOf = (pipeline: Pipeline, place: string): string => {
  const kind = kindOf(pipeline, place);
  const values = place.slice(place.indexOf(" ") + 1).split("\0");
  return (kind?.key ?? [])
    .map((name, index) => `${name} ${values[index]?.replace(/^0+(?=\d+$)/, "")}`)
    .join(", ");
};

type Line = Readonly<Record<string, unknown>>;

const parsed = ({ text }: DigestLine): Line => JSON.parse(text);

const isEnd = (line: DigestLine | undefined): boolean =>
  line?.text.startsWith('{"removed":') ?? false;

const described = (line: DigestLine | undefined): string => {
  if (line === undefined) return "no change";
  return isEnd(line) ? "the end of the state" : line.text.trim();
};

const difference = (is: DigestLine | undefined, should: DigestLine | undefined): string => {
  if (isEnd(is) || isEnd(should))
    return `stored is ${described(is)}; the log gives ${described(should)}`;
  if (is === undefined) return `the row is missing; the log gives ${described(should)}`;
  if (should === undefined) return `the row is stored, but the log gives none: ${described(is)}`;
  const [one, other] = [parsed(is), parsed(should)];
  return Object.keys(other)
    .filter((name) => one[name] !== other[name])
    .map((name) => `${name} is ${one[name]}, the log gives ${other[name]}`)
    .join("; ");
};

/** Creates temporary views, for the session of `sql` only. */
export const showThePast = async (sql: Sql): Promise<void> => {
  await sql`select set_config(${BEFORE_SETTING}, '0', true)`;
  const stored = ledgerPipelines.flatMap(({ tables, sharedTables = [] }) => [
    ...tables,
    ...sharedTables,
  ]);
  for (const { table, before } of new Set(stored)) {
    if (before === null) continue;
    await sql.unsafe(`create temporary view ${getTableName(table)} as ${before}`);
  }
};

/**
 * The rows a pipeline derives from a checkpoint's facts, given its tables before that checkpoint.
 * Requires `showThePast` in the same transaction.
 * @throws UndecodableFactError (stop)
 */
const expectedLines = async (
  tx: Db,
  pipeline: Pipeline,
  checkpoint: bigint,
): Promise<readonly DigestLine[]> => {
  const { sql } = tx;
  await sql`select set_config(${BEFORE_SETTING}, ${`${checkpoint}`}, true)`;
  const one = { from: checkpoint, upTo: checkpoint, maxFacts: 1, maxBytes: 1 };
  const batch = await readFacts(sql, { ...one, names: pipeline.facts });
  if (batch === null) return [];
  const facts = withoutLeftOut(batch.facts, await readLeftOut(sql, pipeline));
  const rows = await makeRows(pipeline, facts, within(tx));
  return rows.lines({ first: checkpoint, last: checkpoint });
};
