/**
 * Brings archived facts back, the newest partition first and each in one transaction: they are copied into the empty
 * partition in their place, and committed once the files are verified against the log's chain.
 */
import { getTableName } from "drizzle-orm";
import { recordAct } from "../audit/sequence/acts.ts";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import type { Session, Sql } from "../database/connect.ts";
import { copyRows } from "../database/table-rows.ts";
import { rowOf } from "../log/append.ts";
import { type ArchivedPartition, archivedPartitions } from "../log/archived.ts";
import { partitionsOf } from "../log/partitions.ts";
import { logArchived, logFacts } from "../log/tables.ts";
import { highest } from "../values/bigints.ts";
import {
  ArchiveRefusedError,
  assertChained,
  endsAt,
  hasIn,
  manifestIn,
} from "./archived-places.ts";
import type { Manifest } from "./manifest.ts";
import { readChunks } from "./read-archive.ts";

export type Attaching = {
  /** Of the tables' owner. */
  readonly on: Pick<Session, "transaction" | "sql">;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onProgress: (next: bigint, of: bigint) => void;
};

/** Facts per statement. */
const ROWS_PER_COPY = 10_000;

/**
 * Attaches what the folder has, down to the first partition that it lacks.
 * @returns the partitions, newest first
 * @throws ArchiveDamagedError, ArchiveRefusedError (both stop)
 */
export const attachFacts = async (attaching: Attaching): Promise<readonly ArchivedPartition[]> => {
  const { on, folder } = attaching;
  const archived = (await archivedPartitions(on.sql)).toReversed();
  const [newest] = archived;
  if (newest === undefined) throw new ArchiveRefusedError("no facts of this log are archived");
  const { manifest, root } = await manifestIn(folder);
  const { first } = await logRange(on.sql);
  const has = ({ first: from, before }: ArchivedPartition) =>
    hasIn(manifest, highest(from, first), before);
  if (!has(newest)) {
    throw new ArchiveRefusedError(
      `${folder}: its archive does not have checkpoints ${newest.first} to ${newest.before - 1n}, the newest that are archived`,
    );
  }
  const attached: ArchivedPartition[] = [];
  for (const partition of archived) {
    if (!has(partition)) break;
    await on.transaction(async ({ sql }) => {
      await attachOne(sql, { ...attaching, manifest }, partition);
      const details = { from: `${partition.first}`, to: `${partition.before - 1n}`, root };
      await recordAct(sql, { command: "archive attach", details, on: "deployment" });
    });
    attached.push(partition);
  }
  return attached;
};

const attachOne = async (
  sql: Sql,
  { folder, manifest, signal, onProgress }: Attaching & { readonly manifest: Manifest },
  partition: ArchivedPartition,
): Promise<void> => {
  const { first, before, facts, hash, root } = partition;
  const partitions = await partitionsOf(sql);
  const table = partitions.find(({ from }) => from === first)?.name ?? getTableName(logFacts);
  const { ends, onLink } = endsAt(manifest, first, [before]);
  let copied = 0n;
  for await (const { file, batch } of readChunks(folder, manifest, {
    from: first,
    signal,
    onLink,
  })) {
    const own = batch.facts.filter(({ checkpoint }) => checkpoint >= first && checkpoint < before);
    for (let at = 0; at < own.length; at += ROWS_PER_COPY) {
      await copyRows(sql, table, logFacts, own.slice(at, at + ROWS_PER_COPY).map(rowOf));
    }
    copied += BigInt(own.length);
    onProgress(file.last + 1n, before);
    if (file.last >= before - 1n) break;
  }
  await assertChained(sql, folder, ends);
  if (copied !== facts) {
    throw new ArchiveRefusedError(
      `${folder}: it has ${copied} facts of checkpoints ${first} to ${before - 1n}, but ${facts} were archived`,
    );
  }
  await sql`
    insert into ${sql(getTableName(logArchived))} (event, first_checkpoint, before_checkpoint, facts, hash, root)
    values ('attached', ${first}, ${before}, ${facts}, ${hash}, ${root})`;
};
