/** The owners of a coin: `tokenHolders`. */
import { type TokenHolder as Row, tokenHolders } from "../projections/balances.ts";
import { FOR_BALANCES } from "../projections/needed.ts";
import { builder } from "./builder.ts";
import { pastArguments } from "./fields.ts";
import { coinTypeArgument, holderCursorOf, limitArgument, limitOf, listCost } from "./input.ts";
import { asOfIn, checkpointOf, isByTime, isPast } from "./past.ts";
import { TIMELOCKS_INCLUDED } from "./token-balance.ts";

const TokenHolder = builder.objectRef<Row>("TokenHolder").implement({
  description: "An owner with a balance above zero.",
  fields: (t) => ({
    owner: t.exposeString("owner", { description: "Wallet address, canonical." }),
    balance: t.exposeString("balance", {
      description: "As in TokenBalance: SharedToken balances plus grants, decimal.",
    }),
    timelockBalance: t.exposeString("timelockBalance", {
      description: "The vesting part of balance, decimal. Zero while timelocksIncluded is false.",
    }),
    timelocksIncluded: t.exposeBoolean("timelocksIncluded", { description: TIMELOCKS_INCLUDED }),
  }),
});

builder.queryField("tokenHolders", (t) =>
  t.field({
    type: [TokenHolder],
    cursorOf: ({ balance, owner }) => `${balance}:${owner}`,
    nullable: true,
    description:
      "Owners by balance, largest first, equal ones by address. Owners with a zero balance are left out.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({
        description: "`<balance>:<owner>` of the last row seen: only the holders after it.",
      }),
      ...pastArguments,
    },
    complexity: listCost,
    // The first page of a past checkpoint reads all owners.
    reads: { pipelines: () => FOR_BALANCES, several: isByTime, long: isPast },
    resolve: async (_root, args, { capTables, ...context }) => {
      const page = { limit: limitOf(args.limit), after: holderCursorOf(args.after) };
      const asOf = asOfIn(args);
      const coinType = await context.coinType(args.coinType);
      const reads = context.reads.ofCoin(coinType, args);
      if (asOf === undefined && !reads.allowsStale)
        return tokenHolders(reads, { coinType, ...page });
      // First, because the list is kept for others.
      const checkpoint = await checkpointOf(reads, asOf);
      return capTables.owners(reads.at(checkpoint), { coinType, checkpoint, ...page });
    },
  }),
);
