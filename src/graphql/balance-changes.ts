/** Every movement of a balance: `balanceChanges`. */
import {
  balanceChanges,
  CAUSES,
  type ChangePlace,
  followPlace,
  grantChangesTable,
  type BalanceChange as Row,
  tokenChangesTable,
} from "../projections/balance-changes.ts";
import { endStatements, grownBeyond } from "../projections/beyond.ts";
import { balanceChangesAcross, changesEnd } from "../projections/changes-across.ts";
import type { WalletPlace } from "../projections/event-holders.ts";
import type { WalletPeriod } from "../projections/event-range.ts";
import { FOR_BALANCES } from "../projections/needed.ts";
import { transactionAt } from "../projections/position.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
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
  SortOrder,
  staleArgument,
} from "./fields.ts";
import {
  changeCursorOf,
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  optionalOwnerOf,
  ownerArgument,
  typesIn,
} from "./input.ts";
import type { EventFilter } from "./streams/catch-up.ts";
import { continued, eventIn, followArguments, followLog } from "./streams/subscription.ts";
import { type AcrossLog, type EventLog, OF_ONE_TOPIC } from "./streams/topic.ts";

export const BalancePart = builder.enumType("BalancePart", {
  description: "The part of a balance that changed.",
  values: {
    TOKENS: { description: "Tokens in the SharedToken objects of an owner." },
    GRANTS: { description: "Tokens left in vesting grants for an owner." },
  },
});

export const CAUSE_VALUES = {
  MINT: { description: "Tokens were minted." },
  BURN: { description: "Tokens were burned." },
  TRANSFER: { description: "The holder sent tokens." },
  FORCE_TRANSFER: { description: "An administrator moved tokens." },
  GRANT_FUNDED: { description: "Tokens went into a vesting grant." },
  GRANT_CLAIMED: { description: "Unlocked tokens of a grant became tokens of its owner." },
  GRANT_CANCELLED: {
    description: "A grant was cancelled and its tokens were returned or moved.",
  },
  UNKNOWN: { description: "No event and no grant explains the change." },
} as const;

const BalanceChangeCause = builder.enumType("BalanceChangeCause", {
  description:
    "Why a balance changed; of several causes in a transaction the one with the largest sum.",
  values: CAUSE_VALUES,
});

/** A place in the form of `after`. */
export const cursorOf = ({ position, owner, part }: ChangePlace): string =>
  `${position}:${owner}:${part}`;

/** With the coin type, for events of several coin types. */
const cursorAcross = (place: ChangePlace): string =>
  place.coinType === undefined ? cursorOf(place) : `${cursorOf(place)}:${place.coinType}`;

/** A movement; a followed one has the place that its subscription gave it. */
type Shown = Row & WithHolders & { readonly cursor?: string | undefined };

/** The wallet after all events of the transaction. */
const placeOfWallet = ({ owner, position }: Row): WalletPlace => ({
  address: owner,
  position: transactionAt(position).end - 1n,
});

export const placesOfChange = (row: Row): readonly WalletPlace[] => [placeOfWallet(row)];

const typesOf = typesIn(CAUSES);

export const BalanceChange = builder.objectRef<Shown>("BalanceChange").implement({
  description:
    "How one transaction changed one part of an owner's balance. Written once, never changed.",
  fields: (t) => ({
    position: t.exposeString("position", {
      description: "Place of the transaction in chain order, decimal; its last four digits are 0.",
    }),
    checkpoint: t.exposeString("checkpoint", checkpointField),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
    txDigest: t.exposeString("txDigest", { description: "Digest of the transaction, base58." }),
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    owner: t.exposeString("owner", { description: "Wallet whose balance changed." }),
    holderId: t.string(holderField<Row>("Holder of owner after this transaction", placeOfWallet)),
    part: t.expose("part", { type: BalancePart, description: "The part that changed." }),
    cause: t.expose("cause", { type: BalanceChangeCause, description: "Why it changed." }),
    change: t.exposeString("change", {
      description: "Amount of the change in the smallest unit, decimal; negative for a decrease.",
    }),
    balanceAfter: t.exposeString("balanceAfter", {
      description: "This part of the owner's balance after the transaction, decimal.",
    }),
    cursor: t.string({
      description:
        "`<position>:<owner>:<part>`: pass it as after for the rows after this one. In a subscription to several " +
        "coin types it ends in `:<coinType>`, and is valid in such a subscription only.",
      resolve: (row) => row.cursor ?? cursorOf(row),
    }),
  }),
});

const isLong = ({ holderId }: { readonly holderId?: string | null | undefined }): boolean =>
  holderId != null;

/** A movement counts for who has the wallet at the end of its transaction. */
const overTransactions = ({ address, begins, ends }: WalletPeriod): WalletPeriod => ({
  address,
  begins: transactionAt(begins).from,
  ends: transactionAt(ends).from,
});

builder.queryField("balanceChanges", (t) =>
  t.field({
    type: [BalanceChange],
    cursorOf,
    nullable: true,
    description:
      "Every movement of the balances of a coin type, or of one owner: one row per transaction, owner and part, " +
      "ordered by position, owner and part (TOKENS first). Rows never appear before a cursor already returned. An " +
      "owner's changes add up to its balance. NOT_YET_INDEXED while the history of an upgraded database is being filled in.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      owner: t.arg.string({ ...ownerArgument, required: false }),
      after: t.arg.string({
        description: "Cursor of the last row seen: only rows after it in the chosen order.",
      }),
      limit: t.arg.int(limitArgument),
      order: t.arg({ type: SortOrder, defaultValue: "ASC", description: "Default: chain order." }),
      holderId: t.arg.string(holderIdArgument),
      types: t.arg({ type: [BalanceChangeCause], description: "Movements with these causes." }),
      ...rangeArguments,
      allowStale: t.arg.boolean(staleArgument),
    },
    complexity: (args) => {
      const cost = listCost(args);
      return { ...cost, field: cost.field + holderCost(args) };
    },
    reads: {
      pipelines: (args) => neededFor(FOR_BALANCES, args),
      several: (args) => args.holderId != null || isInTime(args),
      long: isLong,
    },
    resolve: async (_root, args, context, info) => {
      const { reads, longReads, coinType } = contextOfList(context, FOR_BALANCES, info);
      const page = {
        after: placeInOne(changeCursorOf(args.after)),
        limit: limitOf(args.limit),
        order: args.order === "DESC" ? ("desc" as const) : ("asc" as const),
        types: typesOf(args.types),
      };
      const asked = { range: rangeOf(args), wallets: walletsOf(args) };
      const coin = await coinType(args.coinType);
      const on = (isLong(args) ? longReads() : reads).ofCoin(coin, args);
      const { begins, ends, wallets } = await selectionOf(on, coin, asked, info);
      const rows = await balanceChanges(on, {
        ...page,
        coinType: coin,
        begins,
        ends,
        wallets: wallets?.map(overTransactions),
      });
      return showsHolders(info)
        ? withHolders(rows, { options: args, placesOf: placesOfChange })
        : rows;
    },
  }),
);

const ends = endStatements([tokenChangesTable, grantChangesTable]);

const placeOf = ({ position, owner, part }: ChangePlace): ChangePlace => ({
  position,
  owner,
  part,
});

const changes: EventLog<Row, ChangePlace> = {
  pipelines: FOR_BALANCES,
  page: ({ reads }, coinType, after, limit) =>
    balanceChanges(reads, { coinType, after, limit, order: "asc" }),
  newest: async ({ reads }, coinType) => {
    const [newest] = await balanceChanges(reads, { coinType, limit: 1, order: "desc" });
    return newest && placeOf(newest);
  },
  // All rows of a position become readable together, so new rows have later positions.
  grown: ({ reads }, read) =>
    grownBeyond(
      reads,
      ends,
      read.map(({ coinType, after }) => ({ coinType, position: after?.position })),
    ),
  placeOf,
  compare: (one, other) => {
    if (one.position !== other.position) return one.position < other.position ? -1 : 1;
    if (one.owner !== other.owner) return one.owner < other.owner ? -1 : 1;
    return Number(one.part === "GRANTS") - Number(other.part === "GRANTS");
  },
  show: cursorOf,
  behind: followPlace,
};

const across: AcrossLog<Row, ChangePlace> = {
  pipelines: FOR_BALANCES,
  page: ({ reads }, _all, after, limit) => balanceChangesAcross(reads, { after, limit }),
  pageOf: ({ reads }, range) => balanceChangesAcross(reads, range),
  newest: ({ reads }) => changesEnd(reads),
  ...OF_ONE_TOPIC,
  placeOf: ({ coinType, ...row }) => ({ ...placeOf(row), coinType }),
  compare: (one, other) => changes.compare(one, other) || compareCoins(one, other),
  show: cursorAcross,
  behind: followPlace,
};

/** A place without a coin type lies behind all coins of its position. */
const compareCoins = ({ coinType: one }: ChangePlace, { coinType: other }: ChangePlace): number => {
  if (one === other) return 0;
  return other === undefined || (one !== undefined && one < other) ? -1 : 1;
};

const followChanges = followLog({ one: changes, across });

/** The movements of one owner: pages come from the owner's index, live events are filtered. */
const changesOf = (owner: string): EventFilter<Row, ChangePlace> => ({
  wants: (row) => row.owner === owner,
  page: ({ reads }, coinType, after, limit) =>
    balanceChanges(reads, { coinType, owner, after, limit, order: "asc" }),
  pageOf: ({ reads }, range) => balanceChangesAcross(reads, { ...range, owner }),
});

/** @throws BAD_USER_INPUT for a place among several coin types, which is no place of one coin type */
const placeInOne = (place: ChangePlace | undefined): ChangePlace | undefined => {
  if (place?.coinType === undefined) return place;
  throw badInput(
    "after is the cursor of a subscription to several coin types; give one of this coin type",
    { argument: "after", reason: "CONFLICTS_WITH", conflictsWith: "coinType" },
  );
};

builder.subscriptionField("balanceChanges", (t) =>
  t.field({
    type: BalanceChange,
    description:
      "Movements of the balances of one coin type, several or all; the place of an event is its cursor. An owner needs " +
      "coinType or coinTypes. " +
      "NOT_YET_INDEXED while the history of an upgraded database is being filled in.",
    args: {
      ...followArguments,
      owner: t.arg.string({ ...ownerArgument, required: false }),
    },
    subscribe: (_root, args, context) => {
      const { coinType, coinTypes } = args;
      const owner = optionalOwnerOf(args.owner);
      if (owner !== undefined && coinType == null && coinTypes == null) {
        throw badInput("give coinType or coinTypes together with owner", {
          argument: "coinType",
          reason: "MISSING",
        });
      }
      const from = continued(context, args.after, changeCursorOf);
      return followChanges(context, {
        coinType,
        coinTypes,
        from: coinType == null ? from : { ...from, after: placeInOne(from.after) },
        filter: owner === undefined ? undefined : changesOf(owner),
      });
    },
    resolve: (event) => {
      const { row, at } = eventIn(event);
      return { ...row, cursor: at };
    },
  }),
);
