/** Who holds a coin: `tokenHolders`. */
import { type TokenHolder as Row, tokenHolders } from "../projections/balances.ts";
import { FOR_BALANCES } from "../projections/needed.ts";
import { builder } from "./builder.ts";
import { coinTypeArgument, holderCursorOf, limitArgument, limitOf, listCost } from "./input.ts";
import { askedOf, atCheckpointArgument, atTimestampArgument, checkpointOf } from "./past.ts";
import { TIMELOCKS_INCLUDED } from "./token-balance.ts";

const TokenHolder = builder.objectRef<Row>("TokenHolder").implement({
  description: "An owner with more than nothing.",
  fields: (t) => ({
    owner: t.exposeString("owner", { description: "Wallet address, canonical." }),
    balance: t.string({
      description: "As in TokenBalance: SharedToken balances plus grants, decimal.",
      resolve: ({ balance }) => balance.toString(),
    }),
    timelockBalance: t.string({
      description: "The vesting part of balance, decimal. Zero while timelocksIncluded is false.",
      resolve: ({ timelockBalance }) => timelockBalance.toString(),
    }),
    timelocksIncluded: t.exposeBoolean("timelocksIncluded", { description: TIMELOCKS_INCLUDED }),
  }),
});

builder.queryField("tokenHolders", (t) =>
  t.field({
    type: [TokenHolder],
    nullable: true,
    description:
      "Owners by balance, largest first, equal ones by address. An owner whose balance adds up to zero is no holder.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({
        description: "`<balance>:<owner>` of the last row seen: only the holders behind it.",
      }),
      atCheckpoint: t.arg.string(atCheckpointArgument),
      atTimestamp: t.arg.string(atTimestampArgument),
    },
    complexity: listCost,
    resolve: async (_root, args, { capTables, ...context }) => {
      const reads = context.readsOf(FOR_BALANCES);
      const page = { limit: limitOf(args.limit), after: holderCursorOf(args.after) };
      const asked = askedOf(args);
      const coinType = await context.coinType(args.coinType);
      if (asked === undefined) return tokenHolders(reads, { coinType, ...page });
      // First, because the list is kept for others.
      const checkpoint = await checkpointOf(reads, asked);
      return capTables.owners(reads, { coinType, checkpoint, ...page });
    },
  }),
);
