/** Whether a replay's rows still give the roots that were published, and the corrected ones where they do not. */
import type { Database, Sql } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { type ReplayPlace, tableNames } from "../../pipelines/replay/tables.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { CAP_TABLE_SOURCES } from "../../projections/cap-rows.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import type { WrongRoot } from "../sequence/root-corrections.ts";
import { publishRoots, tableRoots } from "../sequence/table-roots.ts";
import { createFindings } from "./findings.ts";
import { readIndexedMeta } from "./own-digests.ts";
import { reconcileRoots } from "./roots.ts";
import { tokenTypes } from "./sums.ts";

type Replayed = {
  readonly pipelines: readonly Pipeline[];
  readonly place: ReplayPlace;
  readonly signal: AbortSignal;
  /** Compares every root: the rows may have changed without a replay. */
  readonly all: boolean;
};

export type ContradictedRoots = {
  /** One line each, the first hundred. */
  readonly lines: readonly string[];
  /** All that a correction can put right. */
  readonly wrong: readonly WrongRoot[];
  /** Number of those that none can. */
  readonly others: number;
  /** The sequence's next entry then, and each token's first differing checkpoint. */
  readonly next: bigint;
  readonly first: ReadonlyMap<string, bigint>;
};

/**
 * A root of differing rows was published, or one corrected, while the rows were compared, ten times in a row. The served
 * rows stay. Retry: give the command again.
 */
export class RootPublishedError extends Error {
  override readonly name = "RootPublishedError";
  readonly remedy: Remedy = "retry";

  constructor(number: bigint) {
    super(
      `entry ${number} published a root of rows that differ, or corrected one, while they were compared, so the former rows stay; give this command again`,
    );
  }
}

/**
 * Keeps the sequence as it is until the transaction ends: an exchange tries again if another has it, since readers wait.
 * @throws RootPublishedError (retry)
 */
export const assertNoneSince = async (
  sql: Sql,
  { next, first }: ContradictedRoots,
): Promise<void> => {
  await sql`select from log_sequence_head for update`;
  const rows = await sql<
    { number: bigint; coinType: string; checkpoint: bigint; isCorrection: boolean }[]
  >`
    select number, coin_type as "coinType", checkpoint, kind like 'corrected%' as "isCorrection"
    from coin_entries where kind <> 'coin' and number >= ${next}`;
  for (const { number, coinType, checkpoint, isCorrection } of rows) {
    const from = first.get(coinType);
    // Another pipeline's replay may have corrected a root by the tables that this one exchanges.
    if (isCorrection || (from !== undefined && checkpoint >= from)) {
      throw new RootPublishedError(number);
    }
  }
};

/**
 * Published roots that the replayed rows contradict. Every root from a token's first differing row on is compared;
 * the replayed rows give the same cap tables before, so of earlier ones only some are, as by `reconcile`.
 */
export const contradictedRoots = async (
  database: Database,
  { pipelines, place, signal, all }: Replayed,
): Promise<ContradictedRoots> => {
  await using session = await database.session();
  // Temporary views come before tables: the replay's rows of these pipelines, the served ones of others.
  for (const name of tableNames(pipelines)) {
    await session.sql.unsafe(`create temp view ${name} as select * from ${place}.${name}`);
  }
  return await session.transaction(async (tx) => {
    await beginSnapshot(tx);
    const meta = await readIndexedMeta(tx);
    const from = meta.historyCheckpoint ?? meta.firstCheckpoint ?? 0n;
    const range = { chainId: meta.chainId, from, through: meta.last };
    const [head] = await tx.sql<{ next: bigint }[]>`select next from log_sequence_head`;
    const next = head?.next ?? 0n;
    const first = await firstDifferences(tx.sql, place, tableNames(pipelines));
    const found = createFindings();
    const wrong: WrongRoot[] = [];
    let others = 0;
    for (const coinType of await tokenTypes(tx.sql)) {
      signal.throwIfAborted();
      const allFrom = all ? 0n : first.get(coinType);
      await reconcileRoots(tx, coinType, { ...range, allFrom }, (each) => {
        found.add(each.what);
        if (each.wrong === null) others += 1;
        else wrong.push(each.wrong);
      });
    }
    return { lines: found.lines, wrong, others, next, first };
  });
};

/** By token: the first checkpoint at which a row of the replay or of the served tables has no equal there. */
const firstDifferences = async (
  sql: Sql,
  place: ReplayPlace,
  names: readonly string[],
): Promise<ReadonlyMap<string, bigint>> => {
  const first = new Map<string, bigint>();
  for (const [table, at] of Object.entries(CAP_TABLE_SOURCES)) {
    if (!names.includes(table)) continue;
    const columns = await sql<{ name: string }[]>`
      select quote_ident(column_name) as name from information_schema.columns
      where table_schema = 'public' and table_name = ${table}`;
    const all = columns.map(({ name }) => name).join(", ");
    const side = (schema: string) => `select ${all} from ${schema}.${table}`;
    const rows = await sql.unsafe<{ coinType: string; checkpoint: bigint }[]>(`
      select coin_type as "coinType", min(${at})::int8 as checkpoint
      from ((${side("public")} except all ${side(place)}) union all
            (${side(place)} except all ${side("public")})) as differing
      group by coin_type`);
    for (const { coinType, checkpoint } of rows) {
      const known = first.get(coinType);
      if (known === undefined || checkpoint < known) first.set(coinType, checkpoint);
    }
  }
  return first;
};

/**
 * Publishes corrected roots of rows that are served now; statements would do so one by one.
 * @throws RootConflictError (stop)
 */
export const publishCorrected = async (
  database: Database,
  key: DeploymentKey,
  wrong: readonly WrongRoot[],
  signal: AbortSignal,
): Promise<void> => {
  const { chainId } = await readIndexedMeta(database.db);
  const places = new Map(wrong.map((one) => [`${one.coinType} ${one.checkpoint}`, one]));
  for (const { coinType, checkpoint } of places.values()) {
    signal.throwIfAborted();
    const mark = await checkpointMark(database.db, BigInt(checkpoint));
    if (mark === null || chainId === null) continue;
    const [coin] = await database.sql<{ decimals: number | null }[]>`
      select decimals from log_coins where coin_type = ${coinType}`;
    const table = { coinType, decimals: coin?.decimals ?? null, mark, totalSupply: null };
    const roots = await tableRoots(database, chainId, table);
    await database.transaction(({ sql }) => publishRoots(sql, key, roots));
  }
};
