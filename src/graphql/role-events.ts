/** Grants and revocations of roles: `roleEvents`. */

import { unixSeconds } from "../http/health/health.ts";
import { FOR_ROLES } from "../projections/needed.ts";
import {
  ROLE_EVENTS_ACROSS,
  type RoleEvent as Row,
  roleEvents,
  roleEventsAcross,
  roleEventsTable,
} from "../projections/roles.ts";
import { builder } from "./builder.ts";
import { acrossByPosition, logByPosition } from "./event-log.ts";
import {
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  positionOf,
  sinceArgument,
  sinceOf,
} from "./input.ts";
import { afterOf, followArguments, following } from "./subscribing.ts";

const RoleEvent = builder.objectRef<Row>("RoleEvent").implement({
  description: "A role granted or revoked.",
  fields: (t) => ({
    eventId: t.string({
      description: "{txDigest}-{eventSeq}; the same after any replay.",
      resolve: ({ txDigest, eventSeq }) => `${txDigest}-${eventSeq}`,
    }),
    position: t.string({
      description:
        "Place in chain order, decimal; rises with the chain, the same after any replay.",
      resolve: ({ position }) => position.toString(),
    }),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    owner: t.exposeString("owner", { description: "Wallet whose role changed." }),
    role: t.exposeString("role", { description: "Canonical type name of the role." }),
    roleBit: t.exposeInt("roleBit", {
      description: "Bit of the role, as in WalletRole.roleBits; 0 for a role of another package.",
    }),
    granted: t.exposeBoolean("granted", { description: "True when granted, false when revoked." }),
    signer: t.exposeString("signer", { description: "Address that signed the transaction." }),
    checkpointTimestamp: t.string({
      description: "Time of the checkpoint, unix seconds, decimal.",
      resolve: ({ timestampMs }) => unixSeconds(timestampMs).toString(),
    }),
  }),
});

builder.queryField("roleEvents", (t) =>
  t.field({
    type: [RoleEvent],
    nullable: true,
    description: "Grants and revocations, oldest first; the arguments are those of holderEvents.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      sinceTimestamp: t.arg.string(sinceArgument),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Position of the last event seen: only later ones." }),
    },
    complexity: listCost,
    resolve: async (_root, args, { readsOf, packages, coinType }) => {
      const page = {
        limit: limitOf(args.limit),
        sinceTimestamp: sinceOf(args.sinceTimestamp),
        after: positionOf(args.after),
      };
      const of = { coinType: await coinType(args.coinType), packages: await packages() };
      return roleEvents(readsOf(FOR_ROLES), { ...page, ...of });
    },
  }),
);

const followRoles = following({
  one: logByPosition<Row>(
    FOR_ROLES,
    roleEventsTable,
    async ({ reads, packages }, coinType, after, limit) =>
      roleEvents(reads, { coinType, after, limit, packages: await packages() }),
  ),
  across: acrossByPosition<Row>(FOR_ROLES, ROLE_EVENTS_ACROSS, async ({ reads, packages }, range) =>
    roleEventsAcross(reads, { ...range, packages: await packages() }),
  ),
});

builder.subscriptionField("roleEvents", (t) =>
  t.field({
    type: RoleEvent,
    description:
      "Roles granted and revoked, of a coin type, of several or of all; the place of one is its position.",
    args: {
      coinType: t.arg.string(followArguments.coinType),
      coinTypes: t.arg.stringList(followArguments.coinTypes),
      after: t.arg.string(followArguments.after),
    },
    subscribe: (_root, args, context) =>
      followRoles(context, {
        coinType: args.coinType,
        coinTypes: args.coinTypes,
        after: positionOf(afterOf(context, args.after)),
      }),
    resolve: ({ row }) => row,
  }),
);
