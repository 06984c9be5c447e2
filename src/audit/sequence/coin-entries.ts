/**
 * Entries of the deployment's sequence about a token at a checkpoint: the root (version 2) of its cap table,
 * and the end of its chain of facts. What was said once is never said otherwise.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import { coinEnds, LogChangedError, NO_FACTS } from "../../log/chain.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import {
  appendEntry,
  type EntryBody,
  entriesAt,
  lockSequence,
  logSince,
  type SequenceEntry,
  textIn,
} from "./sequence.ts";

/** Which entries: of a kind (`root1`: roots of version 1), a token and a checkpoint. */
export type Of = {
  readonly kind: "root" | "root1" | "coin";
  readonly coinType: string;
  readonly checkpoint: bigint;
};

/** Entries before this one are about a log that another has taken the place of. */
const sinceOf = async (sql: Sql, kind: Of["kind"]): Promise<bigint> =>
  kind === "coin" ? logSince(sql) : -1n;

/** The newest such entry; undefined when there is none. */
export const coinEntry = async (
  sql: Sql,
  { kind, coinType, checkpoint }: Of,
): Promise<SequenceEntry | undefined> => {
  const [row] = await sql<{ number: bigint }[]>`
    select number from coin_entries
    where kind = ${kind} and coin_type = ${coinType} and checkpoint = ${checkpoint}
      and number > ${await sinceOf(sql, kind)}
    order by number desc limit 1`;
  return row && (await entriesAt({ sql }, [row.number])).get(row.number);
};

/** The newest entry about a token, of the highest checkpoint up to this one; undefined when there is none. */
export const lastCoinEntry = async (
  sql: Sql,
  { kind, coinType, checkpoint }: Of,
): Promise<SequenceEntry | undefined> => {
  const [row] = await sql<{ number: bigint }[]>`
    select number from coin_entries
    where kind = ${kind} and coin_type = ${coinType} and checkpoint <= ${checkpoint}
      and number > ${await sinceOf(sql, kind)}
    order by checkpoint desc, number desc limit 1`;
  return row && (await entriesAt({ sql }, [row.number])).get(row.number);
};

/** Entries about a token, one a checkpoint (the newest), the highest checkpoint first: below `before` where given. */
export const coinEntries = async (
  on: Reads,
  query: Omit<Of, "checkpoint"> & {
    readonly before?: bigint | undefined;
    /** This one alone. */
    readonly checkpoint?: bigint | undefined;
    readonly limit: number;
  },
): Promise<readonly SequenceEntry[]> => {
  const rows = await read<{ number: bigint }>(on, NUMBERS, [
    query.kind,
    query.coinType,
    query.before ?? null,
    query.checkpoint ?? null,
    query.limit,
  ]);
  const entries = await entriesAt(
    on,
    rows.map(({ number }) => number),
  );
  return rows.flatMap(({ number }) => entries.get(number) ?? []);
};

const NUMBERS = `
  select max(number) as number from coin_entries e
  where kind = $1 and coin_type = $2 and ($3::int8 is null or e.checkpoint < $3)
    and ($4::int8 is null or e.checkpoint = $4)
  group by e.checkpoint order by e.checkpoint desc limit (select $5::int8)`;

/**
 * Appends an entry, unless this key has appended the same one before; returns that entry.
 * @param sql of a transaction
 * @param contradicted the error for one that says something else than was said before
 */
export const appendOnce = async (
  sql: Sql,
  key: DeploymentKey,
  of: Of,
  body: EntryBody,
  contradicted: (before: EntryBody) => Error,
): Promise<SequenceEntry> => {
  const find = async () => {
    const before = await coinEntry(sql, of);
    if (before !== undefined && canonicalJson(before.body) !== canonicalJson(body)) {
      throw contradicted(before.body);
    }
    return before?.keyId === key.keyId ? before : undefined;
  };
  const known = await find();
  if (known !== undefined) return known;
  // Two at once would both have found none.
  await lockSequence(sql);
  const appended = await find();
  if (appended !== undefined) return appended;
  const entry = await appendEntry(sql, key, of.kind === "coin" ? "coin" : "root", body);
  await sql`
    insert into coin_entries (kind, coin_type, checkpoint, number)
    values (${of.kind}, ${of.coinType}, ${of.checkpoint}, ${entry.number})`;
  return entry;
};

/** Where a coin's chain stood when a checkpoint had ended. */
export type CoinEnd = {
  readonly chainId: string;
  readonly coinType: string;
  /** Through here the coin has no further facts. */
  readonly checkpoint: bigint;
};

/**
 * Publishes where the chain of a coin's facts stands at the end of a checkpoint: body `{ chainId, coinType,
 * checkpoint, facts, hash }` with the number of its facts up to and with `checkpoint`, and the hash of the last
 * of its checkpoints (32 zero bytes without facts). `checkpoint` is the one asked for, whether or not the coin
 * has facts in it: behind the last link there is nothing through there.
 *
 * @param sql of a transaction
 * @param end of a checkpoint that is in the log
 * @throws LogChangedError (stop) when the chain contradicts what was published of it; nothing is signed then
 */
export const publishCoinEnd = async (
  sql: Sql,
  key: DeploymentKey,
  { chainId, coinType, checkpoint }: CoinEnd,
): Promise<SequenceEntry> => {
  const before = await lastCoinEntry(sql, { kind: "coin", coinType, checkpoint });
  if (before !== undefined) await holdAgainst(sql, coinType, before);
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  const body = { chainId, coinType, checkpoint: `${checkpoint}`, facts, hash };
  return appendOnce(sql, key, { kind: "coin", coinType, checkpoint }, body, () =>
    changed(coinType, checkpoint),
  );
};

const holdAgainst = async (sql: Sql, coinType: string, { body }: SequenceEntry): Promise<void> => {
  const checkpoint = BigInt(textIn(body, "checkpoint"));
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  if (facts !== body.facts || hash !== body.hash) throw changed(coinType, checkpoint);
};

const changed = (coinType: string, checkpoint: bigint) =>
  new LogChangedError({
    checkpoint,
    what: `log_coin_chain has another end for ${coinType} than the one that was signed in the sequence: facts of it were changed, and the chain made anew`,
  });

/** The last link of a coin up to a checkpoint, as an entry has it. */
const linkAt = async (
  sql: Sql,
  coinType: string,
  checkpoint: bigint,
): Promise<{ readonly facts: string; readonly hash: string }> => {
  const end = (await coinEnds(sql, [coinType], checkpoint)).get(coinType) ?? NO_FACTS;
  return { facts: `${end.facts}`, hash: Buffer.from(end.hash).toString("hex") };
};
