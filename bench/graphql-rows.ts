/**
 * Rows for the GraphQL measurements, computed from their numbers (from 0) in Postgres and here, so
 * that any can be queried.
 */
import { createHash } from "node:crypto";
import { ROLE_BITS } from "../src/ledger/contract/roles.ts";

/** The only package whose role types have bits. */
export const PACKAGE = `0x${"5e".repeat(32)}`;

/** The coin of all rows except those of `wallet_roles`. */
export const COIN = `0x${"c0".repeat(32)}::bench_coin::BENCH_COIN`;

/** A coin with this many role owners. */
export const coinOfOwners = (owners: number): string =>
  `0x${"c1".repeat(32)}::bench_roles::ROLES_${owners}`;

/** Objects and grants of one owner, more than any page; the others have four of each. */
export const BUSY_OBJECTS = 1_000;

/** The last is from another package and has no bit. */
const ROLES = [
  ...Object.keys(ROLE_BITS).map((name) => `${PACKAGE}::roles::${name}`),
  `0x${"f0".repeat(32)}::roles::ContractAdmin`,
];

/** The watermarks, after all rows. */
export const NEXT_CHECKPOINT = 160_000_000;
export const FIRST_CHECKPOINT = 150_000_000;
/** Long ago, so that the age keeps its number of digits during a measurement. */
export const FIRST_MS = 1_600_000_000_000;
const PER_CHECKPOINT = 4;
export const CHECKPOINT_MS = 250;

/** Multiplying by this prime shuffles the numbers below any power of ten. */
const SHUFFLE = 7_919;

export const GROWING = [
  "token_activity",
  "balances",
  "shared_token_objects",
  "timelock_objects",
  "holder_events",
  "role_events",
] as const;

/** These, and tables of the past. */
export const GROWING_WITH_PAST = [...GROWING, "token_changes"] as const;

/** How a table is filled: SQL for each column of row `n`, from 0. */
export type Fill = {
  readonly table: string;
  readonly row: (count: number) => Readonly<Record<string, string>>;
  /** Rows by the size that is measured; that size unless given. */
  readonly rows?: (size: number) => number;
};

export type GrowingTable = (typeof GROWING_WITH_PAST)[number];

/** The wallet of a quarter of all movements; the others have three or more. */
export const BUSY_WALLET = -1;

/** A movement in so many has the rare type. */
const RARE_IN = 100;
export const RARE_TYPE = "force_transfer";
export const RARE_CAUSE = "BURN";

/** Address by number, from 0. */
export const wallet = (number: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return `0x${createHash("sha256").update(bytes).digest("hex")}`;
};

/** Owner of the object or grant with this number. */
export const ownerOfObject = (number: number): string =>
  wallet(number < BUSY_OBJECTS ? 0 : Math.floor(number / 4));

export const positionOfRow = (row: number): bigint =>
  BigInt(FIRST_CHECKPOINT + Math.floor(row / PER_CHECKPOINT)) * 1_000_000_000n +
  BigInt(row % PER_CHECKPOINT) * 10_000n;

export const checkpointOfRow = (row: number): number =>
  FIRST_CHECKPOINT + Math.floor(row / PER_CHECKPOINT);

export const secondOfRow = (row: number): number =>
  Math.floor((FIRST_MS + Math.floor(row / PER_CHECKPOINT) * CHECKPOINT_MS) / 1_000);

/** A wallet's cursor in `tokenHolders`; `count` wallets hold the coin. */
export const holderPlace = (number: number, count: number): string => {
  const tokens = (((number * SHUFFLE) % count) + 1) * 1_000;
  return `${tokens + (number % 5 === 0 ? 500 : 0)}:${wallet(number)}`;
};

/** SQL of `wallet`. */
export const walletSql = (number: string) =>
  `'0x' || encode(sha256(int4send((${number})::int4)), 'hex')`;

/** Digest of a transaction's rows, of base58's characters; each has two. */
export const digestOfRow = (row: number): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(-1 - Math.floor(row / 2));
  const hex = createHash("sha256").update(bytes).digest("hex").slice(0, 44);
  return hex.replaceAll("0", "z");
};

/** SQL for a role's type; six consecutive numbers give six different ones. */
const roleSql = (number: string) =>
  `(array['${ROLES.join("', '")}'])[(${number}) % ${ROLES.length} + 1]`;

export const DIGEST = `translate(substr(encode(sha256(int4send(-1 - n / 2)), 'hex'), 1, 44), '0', 'z')`;
export const POSITION = `(${FIRST_CHECKPOINT} + n / ${PER_CHECKPOINT})::int8 * 1000000000 + n % ${PER_CHECKPOINT} * 10000`;
export const TIME = `${FIRST_MS} + (n / ${PER_CHECKPOINT})::int8 * ${CHECKPOINT_MS}`;
const OBJECT_OWNER = walletSql(`case when n < ${BUSY_OBJECTS} then 0 else n / 4 end`);
const OBJECT_ID = walletSql("-100000000 - n");

export const ROWS: Readonly<
  Record<GrowingTable, (count: number) => Readonly<Record<string, string>>>
> = {
  token_activity: () => ({
    coin_type: `'${COIN}'`,
    position: POSITION,
    activity_type: `case when n % ${RARE_IN} = 2 then '${RARE_TYPE}'
                     else (array['mint', 'transfer', 'transfer', 'burn'])[n % 4 + 1] end`,
    tx_digest: DIGEST,
    timestamp_ms: TIME,
    amount: "n::int8 * 1000 + 1",
    from_address: `case when n % 4 <> 0 then
      ${walletSql(`case when n % 4 = 2 then ${BUSY_WALLET} else n / 4 end`)} end`,
    to_address: `case when n % 4 <> 3 then ${walletSql("n / 4 + 1")} end`,
    signer: walletSql("n % 100"),
    token_object_id: OBJECT_ID,
  }),
  token_changes: () => ({
    coin_type: `'${COIN}'`,
    owner: walletSql(`case when n % 4 = 2 then ${BUSY_WALLET} else n / 4 end`),
    position: POSITION,
    cause: `case when n % ${RARE_IN} = 2 then '${RARE_CAUSE}' else 'TRANSFER' end`,
    change: "1000",
    // The busiest wallet has every fourth row; the others have three each.
    balance_after: `case n % 4 when 2 then n / 4 + 1 when 3 then 3 else n % 4 + 1 end::int8 * 1000`,
    tx_digest: DIGEST,
    timestamp_ms: TIME,
  }),
  balances: (count) => ({
    coin_type: `'${COIN}'`,
    owner: walletSql("n"),
    token_balance: `(n::int8 * ${SHUFFLE} % ${count} + 1) * 1000`,
    token_count: "4",
    grant_balance: "case when n % 5 = 0 then 500 else 0 end",
    grant_count: "case when n % 5 = 0 then 4 else 0 end",
  }),
  shared_token_objects: () => ({
    object_id: OBJECT_ID,
    coin_type: `'${COIN}'`,
    owner: OBJECT_OWNER,
    balance: "n::int8 * 1000",
    version: "400000000 + n",
    checkpoint: `${FIRST_CHECKPOINT} + n / ${PER_CHECKPOINT}`,
  }),
  timelock_objects: (count) => ({
    object_id: OBJECT_ID,
    coin_type: `'${COIN}'`,
    owner: OBJECT_OWNER,
    funder: walletSql("n % 100"),
    release_schedule_id: "n % 10",
    release_count: "12",
    delay_until_first_release_ms: "86400000",
    period_between_releases_ms: "2592000000",
    initial_release_portion_bps: "500",
    // Three grants start at a time.
    commencement_timestamp_ms: `${FIRST_MS} + n::int8 * ${SHUFFLE} % ${count} / 3 * 1000`,
    total_amount: "n::int8 * 1000 + 1000",
    tokens_transferred: "n % 1000",
    left_balance: "n::int8 * 1000 + 1000 - n % 1000",
    version: "400000000 + n",
    checkpoint: `${FIRST_CHECKPOINT} + n / ${PER_CHECKPOINT}`,
  }),
  holder_events: () => ({
    coin_type: `'${COIN}'`,
    position: POSITION,
    event_type: `(array['holder_address_added', 'holder_added', 'address_joined_group',
      'address_frozen', 'address_left_group', 'holder_address_removed', 'holder_removed'])[n % 7 + 1]`,
    tx_digest: DIGEST,
    holder_id: "case when n % 7 in (0, 1, 5, 6) then n / 7 end",
    address: `case when n % 7 in (0, 2, 3, 4, 5) then ${walletSql("n / 7")} end`,
    group_id: "case when n % 7 in (2, 4) then n % 5 + 1 end",
    is_frozen: "case when n % 7 = 3 then n % 2 = 0 end",
    timestamp_ms: TIME,
    reached_ms: TIME,
  }),
  role_events: () => ({
    coin_type: `'${COIN}'`,
    position: POSITION,
    tx_digest: DIGEST,
    owner: walletSql("n % 1000"),
    role: roleSql("n"),
    granted: "n % 3 <> 0",
    signer: walletSql("n % 100"),
    timestamp_ms: TIME,
    reached_ms: TIME,
  }),
};

/** SQL for `wallet_roles` of `coinOfOwners`: one to three roles per owner. */
export const rolesOfOwners = (owners: number): string => `
  select '${coinOfOwners(owners)}', ${walletSql("n")}, ${roleSql("n + role")}, ${POSITION}
  from generate_series(0, ${owners - 1}) as n, generate_series(0, n % 3) as role`;
