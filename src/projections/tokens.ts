/**
 * Known tokens: names, and supply according to the treasury. Written by `shared_token_objects`,
 * with the grant data that it needs.
 */
import { getTableName, sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { columnNames } from "../database/table-rows.ts";
import { rowsAfterMark } from "../database/writing.ts";
import { TOKENS_FILLED } from "./balance-progress.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";
import { type HeldIn, heldInPipeline, heldOf, type StoredHeld } from "./held-coins.ts";
import { COMPLETENESS, INCOMPLETE_HELD } from "./incomplete-coins.ts";
import { currentObjects, KEY_COLUMNS, keyIn, type ObjectKey, objectKey } from "./live-objects.ts";
import { FOR_CAP_TABLES } from "./needed.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEHIND_ALL } from "./position.ts";

/** Coin types of the contract, and all others with metadata. */
export const tokensTable = pgTable(
  "tokens",
  {
    coinType: identifier("coin_type").primaryKey(),
    /** Of the first token, grant, treasury or movement; null if not a token of the contract. */
    firstCheckpoint: int8("first_checkpoint"),
    /** From the newest metadata; null while none was seen. */
    symbol: identifier("symbol"),
    name: identifier("name"),
  },
  (t) => [
    // The contract's tokens among all the chain's coins.
    index("tokens_seen").on(t.coinType).where(sql`first_checkpoint is not null`),
    // Searches, in any case of ASCII letters.
    index("tokens_by_symbol")
      .on(sql`lower(symbol)`, t.coinType)
      .where(sql`first_checkpoint is not null`),
    index("tokens_by_name")
      .on(sql`lower(name)`, t.coinType)
      .where(sql`first_checkpoint is not null`),
  ],
);

/**
 * The treasury's supply at the end of each checkpoint that wrote it, in the coin's smallest unit;
 * the newest row is current.
 */
export const tokenSuppliesTable = pgTable(
  "token_supplies",
  {
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    supply: u64("supply").notNull(),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.checkpoint] })],
);

/**
 * Grant amounts that the causes of token movements need. `timelock_objects` cannot serve: it is at
 * another checkpoint.
 */
export const tokenGrantsTable = pgTable(
  "token_grants",
  {
    objectId: identifier("object_id").notNull(),
    tokensTransferred: u64("tokens_transferred").notNull(),
    leftBalance: u64("left_balance").notNull(),
    coinType: identifier("coin_type").notNull(),
  },
  (t) => [primaryKey({ columns: [t.objectId, t.coinType] })],
);

/** A grant after a batch; without amounts it is gone. */
export type SeenGrant = ObjectKey & {
  readonly tokensTransferred?: bigint;
  readonly leftBalance?: bigint;
};

export type TokenNews = {
  /** Coin types of the contract, with the first checkpoint of the batch that mentions each. */
  readonly seen: readonly { readonly coinType: string; readonly firstCheckpoint: bigint }[];
  readonly named: readonly {
    readonly coinType: string;
    readonly symbol: string;
    readonly name: string;
  }[];
  readonly supplies: readonly (typeof tokenSuppliesTable.$inferSelect)[];
};

/** Current grant amounts by `objectKey`, for the causes of later movements. */
export const currentGrants = async (
  sql: Sql,
  objects: readonly ObjectKey[],
): Promise<Map<string, { readonly tokensTransferred: bigint; readonly leftBalance: bigint }>> => {
  type Stored = ObjectKey & { readonly tokensTransferred: string; readonly leftBalance: string };
  const rows = await currentObjects<Stored>(sql, tokenGrantsTable, objects);
  return new Map(
    rows.map((row) => [
      objectKey(row),
      {
        tokensTransferred: BigInt(row.tokensTransferred),
        leftBalance: BigInt(row.leftBalance),
      },
    ]),
  );
};

export const keepGrants = (grants: readonly SeenGrant[]): BatchWrite =>
  inOneStatement(grants.length, (first) => {
    const { text, parameters } = rowsAfterMark(tokenGrantsTable, grants, first);
    return {
      parts: [
        `seen_grants as materialized (${text})`,
        `kept_grants as (
          insert into token_grants (${columnNames(tokenGrantsTable).join(", ")})
          select * from seen_grants where left_balance is not null
          on conflict (${KEY_COLUMNS.join(", ")}) do update set
            tokens_transferred = excluded.tokens_transferred, left_balance = excluded.left_balance
        )`,
        `gone_grants as (
          delete from token_grants o where ${keyIn("select * from seen_grants where left_balance is null")}
        )`,
      ],
      parameters,
    };
  });

/** Upserts tokens; a token keeps its first checkpoint. */
export const keepTokens = ({ seen, named }: TokenNews): BatchWrite => {
  const news = new Map<string, typeof tokensTable.$inferSelect>();
  for (const token of seen) news.set(token.coinType, { symbol: null, name: null, ...token });
  for (const metadata of named) {
    const firstCheckpoint = news.get(metadata.coinType)?.firstCheckpoint ?? null;
    news.set(metadata.coinType, { firstCheckpoint, ...metadata });
  }
  return inOneStatement(news.size, (first) => {
    const { text, parameters } = rowsAfterMark(tokensTable, [...news.values()], first);
    const part = `kept_tokens as (
      insert into tokens as known (coin_type, first_checkpoint, symbol, name) ${text}
      on conflict (coin_type) do update set
        first_checkpoint = coalesce(known.first_checkpoint, excluded.first_checkpoint),
        symbol = coalesce(excluded.symbol, known.symbol),
        name = coalesce(excluded.name, known.name)
      where known.first_checkpoint is null and excluded.first_checkpoint is not null
        or excluded.symbol is not null
    )`;
    return { parts: [part], parameters };
  });
};

export type Token = {
  readonly coinType: string;
  readonly firstCheckpoint: bigint;
  readonly symbol: string | null;
  readonly name: string | null;
  /** Treasury supply, in the coin's smallest unit; null while not seen. */
  readonly totalSupply: bigint | null;
};

/** SQL of the coins that each pipeline of a cap table holds, and of the incomplete ones: one row. */
const HELD = [
  ...FOR_CAP_TABLES.map(
    ({ name, watermark }) => `(select held from ${getTableName(watermark)}) as ${name}`,
  ),
  `${INCOMPLETE_HELD}::jsonb as ${COMPLETENESS}`,
].join(", ");

const HOLDING = [...FOR_CAP_TABLES.map(({ name }) => name), COMPLETENESS];

/** Always one row, so that an empty page carries whether the tables are filled, and which coins are held. */
const tokensWith = (condition: string) => `
  select progress.filled, to_json(progress.*)::text as held, seen.*
  from (select ${TOKENS_FILLED} as filled, ${HELD}) as progress
  left join lateral (
    select coin_type as "coinType", first_checkpoint as "firstCheckpoint", symbol, name,
      (select supply from token_supplies s where s.coin_type = tokens.coin_type and s.checkpoint <= $3
       order by s.checkpoint desc limit 1) as "totalSupply"
    from tokens
    where first_checkpoint is not null and first_checkpoint <= $3 and ${condition}
    order by coin_type limit (select $2::int8)
  ) as seen on progress.filled`;

const IS_HELD = HOLDING.map((name) => `coalesce(progress.${name} ? coin_type, false)`);

const TOKEN_PAGE = tokensWith(`coin_type > $1 and not (${IS_HELD.join(" or ")})`);
const ALL_TOKENS = tokensWith("coin_type > $1");
const ONE_TOKEN = tokensWith("coin_type = $1");

type TokenRow = Omit<Token, "totalSupply" | "coinType"> & {
  readonly filled: boolean;
  readonly held: string;
  /** Null for an empty page. */
  readonly coinType: string | null;
  readonly totalSupply: string | null;
};

const readTokens = async (on: Reads, text: string, given: readonly [string, number, bigint]) => {
  const rows = await read<TokenRow>(on, text, [...given]);
  if (rows[0]?.filled === false) throw new NotYetIndexedError(STILL_FILLING);
  const tokens = rows.flatMap(({ filled: _, held: _held, coinType, totalSupply, ...row }) =>
    coinType === null
      ? []
      : [{ ...row, coinType, totalSupply: totalSupply === null ? null : BigInt(totalSupply) }],
  );
  return { tokens, held: rows[0]?.held ?? "{}" };
};

export type TokenPage = {
  readonly tokens: readonly Token[];
  /** Coins that are left out, whatever the page: a pipeline of their cap tables holds them, or they are incomplete. */
  readonly held: readonly HeldIn[];
};

/**
 * Current tokens by coin type, ascending; `after`: coin type of the last row seen.
 * @throws NotYetIndexedError (wait) while an upgraded database's history is filled in
 */
export const tokens = async (
  on: Reads,
  { limit, after = "" }: { readonly limit: number; readonly after?: string | undefined },
): Promise<TokenPage> => {
  const page = await readTokens(on, TOKEN_PAGE, [after, limit, BEHIND_ALL]);
  const held: Readonly<Record<string, StoredHeld | null>> = JSON.parse(page.held);
  return {
    tokens: page.tokens,
    held: HOLDING.flatMap((name) => heldInPipeline(name, heldOf(held[name] ?? null))),
  };
};

/**
 * Tokens at the end of a checkpoint by coin type, ascending, those that are held now too.
 * @throws NotYetIndexedError (wait) as `tokens` does
 */
export const tokensAt = async (
  on: Reads,
  {
    limit,
    after = "",
    at,
  }: { readonly limit: number; readonly after?: string; readonly at: bigint },
): Promise<readonly Token[]> => (await readTokens(on, ALL_TOKENS, [after, limit, at])).tokens;

/**
 * One token, now or at the end of checkpoint `at`; null if not yet seen.
 * @throws NotYetIndexedError (wait) as `tokens` does
 */
export const token = async (
  on: Reads,
  { coinType, at = BEHIND_ALL }: { readonly coinType: string; readonly at?: bigint | undefined },
): Promise<Token | null> => (await readTokens(on, ONE_TOKEN, [coinType, 1, at])).tokens[0] ?? null;

export type TokenNames = Pick<Token, "coinType" | "symbol" | "name">;

const NAMES = `select coin_type as "coinType", symbol, name from tokens where coin_type = any($1::text[])`;

/** Names of these coins, from the newest metadata; unknown coins are left out. */
export const tokenNames = async (
  on: Reads,
  coinTypes: readonly string[],
): Promise<ReadonlyMap<string, TokenNames>> => {
  const rows = await read<TokenNames>(on, NAMES, [texts(coinTypes)]);
  return new Map(rows.map((row) => [row.coinType, row]));
};
