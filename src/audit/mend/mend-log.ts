/**
 * Mends damaged rows of the log: reads their checkpoints again, proven by the validators' signatures, and replaces what
 * differs, in one transaction that also records each replacement as an operator's act. It commits only if the rows
 * then fit the hash chains on both sides, and everything that was signed about them.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type Blocker, lockingBriefly } from "../../database/brief-locks.ts";
import type { Session, Sql, Tx } from "../../database/connect.ts";
import type { Row } from "../../database/table-rows.ts";
import type { ReadCheckpoint } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { checkStretch } from "../../log/check-chain.ts";
import { requireFacts } from "../../log/facts-archived.ts";
import { type CheckpointRange, guidedRanges } from "../../log/guided.ts";
import { proofOf } from "../../log/proofs.ts";
import {
  logBlockChain,
  logBlocks,
  logChain,
  logCheckpoints,
  logCoinChain,
  logFacts,
  logInputChain,
  logInputs,
  logPackages,
} from "../../log/tables.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { discardRun } from "../../pipelines/replay/tables.ts";
import { recordAct } from "../sequence/acts.ts";
import { asLogged } from "../verify/as-logged.ts";
import { type LogRange, logRange } from "../verify/blocks-and-packages.ts";
import { readProof } from "../verify/check-proofs.ts";
import type { SourceSignatures } from "../verify/source-signatures.ts";
import {
  type BlockRegion,
  blockChanges,
  dueIn,
  regionFault,
  regionOf,
  strayLinks,
  strayProofs,
} from "./block-rows.ts";
import { checkpointChanges } from "./checkpoint-rows.ts";
import { readAgain } from "./read-again.ts";
import { MendRefusedError } from "./refused.ts";
import { type Change, nameOf, replaceRows, rowsHash } from "./rows.ts";
import { signedFault } from "./signed.ts";

/** What may be mended: append-only tables, all of whose rows follow from the ledger. */
const MENDED: readonly PgTable[] = [
  logFacts,
  logCheckpoints,
  logBlocks,
  logPackages,
  logInputs,
  logChain,
  logCoinChain,
  logBlockChain,
  logInputChain,
];

/** Checkpoints in one transaction at most. */
export const MOST_MENDED = 200;

/** Limit on checkpoints of one damaged region of `log_blocks`; beyond it, index the ledger into an empty database. */
const MOST_OF_BLOCKS = 65_536n;

export type Mending = {
  /** Of the tables' owner. */
  readonly on: Pick<Session, "transaction" | "sql">;
  readonly source: CheckpointSource;
  /** As the act names it, without an address. */
  readonly sourceKind: string;
  readonly signatures: SourceSignatures;
  /** Checkpoints whose rows do not fit the chain, at most `MOST_MENDED`. */
  readonly rowsAt: readonly bigint[];
  /** Checkpoints whose times or digests do not fit the chain. */
  readonly blocksAt: readonly bigint[];
  /** Who mends, and why: published. */
  readonly by: string;
  readonly because: string;
  readonly signal: AbortSignal;
  readonly onBlocked: (blockers: readonly Blocker[]) => void;
};

/**
 * @returns the replaced rows; none where all are as the ledger gives them
 * @throws MendRefusedError (stop), and errors of the source
 */
export const mendLog = async (mending: Mending): Promise<readonly Change[]> => {
  const { on, source, signatures, signal, onBlocked } = mending;
  for (const checkpoint of [...mending.rowsAt, ...mending.blocksAt]) {
    await requireFacts(on.sql, checkpoint);
  }
  const range = await logRange(on.sql);
  const own = await source.chainId(signal);
  if (own !== null && own !== range.chainId) {
    throw new MendRefusedError(
      `${source.description} is of chain ${own}, but the log of chain ${range.chainId}`,
    );
  }
  const inLog = (checkpoint: bigint) => checkpoint >= range.first && checkpoint < range.next;
  const rowsAt = ascending(new Set([...mending.rowsAt, ...mending.blocksAt])).filter(inLog);
  const strays = [...(await strayLinks(on.sql)), ...(await strayProofs(on.sql))];
  const regions = await regionsOf(on.sql, [...mending.blocksAt, ...strays], range);
  const due: BlockRegion[] = [];
  for (const region of regions) due.push(...(await dueIn(on.sql, region)));
  assertFew(due);
  const isMended = (checkpoint: bigint) =>
    due.some(({ from, to }) => checkpoint >= from && checkpoint < to);
  const reads = new Map<bigint, ReadCheckpoint>();
  const needed = new Set(rowsAt);
  const guided = await guidedRanges(on);
  for (const part of rangesOf(rowsAt, due, range, guided)) {
    const again = await readAgain({ sql: on.sql, source, signatures, needed, signal }, part);
    const read = await asLogged(on.sql, again);
    await assertFits(on.sql, read, isMended, source);
    for (const one of read) reads.set(one.mark.sequence, one);
  }
  const names = ["log_high_water", ...MENDED.map(getTableName)];
  return await lockingBriefly({ on, names, signal, onBlocked }, (tx) =>
    mendIn(tx, mending, { rowsAt, regions, reads }),
  );
};

const ascending = (checkpoints: Iterable<bigint>): readonly bigint[] =>
  [...checkpoints].sort((a, b) => (a < b ? -1 : 1));

const regionsOf = async (
  sql: Sql,
  blocksAt: readonly bigint[],
  range: LogRange,
): Promise<readonly BlockRegion[]> => {
  const regions: BlockRegion[] = [];
  for (const checkpoint of ascending(blocksAt)) {
    const last = regions.at(-1);
    if (last !== undefined && checkpoint < last.to) continue;
    regions.push(await regionOf(sql, checkpoint, range));
  }
  return regions;
};

/** @throws MendRefusedError (stop) */
const assertFew = (due: readonly BlockRegion[]): void => {
  const count = due.reduce((sum, { from, to }) => sum + (to - from), 0n);
  if (count <= MOST_OF_BLOCKS) return;
  throw new MendRefusedError(
    `the times and digests of ${count} checkpoints are wrong, more than the ${MOST_OF_BLOCKS} that are mended at once: restore a backup, or index the chain into an empty database`,
  );
};

/** Checkpoints between two ranges that are read, too: a source begins slower than it goes on. */
const NEAR = 32n;

/**
 * What has to be read, with the checkpoint on each side, which has to fit the log; not where the log
 * was read guided, as each checkpoint has a proof of its own there.
 */
const rangesOf = (
  rowsAt: readonly bigint[],
  due: readonly BlockRegion[],
  { first, next }: LogRange,
  guided: readonly CheckpointRange[],
) => {
  const isGuided = (at: bigint) => guided.some((range) => range.first <= at && range.last >= at);
  const wanted = [
    ...rowsAt.map((checkpoint) => ({ from: checkpoint, to: checkpoint + 1n })),
    ...due.filter(({ from }) => from >= first),
  ].sort((a, b) => (a.from < b.from ? -1 : 1));
  const ranges: { first: bigint; last: bigint }[] = [];
  for (const { from, to } of wanted) {
    const hasBefore = from > first && !isGuided(from - 1n);
    const hasAfter = to < next && !isGuided(to - 1n);
    const [begin, end] = [hasBefore ? from - 1n : from, hasAfter ? to : to - 1n];
    const before = ranges.at(-1);
    const near = isGuided(begin) ? 1n : NEAR;
    if (before === undefined || begin > before.last + near) {
      ranges.push({ first: begin, last: end });
    } else if (end > before.last) before.last = end;
  }
  return ranges;
};

/**
 * Checkpoints beside those that are mended have to be the log's. The last one read anchors all before it, which it
 * names by their digests: a row that is intact has to have its digest.
 */
const assertFits = async (
  sql: Sql,
  read: readonly ReadCheckpoint[],
  isMended: (checkpoint: bigint) => boolean,
  { description }: CheckpointSource,
): Promise<void> => {
  for (const { mark } of read) {
    const { sequence, digest } = mark;
    if (isMended(sequence)) continue;
    const stored = await checkpointMark({ sql }, sequence);
    if (stored === null || stored.digest === digest) continue;
    throw new MendRefusedError(
      `${description} has checkpoint ${sequence} with digest ${digest}, but the log, which is intact there, has ${stored.digest}: this is another chain`,
    );
  }
  const last = read.at(-1)?.mark;
  if (last === undefined) return;
  const known = await digestsOf(sql, last.sequence);
  if (known.includes(last.digest)) return;
  throw new MendRefusedError(
    `${description} has checkpoint ${last.sequence} with digest ${last.digest}, but the log has ${known.join(" and ") || "none"}: nothing in the log shows that this is its chain`,
  );
};

/** Digests of a checkpoint that tables of the log have. */
const digestsOf = async (sql: Sql, checkpoint: bigint): Promise<readonly string[]> => {
  const mark = await checkpointMark({ sql }, checkpoint);
  const rows = await sql<{ digest: string }[]>`
    select digest from log_checkpoints where checkpoint = ${checkpoint}
    union all
    select last_digest from log_high_water where last_checkpoint = ${checkpoint}`;
  const proof = await proofOf({ sql }, checkpoint);
  const proven = proof?.lastCheckpoint === checkpoint ? readProof(proof) : null;
  if (proven !== null && typeof proven !== "string") rows.push({ digest: proven.header.digest });
  const stored = rows.map(({ digest }) => digest);
  return [...new Set(mark === null ? stored : [mark.digest, ...stored])];
};

type Found = {
  readonly rowsAt: readonly bigint[];
  readonly regions: readonly BlockRegion[];
  readonly reads: ReadonlyMap<bigint, ReadCheckpoint>;
};

const mendIn = async (tx: Tx, mending: Mending, { rowsAt, regions, reads }: Found) => {
  const { sql } = tx;
  // Appends wait for this row, and so take no lock that this one waits for.
  await sql`lock table log_high_water in share row exclusive mode`;
  const triggers = await switchOff(sql);
  const changes: Change[] = [];
  for (const region of regions) {
    const marks = [];
    for (let at = region.from; at < region.to; at += 1n) {
      const read = reads.get(at);
      if (read !== undefined) marks.push(read.mark);
    }
    const found = await blockChanges(sql, region, marks);
    await replaceRows(sql, found);
    changes.push(...found);
  }
  for (const checkpoint of rowsAt) {
    const read = reads.get(checkpoint);
    if (read === undefined) throw new Error(`checkpoint ${checkpoint} was not read again`);
    const found = await checkpointChanges(sql, read);
    await replaceRows(sql, found);
    changes.push(...found);
  }
  for (const statement of triggers) await sql.unsafe(statement);
  if (changes.length === 0) return changes;
  await assertChained(sql, mending, { rowsAt, regions }, changes);
  // A replay that was ended would go on after the damaged facts that it has read.
  const read = ledgerPipelines.filter(({ facts }) => changes.some((one) => isNamed(one, facts)));
  if (read.length > 0) await discardRun(sql, read);
  for (const own of Map.groupBy(
    changes,
    ({ table, checkpoint }) => `${getTableName(table)} ${checkpoint}`,
  ).values()) {
    await recordAct(sql, actOf(own, mending));
  }
  return changes;
};

/** Whether a fact of one of these names was mended. */
const isNamed = ({ table, former, mended }: Change, names: readonly string[]): boolean =>
  table === logFacts && [former, mended].some((row) => names.includes(`${row?.name}`));

/** Switches the triggers of append-only tables off; returns the statements that switch them on. */
const switchOff = async (sql: Sql): Promise<readonly string[]> => {
  const triggers = await sql<{ name: string; trigger: string }[]>`
    select c.oid::regclass::text as name, quote_ident(tgname) as trigger
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where tgfoid = to_regproc('public.log_refuse_change') and tgenabled = 'O'
      and c.oid = any(array(select to_regclass(n)::oid from unnest(${`{${MENDED.map(getTableName)}}`}::text[]) n))`;
  for (const { name, trigger } of triggers) {
    await sql.unsafe(`alter table ${name} disable trigger ${trigger}`);
  }
  return triggers.map(({ name, trigger }) => `alter table ${name} enable trigger ${trigger}`);
};

/**
 * Whether the mended rows fit their chains and the links after them, and heads and entries that were signed.
 * @throws MendRefusedError (stop)
 */
const assertChained = async (
  sql: Sql,
  { source, signal }: Mending,
  { rowsAt, regions }: Pick<Found, "rowsAt" | "regions">,
  changes: readonly Change[],
): Promise<void> => {
  const refuse = (checkpoint: bigint, what: string): never => {
    throw new MendRefusedError(
      `with checkpoint ${checkpoint} as ${source.description} gives it, the log would contradict itself: ${what}. Rows that are intact say otherwise: the source lies, or more of the log was rewritten than can be mended`,
    );
  };
  for (const region of regions) {
    const what = await regionFault(sql, region);
    if (what !== null) refuse(region.from, what);
  }
  for (const checkpoint of ascending(new Set([...rowsAt, ...(await linksAfter(sql, changes))]))) {
    signal.throwIfAborted();
    const { fault } = await checkStretch(sql, checkpoint - 1n);
    if (fault?.checkpoint === checkpoint) refuse(checkpoint, fault.what);
  }
  const relinkedIn = (table: PgTable) =>
    changes.flatMap((change) => (change.table === table ? [change.checkpoint] : []));
  const relinked = {
    facts: relinkedIn(logChain),
    coins: relinkedIn(logCoinChain),
    inputs: relinkedIn(logInputChain),
    blocks: relinkedIn(logBlockChain),
  };
  const signed = await signedFault(sql, relinked, signal);
  if (signed !== null) refuse(signed.checkpoint, signed.what);
};

/** `regionFault` checks the block after a region. */
const LINKS: readonly PgTable[] = [logChain, logCoinChain, logInputChain];

/** Checkpoints of the links that follow those that were replaced. */
const linksAfter = async (sql: Sql, changes: readonly Change[]): Promise<readonly bigint[]> => {
  const after: bigint[] = [];
  for (const { table, checkpoint, former, mended } of changes) {
    if (!LINKS.includes(table)) continue;
    const coinType: Row[string] = (mended ?? former)?.coinType;
    const own = table === logCoinChain ? sql`and coin_type = ${`${coinType}`}` : sql``;
    const [row] = await sql<{ checkpoint: bigint }[]>`
      select checkpoint from ${sql(getTableName(table))}
      where checkpoint > ${checkpoint} ${own} order by checkpoint limit 1`;
    if (row !== undefined) after.push(row.checkpoint);
  }
  return after;
};

/** Rows that an act names at most. */
const MOST_NAMED = 30;

/** The act about the rows of one table at one checkpoint: in every pack, so it names no coin. */
const actOf = (changes: readonly Change[], { by, because, sourceKind }: Mending) => {
  const [first] = changes;
  if (first === undefined) throw new Error("an act about no row");
  const { table, checkpoint } = first;
  const named = changes.slice(0, MOST_NAMED).map(nameOf);
  const more = changes.length - named.length;
  const hashOf = (rows: readonly (Row | null)[]) => {
    const present = rows.filter((row) => row !== null);
    return present.length === 0 ? null : rowsHash(table, present);
  };
  return {
    command: "verify",
    details: {
      mend: true,
      table: getTableName(table),
      checkpoint: `${checkpoint}`,
      rows: [...named, ...(more > 0 ? [`${more} more`] : [])].join(", "),
      former: hashOf(changes.map(({ former }) => former)),
      mended: hashOf(changes.map(({ mended }) => mended)),
      source: sourceKind,
      verified: "signatures",
      by,
      because,
    },
    on: "deployment",
  } as const;
};
