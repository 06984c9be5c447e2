/** The objects that hold an owner's tokens: `tokenObjects`. */
import { FOR_TOKEN_OBJECTS } from "../projections/needed.ts";
import { type TokenObject as Row, tokenObjects } from "../projections/shared-token-objects.ts";
import { builder } from "./builder.ts";
import { pastArguments } from "./fields.ts";
import {
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  objectCursorOf,
  ownerArgument,
  ownerOf,
} from "./input.ts";
import { asOfIn, isByTime, readAsOf } from "./past.ts";

const TokenObject = builder.objectRef<Row>("TokenObject").implement({
  description: "A live SharedToken object.",
  fields: (t) => ({
    objectId: t.exposeString("objectId", { description: "Id of the object." }),
    owner: t.exposeString("owner", { description: "Wallet whose tokens it holds." }),
    balance: t.exposeString("balance", {
      description: "Tokens in it, in the smallest unit, decimal.",
    }),
    version: t.exposeString("version", {
      description: "Version of its last write, also by a failed transaction, decimal.",
    }),
    checkpoint: t.exposeString("checkpoint", {
      description: "Checkpoint of its last write, decimal.",
    }),
  }),
});

builder.queryField("tokenObjects", (t) =>
  t.field({
    type: [TokenObject],
    cursorOf: ({ objectId }) => objectId,
    nullable: true,
    description:
      "The live SharedToken objects of one owner, by object id; objectCount counts them.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      owner: t.arg.string(ownerArgument),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Object id of the last row seen: only those after it." }),
      ...pastArguments,
    },
    complexity: listCost,
    reads: { pipelines: () => FOR_TOKEN_OBJECTS, several: isByTime },
    resolve: async (_root, args, { reads, coinType }) => {
      const page = {
        owner: ownerOf(args.owner),
        limit: limitOf(args.limit),
        after: objectCursorOf(args.after),
      };
      const asOf = asOfIn(args);
      const coin = await coinType(args.coinType);
      return readAsOf(reads.ofCoin(coin, args), asOf, (at, on) =>
        tokenObjects(on, { ...page, coinType: coin, at }),
      );
    },
  }),
);
