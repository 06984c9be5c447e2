import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import type { CheckpointMark } from "./fact.ts";
import { ChainMismatchError, PackagesChangedError, UnmetPackagesError } from "./log-errors.ts";
import { KNOWN_PACKAGES } from "./packages.ts";

/** How far the log is complete. */
export type HighWater = {
  /** Null until a source provides it. */
  readonly chainId: string | null;
  /** Contract packages whose facts are kept: original first, in order of joining. */
  readonly packages: readonly string[];
  readonly firstCheckpoint: bigint;
  /** All checkpoints from the first up to this one, excluded, are in the log. */
  readonly nextCheckpoint: bigint;
  /** The last appended checkpoint; null before the first. */
  readonly last: CheckpointMark | null;
};

/** Identity of what a reader will append. */
export type LogIdentity = {
  /** Null when the source cannot provide it. */
  readonly chainId: string | null;
  /** Canonical, original first; a begun log has the same original and knows the others. */
  readonly packages: readonly string[];
  /** First checkpoint of an empty log, 0 by default; ignored by a begun one. */
  readonly firstCheckpoint?: bigint | undefined;
  /** Advice in the error on another chain, if not to use another database. */
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

/** The high-water mark; undefined when no reader has opened the log. */
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

export const markOf = (
  sequence: bigint | null,
  digest: string | null,
  timestampMs: bigint | null,
): CheckpointMark | null =>
  sequence === null || digest === null || timestampMs === null
    ? null
    : { sequence, digest, timestampMs };

/**
 * Begins an empty log, or checks the identity of a begun one. Keeps a chain id given for the first
 * time.
 * @throws ChainMismatchError, PackagesChangedError, UnmetPackagesError (all stop)
 */
export const claimHighWater = async (sql: Sql, identity: LogIdentity): Promise<HighWater> => {
  const { chainId, firstCheckpoint = 0n } = identity;
  await sql`
    insert into log_high_water (chain_id, packages, first_checkpoint, next_checkpoint, inputs_from)
    values (${chainId}, ${texts(identity.packages)}::text[], ${firstCheckpoint}, ${firstCheckpoint},
            ${firstCheckpoint})
    on conflict (id) do nothing`;
  // Stored before comparing: of two readers with different ids, one must lose.
  await sql`
    update log_high_water set chain_id = ${chainId}
    where chain_id is null and ${chainId}::text is not null`;
  const stored = await readHighWater(sql);
  if (stored === undefined) throw new Error("log_high_water lost its row");
  checkIdentity(stored, identity);
  return stored;
};

/**
 * Checks an identity against a begun log.
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
