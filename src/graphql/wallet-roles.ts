/** The administrators of a token: `walletRoles`. */
import { FOR_ROLES } from "../projections/needed.ts";
import { type WalletRole as Row, walletRoles } from "../projections/roles.ts";
import { builder } from "./builder.ts";
import { pastArguments } from "./fields.ts";
import { coinTypeArgument } from "./input.ts";
import { asOfIn, isByTime, isPast, readAsOf } from "./past.ts";

/** Administrators of one token, a high estimate: the list has no limit. */
const EXPECTED_OWNERS = 100;

const WalletRole = builder.objectRef<Row>("WalletRole").implement({
  description: "An address with at least one role now.",
  fields: (t) => ({
    owner: t.exposeString("owner", { description: "Wallet address, canonical." }),
    roleBits: t.exposeInt("roleBits", {
      description:
        "Sum of the bits of its roles: ContractAdmin 1, ReserveAdmin 2, WalletsAdmin 4, TransferAdmin 8, " +
        "TimelockCanceler 16. A role type of the same name from another package adds no bit.",
    }),
    roles: t.exposeStringList("roles", {
      description:
        "Canonical type names, `<package>::roles::<RoleName>`, also those of other packages.",
    }),
  }),
});

builder.queryField("walletRoles", (t) =>
  t.field({
    type: [WalletRole],
    nullable: true,
    description:
      "Addresses that may administer the token, ascending; the newest event of each owner and role decides. " +
      "Incomplete during a backfill: check the age of role_changes in indexerStatus before you replace a copy.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      ...pastArguments,
    },
    complexity: { field: 1, multiplier: EXPECTED_OWNERS },
    reads: {
      pipelines: () => FOR_ROLES,
      several: isByTime,
      unlimited: (args) => ({ coinType: args.coinType, isPast: isPast(args) }),
    },
    resolve: async (_root, args, context) => {
      const asOf = asOfIn(args);
      const coinType = await context.coinType(args.coinType);
      const packages = await context.packages();
      return context.unlimited({ coinType, isPast: isPast(args) }, (reads) =>
        readAsOf(reads.ofCoin(coinType, args), asOf, (at, on) =>
          walletRoles(on, { coinType, packages, at }),
        ),
      );
    },
  }),
);
