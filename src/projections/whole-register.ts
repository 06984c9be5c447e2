/**
 * The register as of a checkpoint, and its movements, whole and in order, for files. Each list is one statement whose
 * rows stream, so the caller's snapshot lasts as long.
 */
import { getTableName } from "drizzle-orm";
import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import type { Parameter } from "../database/readers.ts";
import type { BalanceChange, ChangedPart } from "./balance-changes.ts";
import { type AtMark, type CapWallet, WALLET_ROWS } from "./cap-rows.ts";
import { type HeldIn, heldIn, heldInPipeline } from "./held-coins.ts";
import { COMPLETENESS, INCOMPLETE_HELD } from "./incomplete-coins.ts";
import { placeOf, positionsEnd } from "./position.ts";
import type { ProgressTables } from "./progress-tables.ts";
import type { TokenObject } from "./shared-token-objects.ts";
import { GRANT_COLUMNS, type GrantRow, grantOf, type TokenTimelock } from "./timelock-objects.ts";

/** Coins that lack facts at the end of a checkpoint or before, incomplete ones too. */
export const heldAt = async (
  sql: Sql,
  pipelines: readonly ProgressTables[],
  checkpoint: bigint,
): Promise<readonly HeldIn[]> => {
  const each = pipelines.map(
    ({ watermark }) =>
      `select pipeline, held::text as held from ${getTableName(watermark)} where held is not null`,
  );
  each.push(
    `select '${COMPLETENESS}', held::text from (select ${INCOMPLETE_HELD} as held) as incomplete where held is not null`,
  );
  const rows = await sql.unsafe<{ pipeline: string; held: string }[]>(each.join(" union all "));
  return rows
    .flatMap(({ pipeline, held }) => heldInPipeline(pipeline, heldIn(held)))
    .filter(({ from }) => from <= checkpoint);
};

const ROWS_PER_FETCH = 5_000;

async function* listed<Stored extends object, Row>(
  sql: Sql,
  text: string,
  given: Exclude<Parameter, bigint>[],
  rowOf: (stored: Stored) => Row,
): AsyncGenerator<readonly Row[]> {
  for await (const rows of sql.unsafe<Stored[]>(text, given).cursor(ROWS_PER_FETCH)) {
    yield rows.map(rowOf);
  }
}

/** Coins that a list leaves out. */
type Without = { readonly without: readonly string[] };

type StoredMovement = Omit<BalanceChange, "change" | "balanceAfter" | "checkpoint"> & {
  readonly change: string;
  readonly balanceAfter: string;
};

const movementsOf = (table: string, part: ChangedPart) => `
  select coin_type as "coinType", owner, position, cause, change, balance_after as "balanceAfter",
         tx_digest as "txDigest", timestamp_ms as "timestampMs", '${part}' as part
  from ${table} where position >= $1 and position < $2 and coin_type <> all($3::text[])`;

const MOVEMENTS = `
  ${movementsOf("token_changes", "TOKENS")}
  union all ${movementsOf("grant_changes", "GRANTS")}
  order by position, owner, part desc, "coinType"`;

/** Movements of checkpoints `from` to `to`, in the order of `balanceChangesAcross`. */
export const movementRows = (
  sql: Sql,
  { from, to, without }: Without & { readonly from: bigint; readonly to: bigint },
): AsyncGenerator<readonly BalanceChange[]> =>
  listed<StoredMovement, BalanceChange>(
    sql,
    MOVEMENTS,
    [`${positionsEnd(from - 1n)}`, `${positionsEnd(to)}`, texts(without)],
    (row) => ({
      ...row,
      checkpoint: placeOf(row.position).checkpoint,
      change: BigInt(row.change),
      balanceAfter: BigInt(row.balanceAfter),
    }),
  );

/** A wallet of a coin; amounts in the coin's smallest unit. */
export type RegisterWallet = Omit<CapWallet, "address"> & {
  readonly coinType: string;
  readonly wallet: string;
  readonly holderId: bigint | null;
  readonly tokens: bigint;
  readonly granted: bigint;
  /** Of the granted: what could be claimed at the checkpoint's time. */
  readonly unlocked: bigint;
};

type StoredWallet = {
  readonly wallet: string;
  readonly balance: string;
  readonly tokens: string;
  readonly granted: string;
  readonly unlocked: string;
  readonly holderId: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean;
};

const numberIn = (text: string | null) => (text === null ? null : BigInt(text));

/** Wallets of a coin that hold something, or are a holder's, in a group or frozen; by address. */
export const walletRows = (
  sql: Sql,
  coinType: string,
  { checkpoint, timestampMs }: AtMark,
): AsyncGenerator<readonly RegisterWallet[]> =>
  listed<StoredWallet, RegisterWallet>(
    sql,
    WALLET_ROWS,
    [coinType, `${positionsEnd(checkpoint)}`, `${checkpoint}`, `${timestampMs}`],
    ({ wallet, isFrozen, ...row }) => ({
      ...{ coinType, wallet, isFrozen },
      holderId: numberIn(row.holderId),
      groupId: numberIn(row.groupId),
      balance: BigInt(row.balance),
      tokens: BigInt(row.tokens),
      granted: BigInt(row.granted),
      unlocked: BigInt(row.unlocked),
    }),
  );

/** States at the end of checkpoint $1, from a table of current ones and one of those that ended. */
const statesAt = (columns: string, current: string, ended: string) => {
  const of = (table: string, condition: string) => `
    select coin_type as "coinType", ${columns}, version, checkpoint from ${table}
    where checkpoint <= $1 ${condition} and coin_type <> all($2::text[])`;
  return `
    ${of(current, "")} union all ${of(ended, "and until > $1")}
    order by "coinType", "objectId"`;
};

type State = { readonly coinType: string; readonly version: bigint; readonly checkpoint: bigint };
type StoredState = Omit<State, "version"> & { readonly version: string };

export type RegisterGrant = TokenTimelock & State;
export type RegisterObject = TokenObject & State;

const GRANTS = statesAt(GRANT_COLUMNS, "timelock_objects", "timelock_ranges");

/** Grants at the end of a checkpoint, by coin type and object id. */
export const grantRows = (sql: Sql, at: bigint, { without }: Without) =>
  listed<GrantRow & StoredState, RegisterGrant>(
    sql,
    GRANTS,
    [`${at}`, texts(without)],
    ({ coinType, version, checkpoint, ...grant }) => ({
      ...grantOf(grant),
      ...{ coinType, checkpoint },
      version: BigInt(version),
    }),
  );

const OBJECTS = statesAt(
  `object_id as "objectId", owner, balance`,
  "shared_token_objects",
  "shared_token_ranges",
);

type StoredObject = StoredState & {
  readonly objectId: string;
  readonly owner: string;
  readonly balance: string;
};

/** Token objects at the end of a checkpoint, by coin type and object id. */
export const objectRows = (sql: Sql, at: bigint, { without }: Without) =>
  listed<StoredObject, RegisterObject>(
    sql,
    OBJECTS,
    [`${at}`, texts(without)],
    ({ balance, version, ...row }) => ({
      ...row,
      balance: BigInt(balance),
      version: BigInt(version),
    }),
  );
