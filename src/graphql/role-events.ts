/** Grants and revocations of roles: `roleEvents`. */

import { FOR_ROLES } from "../projections/needed.ts";
import {
  ROLE_EVENTS_ACROSS,
  type RoleEvent as Row,
  roleEvents,
  roleEventsAcross,
  roleEventsTable,
} from "../projections/roles.ts";
import { builder } from "./builder.ts";
import { isInTime, positionsOf, rangeArguments, rangeOf } from "./event-filters.ts";
import {
  checkpointTimestampField,
  checkpointTimestampMsField,
  eventIdField,
  logArguments,
  positionField,
} from "./fields.ts";
import { limitOf, listCost, optionalOwnerOf, ownerArgument, positionOf, sinceOf } from "./input.ts";
import { eventIn, followArguments, followByPosition } from "./streams/subscription.ts";
import { acrossByPosition, logByPosition } from "./streams/topic.ts";

export const RoleEvent = builder.objectRef<Row>("RoleEvent").implement({
  description: "A role granted or revoked.",
  fields: (t) => ({
    eventId: t.string(eventIdField),
    position: t.exposeString("position", positionField),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    owner: t.exposeString("owner", { description: "Wallet whose role changed." }),
    role: t.exposeString("role", { description: "Canonical type name of the role." }),
    roleBit: t.exposeInt("roleBit", {
      description: "Bit of the role, as in WalletRole.roleBits; 0 for a role of another package.",
    }),
    granted: t.exposeBoolean("granted", { description: "True when granted, false when revoked." }),
    signer: t.exposeString("signer", { description: "Address that signed the transaction." }),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
  }),
});

builder.queryField("roleEvents", (t) =>
  t.field({
    type: [RoleEvent],
    cursorOf: ({ position }) => position,
    nullable: true,
    description:
      "Grants and revocations, oldest first unless order says otherwise; the arguments are those of holderEvents.",
    args: {
      ...logArguments,
      owner: t.arg.string({
        required: false,
        description: `Events of this wallet. ${ownerArgument.description}`,
      }),
      ...rangeArguments,
    },
    complexity: listCost,
    reads: { pipelines: () => FOR_ROLES, several: isInTime },
    resolve: async (_root, args, { reads, packages, coinType }) => {
      const page = {
        limit: limitOf(args.limit),
        sinceTimestamp: sinceOf(args.sinceTimestamp),
        after: positionOf(args.after),
        order: args.order === "DESC" ? ("desc" as const) : ("asc" as const),
        owner: optionalOwnerOf(args.owner),
      };
      const range = rangeOf(args);
      const of = { coinType: await coinType(args.coinType), packages: await packages() };
      const on = reads.ofCoin(of.coinType, args);
      return roleEvents(on, { ...page, ...(await positionsOf(on, range)), ...of });
    },
  }),
);

const followRoles = followByPosition({
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
      "Roles granted and revoked, of one coin type, several or all; the place of an event is its position.",
    args: followArguments,
    subscribe: followRoles,
    resolve: (event) => eventIn(event).row,
  }),
);
