/** The tokens seen on the ledger: `tokens`, `token`. */
import type { CapTotals } from "../projections/cap-tables.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { NO_COIN } from "../projections/held-coins.ts";
import { FOR_CAP_TABLES, FOR_TOKEN_OBJECTS } from "../projections/needed.ts";
import { type Token as Row, token, tokens } from "../projections/tokens.ts";
import { once } from "../waiting/once.ts";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { builder } from "./builder.ts";
import type { GraphContext } from "./context.ts";
import { pastArguments } from "./fields.ts";
import { coinCursorOf, coinTypeArgument, limitArgument, limitOf, listCost } from "./input.ts";
import { type AsOf, asOfIn, checkpointOf, isByTime, isPast, markOf, readAsOf } from "./past.ts";

/** A token with what is read only if it is selected. */
type Listed = Row & {
  readonly decimals: () => Promise<number | null>;
  readonly totals: (reads: GuardedReads) => Promise<CapTotals>;
};

/** Counting owners reads all of them. */
const COUNT_COST = 200;

const COUNT_READS = { pipelines: () => FOR_CAP_TABLES, long: () => true };

const Token = builder.objectRef<Listed>("Token").implement({
  description: "A security token seen on the ledger.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    decimals: t.int({
      nullable: true,
      description: "Decimals of the coin; null until its metadata is known.",
      resolve: ({ decimals }) => decimals(),
    }),
    symbol: t.exposeString("symbol", {
      nullable: true,
      description: "From the newest metadata, in past answers too; null until metadata was seen.",
    }),
    name: t.exposeString("name", {
      nullable: true,
      description: "From the newest metadata, in past answers too; null until metadata was seen.",
    }),
    totalSupply: t.exposeString("totalSupply", {
      nullable: true,
      description:
        "Supply in the treasury object, in the smallest unit, decimal; null until one was seen.",
    }),
    holderCount: t.int({
      description:
        "Rows of its capTable: holders, and wallets without a holder, with a balance above zero. As of " +
        "the last checkpoint that shared_token_objects, timelock_objects and holder_lifecycle have committed.",
      complexity: COUNT_COST,
      reads: COUNT_READS,
      resolve: async ({ totals }, _args, { reads }) => (await totals(reads)).holderCount,
    }),
    ownerCount: t.int({
      description: "Owners (wallets) with a balance above zero, as of the same checkpoint.",
      complexity: COUNT_COST,
      reads: COUNT_READS,
      resolve: async ({ totals }, _args, { reads }) => (await totals(reads)).ownerCount,
    }),
    firstCheckpoint: t.exposeString("firstCheckpoint", {
      description: "Checkpoint it was first seen in, decimal.",
    }),
  }),
});

/** @param ofThem of the reads, those that say as of which checkpoint the rows are */
const listed = (
  { capTables, decimalsOf }: GraphContext,
  asOf: AsOf | undefined,
  ofThem: (reads: GuardedReads) => GuardedReads,
  rows: readonly Row[],
): Listed[] => {
  const known = once(() => decimalsOf(rows.map(({ coinType }) => coinType)));
  const at = once(async (reads: GuardedReads) =>
    markOf(reads.ofCoin(NO_COIN), await checkpointOf(ofThem(reads), asOf)),
  );
  // One at a time: each reads all owners of a coin.
  const inTurn = oneAtATime();
  return rows.map((row) => {
    const { coinType } = row;
    const totals = once((reads: GuardedReads) =>
      inTurn(async () => {
        const { sequence: checkpoint, timestampMs } = await at(reads);
        const on = reads.ofCoin(coinType).at(checkpoint);
        return capTables.totals(on, { coinType, at: { checkpoint, timestampMs } });
      }),
    );
    return { ...row, totals, decimals: async () => (await known()).get(coinType) ?? null };
  });
};

builder.queryField("tokens", (t) =>
  t.field({
    type: [Token],
    cursorOf: ({ coinType }) => coinType,
    nullable: true,
    description:
      "The tokens seen on the ledger, by coin type. Those that shared_token_objects, timelock_objects or holder_lifecycle " +
      "has in quarantine are left out; extensions.quarantined names them.",
    args: {
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Coin type of the last row seen: only those after it." }),
    },
    complexity: listCost,
    reads: { pipelines: () => FOR_TOKEN_OBJECTS },
    resolve: async (_root, args, context) => {
      const page = { limit: limitOf(args.limit), after: coinCursorOf(args.after) };
      const { tokens: rows, held } = await tokens(context.reads.ofCoin(NO_COIN), page);
      context.leftOut.add(held);
      return listed(context, undefined, (reads) => reads.ofCoin(NO_COIN), rows);
    },
  }),
);

builder.queryField("token", (t) =>
  t.field({
    type: Token,
    nullable: true,
    description: "One token; null when its coin type was not seen.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      ...pastArguments,
    },
    reads: {
      // The counts of a past token need all three pipelines, its own row needs one.
      pipelines: (args) => (isPast(args) ? FOR_CAP_TABLES : FOR_TOKEN_OBJECTS),
      several: isByTime,
    },
    resolve: async (_root, args, context) => {
      const asOf = asOfIn(args);
      const coinType = await context.coinType(args.coinType);
      const ofIt = (reads: GuardedReads) => reads.ofCoin(coinType, args);
      const found = await readAsOf(ofIt(context.reads), asOf, (at, on) =>
        token(on, { coinType, at }),
      );
      return found === null ? null : listed(context, asOf, ofIt, [found])[0];
    },
  }),
);
