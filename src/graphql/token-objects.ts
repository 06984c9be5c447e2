/** The objects an owner's tokens are in: `tokenObjects`. */
import { type TokenObject as Row, tokenObjects } from "../projections/shared-token-objects.ts";
import { builder } from "./builder.ts";
import {
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  ownerArgument,
  ownerOf,
} from "./input.ts";

const TokenObject = builder.objectRef<Row>("TokenObject").implement({
  description: "A live SharedToken object.",
  fields: (t) => ({
    objectId: t.exposeString("objectId", { description: "Id of the object." }),
    owner: t.exposeString("owner", { description: "Wallet whose tokens it holds." }),
    balance: t.string({
      description: "Tokens in it, in the smallest unit, decimal.",
      resolve: ({ balance }) => balance.toString(),
    }),
    version: t.string({
      description: "Version of its last write, by a failed transaction too, decimal.",
      resolve: ({ version }) => version.toString(),
    }),
    checkpoint: t.string({
      description: "Checkpoint of its last write, decimal.",
      resolve: ({ checkpoint }) => checkpoint.toString(),
    }),
  }),
});

builder.queryField("tokenObjects", (t) =>
  t.field({
    type: [TokenObject],
    nullable: true,
    description:
      "The live SharedToken objects of one owner, by object id: those that objectCount counts.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      owner: t.arg.string(ownerArgument),
      limit: t.arg.int(limitArgument),
    },
    complexity: listCost,
    resolve: async (_root, args, { reads, coinType }) => {
      const [owner, limit] = [ownerOf(args.owner), limitOf(args.limit)];
      return tokenObjects(reads, { coinType: await coinType(args.coinType), owner, limit });
    },
  }),
);
