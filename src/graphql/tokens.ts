/** The tokens that were seen: `tokens`, `token`. */
import type { CapTotals } from "../projections/cap-tables.ts";
import { FOR_CAP_TABLES, FOR_TOKEN_OBJECTS } from "../projections/needed.ts";
import { type Token as Row, token, tokens } from "../projections/tokens.ts";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { builder } from "./builder.ts";
import type { GraphContext } from "./context.ts";
import { coinCursorOf, coinTypeArgument, limitArgument, limitOf, listCost } from "./input.ts";
import { once } from "./once.ts";
import {
  type Asked,
  askedOf,
  atCheckpointArgument,
  atTimestampArgument,
  checkpointOf,
  markOf,
  readAsOf,
} from "./past.ts";

/** A token as the queries give it: what costs more than its row is read when it is selected. */
type Listed = Row & {
  readonly decimals: () => Promise<number | null>;
  readonly totals: () => Promise<CapTotals>;
};

/** Counting owners reads all of them. */
const COUNT_COST = 200;

const Token = builder.objectRef<Listed>("Token").implement({
  description: "A security token that was seen on the ledger.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    decimals: t.int({
      nullable: true,
      description: "Decimals of the coin; null until its metadata is known.",
      resolve: ({ decimals }) => decimals(),
    }),
    symbol: t.exposeString("symbol", {
      nullable: true,
      description: "As the newest metadata says, for past answers too; null while none was seen.",
    }),
    name: t.exposeString("name", {
      nullable: true,
      description: "As the newest metadata says, for past answers too; null while none was seen.",
    }),
    totalSupply: t.string({
      nullable: true,
      description:
        "As the treasury says, in the smallest unit, decimal; null while it was not seen.",
      resolve: ({ totalSupply }) => totalSupply?.toString() ?? null,
    }),
    holderCount: t.int({
      description:
        "Rows of its capTable: holders with more than nothing, and such wallets without a holder. As of " +
        "the last checkpoint that shared_token_objects, timelock_objects and holder_lifecycle have committed.",
      complexity: COUNT_COST,
      resolve: async ({ totals }) => (await totals()).holderCount,
    }),
    ownerCount: t.int({
      description: "Owners (wallets) with more than nothing, as of the same checkpoint.",
      complexity: COUNT_COST,
      resolve: async ({ totals }) => (await totals()).ownerCount,
    }),
    firstCheckpoint: t.string({
      description: "Checkpoint it was first seen in, decimal.",
      resolve: ({ firstCheckpoint }) => firstCheckpoint.toString(),
    }),
  }),
});

const listed = (
  { readsOf, capTables, decimalsOf }: GraphContext,
  asked: Asked | undefined,
  rows: readonly Row[],
): Listed[] => {
  const reads = readsOf(FOR_CAP_TABLES);
  const known = once(() => decimalsOf(rows.map(({ coinType }) => coinType)));
  const at = once(async () => markOf(reads, await checkpointOf(reads, asked)));
  // One after the other: each reads all owners of a coin.
  const inTurn = oneAtATime();
  return rows.map((row) => {
    const { coinType } = row;
    const totals = once(() =>
      inTurn(async () => {
        const { sequence: checkpoint, timestampMs } = await at();
        return capTables.totals(reads, { coinType, at: { checkpoint, timestampMs } });
      }),
    );
    return { ...row, totals, decimals: async () => (await known()).get(coinType) ?? null };
  });
};

builder.queryField("tokens", (t) =>
  t.field({
    type: [Token],
    nullable: true,
    description: "The tokens that were seen, by coin type.",
    args: {
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Coin type of the last row seen: only those behind it." }),
    },
    complexity: listCost,
    resolve: async (_root, args, context) => {
      const page = { limit: limitOf(args.limit), after: coinCursorOf(args.after) };
      return listed(context, undefined, await tokens(context.readsOf(FOR_TOKEN_OBJECTS), page));
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
      atCheckpoint: t.arg.string(atCheckpointArgument),
      atTimestamp: t.arg.string(atTimestampArgument),
    },
    resolve: async (_root, args, context) => {
      const asked = askedOf(args);
      const coinType = await context.coinType(args.coinType);
      // What it counts in the past needs all three, and its own row only one.
      const reads = context.readsOf(asked === undefined ? FOR_TOKEN_OBJECTS : FOR_CAP_TABLES);
      const found = await readAsOf(reads, asked, (at, on) => token(on, { coinType, at }));
      return found === null ? null : listed(context, asked, [found])[0];
    },
  }),
);
