/**
 * The tokens that were seen, what they are called, and their supply as the treasury says. Written by
 * `shared_token_objects`, together with what that needs of grants.
 */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { identifier, int8, u64 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { columnsByKey } from "../database/table-rows.ts";
import { rowsAfterMark } from "../database/writing.ts";
import { TOKENS_FILLED } from "./balance-progress.ts";
import { type BatchWrite, inOneStatement } from "./batch-write.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEHIND_ALL } from "./position.ts";

/** Coin types: of the contract, and any that metadata was seen of. */
export const tokensTable = pgTable(
  "tokens",
  {
    coinType: identifier("coin_type").primaryKey(),
    /** Of the first token, grant, treasury or movement; null for a coin that is no token of the contract. */
    firstCheckpoint: int8("first_checkpoint"),
    /** As the newest metadata says; null while none was seen. */
    symbol: identifier("symbol"),
    name: identifier("name"),
  },
  (t) => [
    // Tokens of the contract among all the coins of the chain.
    index("tokens_seen").on(t.coinType).where(sql`first_checkpoint is not null`),
  ],
);

/**
 * What the treasury said the supply was, at the end of each checkpoint that wrote it; the newest one
 * counts. In the coin's smallest unit.
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
 * Grants as far as the causes of token movements need them. A table of its own, because
 * `timelock_objects` is at another checkpoint.
 */
export const tokenGrantsTable = pgTable("token_grants", {
  objectId: identifier("object_id").primaryKey(),
  tokensTransferred: u64("tokens_transferred").notNull(),
  leftBalance: u64("left_balance").notNull(),
});

/** A grant as a batch leaves it; without amounts it is gone. */
export type SeenGrant = {
  readonly objectId: string;
  readonly tokensTransferred?: bigint;
  readonly leftBalance?: bigint;
};

/** What a batch tells of the tokens themselves. */
export type TokenNews = {
  /** Coin types of the contract, each with the first checkpoint of the batch that says something of it. */
  readonly seen: readonly { readonly coinType: string; readonly firstCheckpoint: bigint }[];
  /** The newest metadata of each coin type. */
  readonly named: readonly {
    readonly coinType: string;
    readonly symbol: string;
    readonly name: string;
  }[];
  readonly supplies: readonly (typeof tokenSuppliesTable.$inferSelect)[];
};

/** Amounts of grants that the causes of later movements need, as they stand. */
export const standingGrants = async (
  sql: Sql,
  objectIds: readonly string[],
): Promise<Map<string, { readonly tokensTransferred: bigint; readonly leftBalance: bigint }>> => {
  if (objectIds.length === 0) return new Map();
  const rows = await sql.unsafe<
    {
      readonly objectId: string;
      readonly tokensTransferred: string;
      readonly leftBalance: string;
    }[]
  >(
    `select ${columnsByKey(tokenGrantsTable)} from token_grants where object_id = any($1::text[])`,
    [texts(objectIds)],
    { prepare: true },
  );
  return new Map(
    rows.map((row) => [
      row.objectId,
      {
        tokensTransferred: BigInt(row.tokensTransferred),
        leftBalance: BigInt(row.leftBalance),
      },
    ]),
  );
};

/** Keeps grants as a batch leaves them. */
export const keepGrants = (grants: readonly SeenGrant[]): BatchWrite =>
  inOneStatement(grants.length, (first) => {
    const { text, parameters } = rowsAfterMark(tokenGrantsTable, grants, first);
    return {
      parts: [
        `seen_grants as materialized (${text})`,
        `kept_grants as (
          insert into token_grants (object_id, tokens_transferred, left_balance)
          select object_id, tokens_transferred, left_balance from seen_grants
          where left_balance is not null
          on conflict (object_id) do update set
            tokens_transferred = excluded.tokens_transferred, left_balance = excluded.left_balance
        )`,
        `gone_grants as (
          delete from token_grants g
          where g.object_id = any(array(select object_id from seen_grants where left_balance is null))
        )`,
      ],
      parameters,
    };
  });

/** Keeps the news of tokens; the first checkpoint of a token stays the first. */
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

/** A token that was seen. */
export type Token = {
  readonly coinType: string;
  readonly firstCheckpoint: bigint;
  readonly symbol: string | null;
  readonly name: string | null;
  /** As the treasury says, in the coin's smallest unit; null while it was not seen. */
  readonly totalSupply: bigint | null;
};

/** Always one row, so that an empty page says whether the tables are filled. */
const tokensWith = (condition: string) => `
  select told.filled, seen.* from (select ${TOKENS_FILLED} as filled) as told
  left join lateral (
    select coin_type as "coinType", first_checkpoint as "firstCheckpoint", symbol, name,
      (select supply from token_supplies s where s.coin_type = tokens.coin_type and s.checkpoint <= $3
       order by s.checkpoint desc limit 1) as "totalSupply"
    from tokens
    where first_checkpoint is not null and first_checkpoint <= $3 and ${condition}
    order by coin_type limit (select $2::int8)
  ) as seen on told.filled`;

const TOKEN_PAGE = tokensWith("coin_type > $1");
const ONE_TOKEN = tokensWith("coin_type = $1");

type TokenRow = Omit<Token, "totalSupply" | "coinType"> & {
  readonly filled: boolean;
  /** Null in the row of an empty page. */
  readonly coinType: string | null;
  readonly totalSupply: string | null;
};

const readTokens = async (on: Reads, text: string, given: readonly [string, number, bigint]) => {
  const rows = await read<TokenRow>(on, text, [...given]);
  if (rows[0]?.filled === false) throw new NotYetIndexedError(STILL_FILLING);
  return rows.flatMap(({ filled: _, coinType, totalSupply, ...row }) =>
    coinType === null
      ? []
      : [{ ...row, coinType, totalSupply: totalSupply === null ? null : BigInt(totalSupply) }],
  );
};

/**
 * Tokens by coin type, ascending, as they stand now; `after` is the coin type of the last row seen.
 * @throws NotYetIndexedError (wait) while the history of an upgraded database is being filled in
 */
export const tokens = (
  on: Reads,
  { limit, after = "" }: { readonly limit: number; readonly after?: string | undefined },
): Promise<Token[]> => readTokens(on, TOKEN_PAGE, [after, limit, BEHIND_ALL]);

/**
 * One token, now or at the end of checkpoint `at`; null when it was not seen by then.
 * @throws NotYetIndexedError (wait) as `tokens` does
 */
export const token = async (
  on: Reads,
  { coinType, at = BEHIND_ALL }: { readonly coinType: string; readonly at?: bigint | undefined },
): Promise<Token | null> => (await readTokens(on, ONE_TOKEN, [coinType, 1, at]))[0] ?? null;
