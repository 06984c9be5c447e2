/** The balance of one owner: `tokenBalance`. */
import { type TokenBalance as Row, tokenBalance } from "../projections/balances.ts";
import { FOR_BALANCES } from "../projections/needed.ts";
import { builder } from "./builder.ts";
import { decimalsField, pastArguments } from "./fields.ts";
import { coinTypeArgument, ownerArgument, ownerOf } from "./input.ts";
import { asOfIn, isByTime, readAsOf } from "./past.ts";

/** Description of every figure that includes grants. */
export const TIMELOCKS_INCLUDED =
  "False while the grant index is more than 1000 checkpoints behind the SharedToken index, such as " +
  "during the first catch-up: a grant claimed meanwhile would count twice. Grants are then left out.";

const TokenBalance = builder
  .objectRef<Row & { readonly coinType: string }>("TokenBalance")
  .implement({
    description:
      "Everything an owner holds, up to the checkpoint reached (indexerStatus): an owner whose first mint is not " +
      "indexed yet has a zero balance.",
    fields: (t) => ({
      owner: t.exposeString("owner", { description: "Wallet address, canonical." }),
      balance: t.exposeString("balance", {
        description:
          "SharedToken balances plus the tokens left in vesting grants, in the smallest unit, decimal. " +
          "Without timelockBalance it is the sum of the SharedToken objects.",
      }),
      objectCount: t.exposeInt("objectCount", {
        description: "Number of SharedToken objects; tokenObjects lists them.",
      }),
      timelockBalance: t.exposeString("timelockBalance", {
        description:
          "The vesting part of balance, decimal: locked tokens, and unlocked tokens not claimed yet. " +
          "They are in no SharedToken object and cannot be transferred before a claim. Zero while timelocksIncluded is false.",
      }),
      timelockCount: t.exposeInt("timelockCount", {
        description:
          "Number of live grants; tokenTimelocks lists them. Zero while timelocksIncluded is false.",
      }),
      timelocksIncluded: t.exposeBoolean("timelocksIncluded", { description: TIMELOCKS_INCLUDED }),
      decimals: t.int(decimalsField),
    }),
  });

builder.queryField("tokenBalance", (t) =>
  t.field({
    type: TokenBalance,
    nullable: true,
    description: "Balance of one owner; zero for an unknown owner or coin type.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      owner: t.arg.string(ownerArgument),
      ...pastArguments,
    },
    reads: { pipelines: () => FOR_BALANCES, several: isByTime },
    resolve: async (_root, args, context) => {
      const [owner, asOf] = [ownerOf(args.owner), asOfIn(args)];
      const coinType = await context.coinType(args.coinType);
      const balance = await readAsOf(context.reads.ofCoin(coinType, args), asOf, (at, on) =>
        tokenBalance(on, { coinType, owner, at }),
      );
      return { ...balance, coinType };
    },
  }),
);
