import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import type { CheckpointMark } from "./fact.ts";
import { ChainMismatchError, PackagesChangedError, UnmetPackagesError } from "./log-errors.ts";
import { KNOWN_PACKAGES } from "./packages.ts";

/** How far the log is complete, and of what. */
export type HighWater = {
  /** Null until a source could tell. */
  readonly chainId: string | null;
  /** Contract packages whose facts are kept, original first, in the order in which they came to the log. */
  readonly packages: readonly string[];
  readonly firstCheckpoint: bigint;
  /** Every checkpoint from the first up to, not including, this one has its facts in the log. */
  readonly nextCheckpoint: bigint;
  /** The last appended checkpoint; null before the first. */
  readonly last: CheckpointMark | null;
};

/** What a reader says it will append. */
export type LogIdentity = {
  /** Null when the source cannot know. */
  readonly chainId: string | null;
  /**
   * Canonical addresses, original first: what an empty log is begun with. One that has begun must have the
   * same original and know the others; it may know more.
   */
  readonly packages: readonly string[];
  /** Where an empty log starts; absent: at 0. A log that has begun keeps its own. */
  readonly firstCheckpoint?: bigint | undefined;
  /** What to do about a log of another chain, where that is more than to use another database. */
  readonly ifOtherChain?: string | undefined;
};

type Row = {
  chain_id: string | null;
  packages: string[];
  first_checkpoint: bigint;
  next_checkpoint: bigint;
  last_checkpoint: bigint | null;
  last_digest: string | null;
  last_timestamp_ms: bigint | null;
};

/** The high-water mark; undefined when no reader ever opened the log. */
export const readHighWater = async (sql: Sql): Promise<HighWater | undefined> => {
  const [row] = await sql<Row[]>`
    select chain_id, to_jsonb(${sql.unsafe(KNOWN_PACKAGES)}) as packages, first_checkpoint, next_checkpoint,
           last_checkpoint, last_digest, last_timestamp_ms
    from log_high_water`;
  if (row === undefined) return undefined;
  return {
    chainId: row.chain_id,
    packages: row.packages,
    firstCheckpoint: row.first_checkpoint,
    nextCheckpoint: row.next_checkpoint,
    last: markOf(row.last_checkpoint, row.last_digest, row.last_timestamp_ms),
  };
};

/** Three columns that are null together, as one value. */
export const markOf = (
  sequence: bigint | null,
  digest: string | null,
  timestampMs: bigint | null,
): CheckpointMark | null =>
  sequence === null || digest === null || timestampMs === null
    ? null
    : { sequence, digest, timestampMs };

/**
 * Begins an empty log with this identity, or holds it against the one the log has. A chain id given
 * for the first time is kept.
 * @throws ChainMismatchError, PackagesChangedError, UnmetPackagesError (all stop)
 */
export const claimHighWater = async (sql: Sql, identity: LogIdentity): Promise<HighWater> => {
  const { chainId, firstCheckpoint = 0n } = identity;
  await sql`
    insert into log_high_water (chain_id, packages, first_checkpoint, next_checkpoint, inputs_from)
    values (${chainId}, ${texts(identity.packages)}::text[], ${firstCheckpoint}, ${firstCheckpoint},
            ${firstCheckpoint})
    on conflict (id) do nothing`;
  // Adopted before it is compared: of two readers that bring different ids, one must lose.
  await sql`
    update log_high_water set chain_id = ${chainId}
    where chain_id is null and ${chainId}::text is not null`;
  const stored = await readHighWater(sql);
  if (stored === undefined) throw new Error("log_high_water lost its row");
  checkIdentity(stored, identity);
  return stored;
};

/**
 * Holds what a reader would append against a log that has begun.
 * @throws ChainMismatchError, PackagesChangedError, UnmetPackagesError (all stop)
 */
export const checkIdentity = (
  stored: Pick<HighWater, "chainId" | "packages">,
  { chainId, packages, ifOtherChain }: LogIdentity,
): void => {
  if (chainId !== null && stored.chainId !== null && stored.chainId !== chainId) {
    throw new ChainMismatchError("the log", stored.chainId, chainId, ifOtherChain);
  }
  if (stored.packages[0] !== packages[0]) throw new PackagesChangedError(stored.packages, packages);
  const unmet = packages.filter((address) => !stored.packages.includes(address));
  if (unmet.length > 0) throw new UnmetPackagesError(stored.packages, unmet);
};
