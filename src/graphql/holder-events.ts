/** Changes of the holder register: `holderEvents`. */

import {
  HOLDER_EVENT_TYPES,
  HOLDER_EVENTS_ACROSS,
  holderEvents,
  holderEventsAcross,
  holderEventsTable,
  type HolderEvent as Row,
} from "../projections/holder-events.ts";
import { FOR_HOLDERS } from "../projections/needed.ts";
import { builder } from "./builder.ts";
import {
  holderCost,
  isInTime,
  rangeArguments,
  rangeOf,
  selectionOf,
  walletsOf,
} from "./event-filters.ts";
import {
  checkpointTimestampField,
  checkpointTimestampMsField,
  eventIdField,
  logArguments,
  positionField,
} from "./fields.ts";
import { limitOf, listCost, ownerArgument, positionOf, sinceOf, typesIn } from "./input.ts";
import { eventIn, followArguments, followByPosition } from "./streams/subscription.ts";
import { acrossByPosition, logByPosition } from "./streams/topic.ts";

export const HolderEvent = builder.objectRef<Row>("HolderEvent").implement({
  description:
    "One change of the holder register. Apply each event once, by eventId, in order of position. " +
    "Group and freeze events have no holderId and do not change membership.",
  fields: (t) => ({
    eventType: t.exposeString("eventType", {
      description:
        "holder_address_added, holder_address_removed, holder_added (after the holder_address_added events " +
        "of its wallets: read those), holder_removed, " +
        "address_joined_group, address_left_group or address_frozen.",
    }),
    eventId: t.string(eventIdField),
    position: t.exposeString("position", positionField),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    holderId: t.exposeString("holderId", {
      nullable: true,
      description: 'Holder, decimal; "0" is a holder. Null for group and freeze events.',
    }),
    address: t.exposeString("address", {
      nullable: true,
      description: "Wallet; null for holder_added and holder_removed.",
    }),
    groupId: t.exposeString("groupId", {
      nullable: true,
      description: "Transfer group joined or left, decimal; null for other events.",
    }),
    isFrozen: t.exposeBoolean("isFrozen", {
      nullable: true,
      description:
        "For address_frozen: true when frozen, false when released; null for other events.",
    }),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
  }),
});

const typesOf = typesIn(HOLDER_EVENT_TYPES);

const isLong = ({ holderId }: { readonly holderId?: string | null | undefined }): boolean =>
  holderId != null;

builder.queryField("holderEvents", (t) =>
  t.field({
    type: [HolderEvent],
    cursorOf: ({ position }) => position,
    nullable: true,
    description:
      "Changes of the holder register, oldest first unless order says otherwise. sinceTimestamp includes the events of its own second, " +
      "so a page may repeat events; with after it never does. If both are given, both apply.",
    args: {
      ...logArguments,
      owner: t.arg.string({
        required: false,
        description: `Events of this wallet. ${ownerArgument.description}`,
      }),
      holderId: t.arg.string({
        description:
          "Events of this holder (its number, decimal), and those of its wallets while it had them. With owner: of that wallet alone.",
      }),
      types: t.arg.stringList({ description: "Events of these types, as in eventType." }),
      ...rangeArguments,
    },
    complexity: (args) => {
      const cost = listCost(args);
      return { ...cost, field: cost.field + holderCost(args) };
    },
    reads: {
      pipelines: () => FOR_HOLDERS,
      several: (args) => args.holderId != null || isInTime(args),
      long: isLong,
    },
    resolve: async (_root, args, { reads, longReads, coinType }) => {
      const page = {
        limit: limitOf(args.limit),
        sinceTimestamp: sinceOf(args.sinceTimestamp),
        after: positionOf(args.after),
        order: args.order === "DESC" ? ("desc" as const) : ("asc" as const),
        types: typesOf(args.types),
      };
      const asked = { range: rangeOf(args), wallets: walletsOf(args) };
      const coin = await coinType(args.coinType);
      const on = (isLong(args) ? longReads() : reads).ofCoin(coin, args);
      const selection = await selectionOf(on, coin, asked);
      const { holderId, owner } = asked.wallets;
      const holder =
        holderId === undefined ? {} : { holder: { holderId, isOneWallet: owner !== undefined } };
      return holderEvents(on, { ...page, ...selection, ...holder, coinType: coin });
    },
  }),
);

const followHolders = followByPosition({
  one: logByPosition<Row>(FOR_HOLDERS, holderEventsTable, ({ reads }, coinType, after, limit) =>
    holderEvents(reads, { coinType, after, limit }),
  ),
  across: acrossByPosition<Row>(FOR_HOLDERS, HOLDER_EVENTS_ACROSS, ({ reads }, range) =>
    holderEventsAcross(reads, range),
  ),
});

builder.subscriptionField("holderEvents", (t) =>
  t.field({
    type: HolderEvent,
    description:
      "Changes of the holder register of one coin type, several or all; the place of an event is its position.",
    args: followArguments,
    subscribe: followHolders,
    resolve: (event) => eventIn(event).row,
  }),
);
