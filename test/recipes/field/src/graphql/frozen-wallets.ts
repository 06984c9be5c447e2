/** Wallets that are frozen: `frozenWallets`. */
import { holderProgress } from "../projections/holder-events.ts";
import { frozenWallets, type FrozenWallet as Row } from "../projections/memberships.ts";
import { builder } from "./builder.ts";
import { pastArguments } from "./fields.ts";
import { coinTypeArgument, limitArgument, limitOf, listCost } from "./input.ts";
import { asOfIn, isByTime, readAsOf } from "./past.ts";

const FrozenWallet = builder.objectRef<Row>("FrozenWallet").implement({
  description: "A wallet that is frozen.",
  fields: (t) => ({
    address: t.exposeString("address", { description: "The wallet." }),
    sinceCheckpoint: t.string({
      description: "Checkpoint that froze it, decimal.",
      resolve: ({ checkpoint }) => checkpoint.toString(),
    }),
  }),
});

builder.queryField("frozenWallets", (t) =>
  t.field({
    type: [FrozenWallet],
    nullable: true,
    description: "A coin's frozen wallets, by address.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      limit: t.arg.int(limitArgument),
      ...pastArguments,
    },
    complexity: listCost,
    reads: { pipelines: () => [holderProgress], several: isByTime },
    resolve: async (_root, args, { reads, coinType }) => {
      const [asOf, limit] = [asOfIn(args), limitOf(args.limit)];
      const coin = await coinType(args.coinType);
      return readAsOf(reads, asOf, (at, on) => frozenWallets(on, { coinType: coin, limit, at }));
    },
  }),
);
