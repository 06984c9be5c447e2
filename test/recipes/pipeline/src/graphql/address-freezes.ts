/** Freezes and releases of wallets: `addressFreezes`. */
import {
  addressFreezes,
  freezeProgress,
  type AddressFreeze as Row,
} from "../projections/address-freezes.ts";
import { builder } from "./builder.ts";
import { checkpointTimestampMsField, pastArguments, positionField } from "./fields.ts";
import { coinTypeArgument, limitArgument, limitOf, listCost, positionOf } from "./input.ts";
import { asOfIn, isByTime, readAsOf } from "./past.ts";

const AddressFreeze = builder.objectRef<Row>("AddressFreeze").implement({
  description: "A wallet that was frozen or released.",
  fields: (t) => ({
    position: t.exposeString("position", positionField),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    address: t.exposeString("address", { description: "The wallet." }),
    isFrozen: t.exposeBoolean("isFrozen", { description: "False when it was released." }),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
  }),
});

builder.queryField("addressFreezes", (t) =>
  t.field({
    type: [AddressFreeze],
    nullable: true,
    description: "Freezes and releases of a coin's wallets, oldest first.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Position of the last row seen: only later ones." }),
      ...pastArguments,
    },
    complexity: listCost,
    reads: { pipelines: () => [freezeProgress], several: isByTime },
    resolve: async (_root, args, { reads, coinType }) => {
      const page = { limit: limitOf(args.limit), after: positionOf(args.after) };
      const asOf = asOfIn(args);
      const coin = await coinType(args.coinType);
      return readAsOf(reads, asOf, (at, on) => addressFreezes(on, { ...page, coinType: coin, at }));
    },
  }),
);
