/** The log of token movements: `tokenActivity`. */

import type { WalletPlace } from "../projections/event-holders.ts";
import { FOR_ACTIVITY } from "../projections/needed.ts";
import {
  ACTIVITY_ACROSS,
  ACTIVITY_TYPES,
  type ActivityType,
  type TokenActivity as Row,
  tokenActivity,
  tokenActivityAcross,
  tokenActivityTable,
} from "../projections/token-activity.ts";
import { builder } from "./builder.ts";
import {
  holderCost,
  holderIdArgument,
  isInTime,
  neededFor,
  rangeArguments,
  rangeOf,
  selectionOf,
  walletsOf,
} from "./event-filters.ts";
import {
  contextOfList,
  holderField,
  showsHolders,
  type WithHolders,
  withHolders,
} from "./event-holder.ts";
import {
  checkpointField,
  checkpointTimestampField,
  checkpointTimestampMsField,
  decimalsField,
  eventIdField,
  SortOrder,
  staleArgument,
} from "./fields.ts";
import {
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  MAX_OFFSET,
  offsetOf,
  ownerArgument,
  positionOf,
  typesIn,
} from "./input.ts";
import { eventIn, followArguments, followByPosition } from "./streams/subscription.ts";
import { acrossByPosition, logByPosition } from "./streams/topic.ts";

/** Rows skipped cost a hundredth of rows returned: they are read, and nothing else. */
const SKIPPED_PER_COST = 100;

/** Larger offsets take longer than a page does. */
const SHORT_OFFSET = 1_000;

const isLong = (args: {
  readonly offset?: number | null | undefined;
  readonly holderId?: string | null | undefined;
}): boolean => (args.offset ?? 0) > SHORT_OFFSET || args.holderId != null;

const [typesOf, typeOf] = [typesIn(ACTIVITY_TYPES), typesIn(ACTIVITY_TYPES, "activityType")];

/** Of one type, of some, of those that both name; undefined: of all. */
const typesAmong = (
  one: string | null | undefined,
  some: readonly string[] | null | undefined,
): readonly ActivityType[] | undefined => {
  const [only, types] = [typeOf(one == null ? one : [one]), typesOf(some)];
  return only === undefined ? types : only.filter((type) => types?.includes(type) ?? true);
};

/** A wallet at a movement; null without one. */
const placeOf = (address: string | null, { position }: Row): WalletPlace | null =>
  address === null ? null : { address, position };

/** Both wallets of a movement. */
export const placesOfMovement = (row: Row): readonly WalletPlace[] =>
  [row.fromAddress, row.toAddress].flatMap((address) => placeOf(address, row) ?? []);

export const TokenActivity = builder.objectRef<Row & WithHolders>("TokenActivity").implement({
  description: "One movement of tokens, as the contract emitted it. Written once, never changed.",
  fields: (t) => ({
    activityType: t.exposeString("activityType", {
      description: "mint, burn, transfer or force_transfer.",
    }),
    txDigest: t.exposeString("txDigest", { description: "Digest of the transaction, base58." }),
    eventSeq: t.exposeInt("eventSeq", {
      description: "Number of the event inside its transaction, from 0.",
    }),
    eventId: t.string(eventIdField),
    position: t.exposeString("position", {
      description:
        "Place in chain order, decimal; the same after any replay. Page with it, see the argument after.",
    }),
    checkpoint: t.exposeString("checkpoint", checkpointField),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
    amount: t.exposeString("amount", {
      description: "Tokens moved, in the smallest unit, decimal; divide by 10^decimals to show it.",
    }),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    decimals: t.int(decimalsField),
    fromAddress: t.exposeString("fromAddress", {
      nullable: true,
      description: "Wallet the tokens left; null for a mint.",
    }),
    toAddress: t.exposeString("toAddress", {
      nullable: true,
      description: "Wallet the tokens reached; null for a burn.",
    }),
    fromHolderId: t.string(
      holderField<Row>("Holder of fromAddress at this event", (row) =>
        placeOf(row.fromAddress, row),
      ),
    ),
    toHolderId: t.string(
      holderField<Row>("Holder of toAddress at this event", (row) => placeOf(row.toAddress, row)),
    ),
    signer: t.exposeString("signer", { description: "Address that signed the transaction." }),
    tokenObjectId: t.exposeString("tokenObjectId", {
      description: "SharedToken object the event names.",
    }),
  }),
});

builder.queryField("tokenActivity", (t) =>
  t.field({
    type: [TokenActivity],
    cursorOf: ({ position }) => position,
    nullable: true,
    description:
      "The chronological log of a coin type. Page through a long one with after rather than offset: " +
      "it costs the same on every page, and rows that arrive meanwhile shift nothing.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      limit: t.arg.int(limitArgument),
      offset: t.arg.int({
        defaultValue: 0,
        description: `Rows to skip, 0 to ${MAX_OFFSET}; counted after the argument after.`,
      }),
      order: t.arg({ type: SortOrder, defaultValue: "ASC", description: "Default: chain order." }),
      after: t.arg.string({
        description:
          "Position of the last row seen: only rows after it in the chosen order (later ones with ASC, earlier ones with DESC).",
      }),
      activityType: t.arg.string({
        description: `Movements of one type: ${ACTIVITY_TYPES.join(", ")}. All types by default.`,
      }),
      types: t.arg.stringList({ description: "Movements of these types, as in activityType." }),
      owner: t.arg.string({
        required: false,
        description: `Movements from or to this wallet. ${ownerArgument.description}`,
      }),
      holderId: t.arg.string(holderIdArgument),
      ...rangeArguments,
      allowStale: t.arg.boolean(staleArgument),
    },
    complexity: ({ limit, offset, holderId }) => ({
      ...listCost({ limit }),
      field:
        1 +
        Math.floor(Math.min(Math.max(0, offset ?? 0), MAX_OFFSET) / SKIPPED_PER_COST) +
        holderCost({ holderId }),
    }),
    reads: {
      pipelines: (args) => neededFor(FOR_ACTIVITY, args),
      several: (args) => args.holderId != null || isInTime(args),
      long: isLong,
    },
    resolve: async (_root, args, context, info) => {
      const { reads, longReads, coinType } = contextOfList(context, FOR_ACTIVITY, info);
      const page = {
        limit: limitOf(args.limit),
        offset: offsetOf(args.offset),
        order: args.order === "DESC" ? ("desc" as const) : ("asc" as const),
        after: positionOf(args.after),
        types: typesAmong(args.activityType, args.types),
      };
      const asked = { range: rangeOf(args), wallets: walletsOf(args) };
      const coin = await coinType(args.coinType);
      const on = (isLong(args) ? longReads() : reads).ofCoin(coin, args);
      const selection = await selectionOf(on, coin, asked, info);
      const rows = await tokenActivity(on, { ...page, ...selection, coinType: coin });
      return showsHolders(info)
        ? withHolders(rows, { options: args, placesOf: placesOfMovement })
        : rows;
    },
  }),
);

const followActivity = followByPosition({
  one: logByPosition<Row>(FOR_ACTIVITY, tokenActivityTable, ({ reads }, coinType, after, limit) =>
    tokenActivity(reads, { coinType, after, limit, offset: 0, order: "asc" }),
  ),
  across: acrossByPosition<Row>(FOR_ACTIVITY, ACTIVITY_ACROSS, ({ reads }, range) =>
    tokenActivityAcross(reads, range),
  ),
});

builder.subscriptionField("tokenActivity", (t) =>
  t.field({
    type: TokenActivity,
    description:
      "Movements of one coin type, several or all, in chain order; the place of an event is its position.",
    args: followArguments,
    subscribe: followActivity,
    resolve: (event, _args, { coinType }) => {
      const { row } = eventIn(event);
      // Its decimals may be known by now.
      const known = coinType(row.coinType);
      return known instanceof Promise ? known.then(() => row) : row;
    },
  }),
);
