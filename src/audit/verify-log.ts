/** Holds the whole log against its hash chain and the heads that were signed, and names the facts that do not fit. */
import type { Sql } from "../database/connect.ts";
import { columnsByKey } from "../database/table-rows.ts";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { createCheckpointReader } from "../ledger/reading/read.ts";
import { rowOf } from "../log/append.ts";
import { chainEnd, type LogFault } from "../log/chain.ts";
import { checkStretch, gapFault } from "../log/check-chain.ts";
import { logFacts } from "../log/tables.ts";
import { headFault, type LogHead, signedHeads } from "./log-heads.ts";

export type VerifiedLog = {
  /** Everything up to here was looked at. */
  readonly through: bigint;
  readonly facts: number;
  /** Last checkpoint with facts that the chain covers; null before it was begun. */
  readonly chainedThrough: bigint | null;
  /** The newest head that was signed. */
  readonly head: LogHead | null;
  /** By checkpoint, the first ones; empty when the log is whole. */
  readonly faults: readonly LogFault[];
};

/** A log that was changed all over need not be told checkpoint by checkpoint. */
const MOST_FAULTS = 20;

/** Reads the whole log, a stretch at a time; a service may append to it meanwhile. */
export const verifyLog = async (sql: Sql, signal: AbortSignal): Promise<VerifiedLog> => {
  const faults: LogFault[] = [];
  let through = -1n;
  let facts = 0;
  while (faults.length < MOST_FAULTS) {
    signal.throwIfAborted();
    const checked = await checkStretch(sql, through);
    ({ through } = checked);
    facts += checked.facts;
    // Each link is held against the stored one before it: behind a fault the rest is looked at, too.
    if (checked.fault !== null) faults.push(checked.fault);
    else if (checked.ended) break;
  }
  for (const look of [gapFault, headFault]) {
    const fault = await look(sql);
    if (fault !== null) faults.push(fault);
  }
  const { checkpoint } = await chainEnd(sql);
  const [head = null] = await signedHeads(sql, 1);
  return { through, facts, chainedThrough: checkpoint < 0n ? null : checkpoint, head, faults };
};

type FactRow = ReturnType<typeof rowOf>;

const STORED = `select ${columnsByKey(logFacts)} from log_facts where checkpoint = $1`;

/** Texts that are equal where the columns are. */
const shown = (value: FactRow[keyof FactRow] | string): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : `${value}`;

const nameOf = ({ kind, transaction, index, txDigest, name }: FactRow): string =>
  `${kind === 0 ? "event" : "object"} ${name} of transaction ${transaction} (${txDigest}), index ${index}`;

const placeOf = ({ transaction, kind, index }: FactRow): string =>
  `${transaction} ${kind} ${index}`;

/** Longer ones are named by their beginning. */
const LONGEST_VALUE = 80;

const cut = (text: string): string =>
  text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;

/**
 * Where the log's facts of a checkpoint are not those that its bytes have.
 * @param raw the checkpoint, from a source that is believed
 * @param packages those whose facts the log keeps
 */
export const wrongFacts = async (
  sql: Sql,
  raw: RawCheckpoint,
  packages: readonly string[],
): Promise<readonly string[]> => {
  const { mark, facts } = createCheckpointReader(packages)(raw);
  const rows = await sql.unsafe<FactRow[]>(STORED, [`${mark.sequence}`]);
  const stored = new Map(rows.map((row) => [placeOf(row), row]));
  const wrong: string[] = [];
  for (const fact of facts) {
    const read = rowOf(fact);
    const kept = stored.get(placeOf(read));
    stored.delete(placeOf(read));
    if (kept === undefined) {
      wrong.push(`${nameOf(read)}: missing in log_facts`);
      continue;
    }
    for (const column of Object.keys(read) as (keyof FactRow)[]) {
      const [is, should] = [shown(kept[column]), shown(read[column])];
      if (is === should) continue;
      wrong.push(`${nameOf(read)}: ${column} is ${cut(is)}, the ledger has ${cut(should)}`);
    }
  }
  for (const row of stored.values()) wrong.push(`${nameOf(row)}: added, the ledger has none`);
  const [mine] = await sql<{ digest: string; timestampMs: bigint }[]>`
    select digest, timestamp_ms as "timestampMs" from log_checkpoints where checkpoint = ${mark.sequence}`;
  if (mine !== undefined && mine.digest !== mark.digest) {
    wrong.push(`log_checkpoints: digest is ${mine.digest}, the ledger has ${mark.digest}`);
  }
  if (mine !== undefined && mine.timestampMs !== mark.timestampMs) {
    wrong.push(
      `log_checkpoints: timestamp_ms is ${mine.timestampMs}, the ledger has ${mark.timestampMs}`,
    );
  }
  return wrong;
};
