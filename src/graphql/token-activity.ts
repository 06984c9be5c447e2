/** The log of token movements: `tokenActivity`. */

import { FOR_ACTIVITY } from "../projections/needed.ts";
import {
  ACTIVITY_ACROSS,
  ACTIVITY_TYPES,
  type TokenActivity as Row,
  tokenActivity,
  tokenActivityAcross,
  tokenActivityTable,
} from "../projections/token-activity.ts";
import { builder } from "./builder.ts";
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
  activityTypeOf,
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  MAX_OFFSET,
  offsetOf,
  positionOf,
} from "./input.ts";
import { eventIn, followArguments, followByPosition } from "./streams/subscription.ts";
import { acrossByPosition, logByPosition } from "./streams/topic.ts";

/** Rows skipped cost a hundredth of rows returned: they are read, and nothing else. */
const SKIPPED_PER_COST = 100;

/** Finding rows of a rare type may take reading the whole log of a coin type. */
const OF_TYPE_COST = 1_000;

/** Larger offsets take longer than a page does. */
const SHORT_OFFSET = 1_000;

const isLong = (args: {
  readonly offset?: number | null | undefined;
  readonly activityType?: string | null | undefined;
}): boolean => (args.offset ?? 0) > SHORT_OFFSET || args.activityType != null;

export const TokenActivity = builder.objectRef<Row>("TokenActivity").implement({
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
    signer: t.exposeString("signer", { description: "Address that signed the transaction." }),
    tokenObjectId: t.exposeString("tokenObjectId", {
      description: "SharedToken object the event names.",
    }),
  }),
});

builder.queryField("tokenActivity", (t) =>
  t.field({
    type: [TokenActivity],
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
      allowStale: t.arg.boolean(staleArgument),
    },
    complexity: ({ limit, offset, activityType }) => ({
      ...listCost({ limit }),
      field:
        1 +
        Math.floor(Math.min(Math.max(0, offset ?? 0), MAX_OFFSET) / SKIPPED_PER_COST) +
        (activityType == null ? 0 : OF_TYPE_COST),
    }),
    reads: { pipelines: () => FOR_ACTIVITY, long: isLong },
    resolve: async (_root, args, { reads, longReads, coinType }) => {
      const page = {
        limit: limitOf(args.limit),
        offset: offsetOf(args.offset),
        order: args.order === "DESC" ? ("desc" as const) : ("asc" as const),
        after: positionOf(args.after),
        activityType: activityTypeOf(args.activityType),
      };
      const coin = await coinType(args.coinType);
      const on = isLong(args) ? longReads() : reads;
      return tokenActivity(on.ofCoin(coin, args), { ...page, coinType: coin });
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
