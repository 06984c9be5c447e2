/** The owners of a coin, holder by holder, at the end of a checkpoint: `capTable`. */
import { SHARE_DIGITS, shareOf } from "../../client/cap-rows.ts";
import { rowSubject } from "../labels/read.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { followPlace } from "../projections/balance-changes.ts";
import {
  type CapRow,
  type CapTotals,
  type CapWallet,
  isRowOf,
  type Matches,
} from "../projections/cap-tables.ts";
import { FOR_CAP_TABLES } from "../projections/needed.ts";
import { token } from "../projections/tokens.ts";
import { unixSeconds } from "../values/seconds.ts";
import { once } from "../waiting/once.ts";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import { cursorOf } from "./balance-changes.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { pastArguments } from "./fields.ts";
import {
  capCursorOf,
  coinTypeArgument,
  limitArgument,
  limitOf,
  listCost,
  whoseOf,
} from "./input.ts";
import { asOfIn, checkpointOf, markOf } from "./past.ts";
import { labelField, walletSubject } from "./shown-labels.ts";

type Totals = { readonly totals: () => Promise<CapTotals> };

type Row = CapRow & Totals & { readonly coinType: string };

type Table = Totals & {
  /** Root of version 2. */
  readonly root2: () => Promise<string | null>;
  readonly coinType: string;
  readonly mark: CheckpointMark;
  readonly totalSupply: bigint | null;
  readonly rows: () => Promise<readonly CapRow[]>;
};

/** Average wallets of a holder, an estimate. */
const EXPECTED_WALLETS = 2;

/** A page of any length reads every owner of the coin. */
const TABLE_COST = 1_000;

/** Cursor of a row. */
const placeText = ({ balance, holderId, wallets }: CapRow): string =>
  `${balance}:${holderId ?? wallets[0]?.address ?? ""}`;

const CapTableWallet = builder.objectRef<CapWallet>("CapTableWallet").implement({
  description: "A wallet at the checkpoint.",
  fields: (t) => ({
    address: t.exposeString("address", { description: "Wallet address, canonical." }),
    balance: t.exposeString("balance", {
      description: "Its tokens and grants, in the smallest unit, decimal.",
    }),
    groupId: t.exposeString("groupId", {
      nullable: true,
      description: "Transfer group it was in, decimal; null when it was in none.",
    }),
    isFrozen: t.exposeBoolean("isFrozen", { description: "Whether it was frozen." }),
    label: t.string(labelField(({ address }: CapWallet) => walletSubject(address))),
  }),
});

const CapTableRow = builder.objectRef<Row>("CapTableRow").implement({
  description: "A holder with all its wallets, or one wallet that belonged to no holder.",
  fields: (t) => ({
    holderId: t.exposeString("holderId", {
      nullable: true,
      description: 'Holder, decimal; "0" is a holder. Null for a wallet without one.',
    }),
    label: t.string({
      ...labelField(({ coinType, ...row }: Row) => rowSubject(coinType, row)),
      description:
        "Label of the holder, or of a wallet without one; null without a label, and for keys that do not see labels.",
    }),
    wallets: t.field({
      type: [CapTableWallet],
      description: "By address, ascending, empty wallets too.",
      complexity: { field: 1, multiplier: EXPECTED_WALLETS },
      resolve: ({ wallets }) => wallets,
    }),
    balance: t.exposeString("balance", {
      description: "Tokens and grants of all its wallets, in the smallest unit, decimal.",
    }),
    tokens: t.exposeString("tokens", {
      description: "The part of balance in SharedToken objects, decimal.",
    }),
    granted: t.exposeString("granted", {
      description: "The part of balance in vesting grants, decimal: unlocked plus locked.",
    }),
    unlocked: t.exposeString("unlocked", {
      description: "The part of granted that could be claimed at the checkpoint's time, decimal.",
    }),
    locked: t.exposeString("locked", {
      description: "The part of granted that could not be claimed yet, decimal.",
    }),
    share: t.string({
      description: `balance divided by issued, ${SHARE_DIGITS} digits after the point, rounded down.`,
      resolve: async ({ balance, totals }) => shareOf(balance, (await totals()).issued),
    }),
    cursor: t.string({
      description: "Pass it as after for the rows after this one.",
      resolve: placeText,
    }),
  }),
});

const CapTable = builder.objectRef<Table>("CapTable").implement({
  description: "The register of a coin type at the end of one checkpoint.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    decimals: t.int({
      nullable: true,
      description: "Decimals of the coin, as known now; null until its metadata is known.",
      resolve: ({ coinType }, _args, { decimals }) => decimals(coinType),
    }),
    checkpoint: t.string({
      description: "The register is that of the end of this checkpoint, decimal.",
      resolve: ({ mark }) => mark.sequence,
    }),
    checkpointTimestamp: t.string({
      description: "Time of that checkpoint, unix seconds, decimal.",
      resolve: ({ mark }) => unixSeconds(mark.timestampMs),
    }),
    checkpointDigest: t.string({
      description: "Digest of that checkpoint, base58.",
      resolve: ({ mark }) => mark.digest,
    }),
    followCursor: t.string({
      description:
        "Pass it as after to the query or the subscription balanceChanges for exactly the changes after this cap table.",
      resolve: ({ mark }) => cursorOf(followPlace(mark.sequence)),
    }),
    totalSupply: t.exposeString("totalSupply", {
      nullable: true,
      description:
        "Supply in the treasury object, in the smallest unit, decimal; null until one was seen.",
    }),
    issued: t.string({
      description:
        "Sum of the balances of all rows, whatever the page, decimal; equals totalSupply.",
      resolve: async ({ totals }) => (await totals()).issued,
    }),
    holderCount: t.int({
      description: "Number of rows, whatever the page.",
      resolve: async ({ totals }) => (await totals()).holderCount,
    }),
    root: t.string({
      description: "Root of the Merkle sum tree over all rows, whatever the page, hex without 0x.",
      args: {
        version: t.arg.int({
          defaultValue: 1,
          description:
            "2: the root of version 2 statements, which also covers groups, freezes, single wallets, unlocked, locked and decimals.",
        }),
      },
      resolve: async ({ totals, root2 }, { version }) => {
        const root = version === 2 ? await root2() : (version ?? 1) === 1 && (await totals()).root;
        if (!root) {
          throw badInput("version must be 1 or 2", {
            argument: "version",
            reason: "UNKNOWN_VALUE",
          });
        }
        return root;
      },
    }),
    rows: t.field({
      type: [CapTableRow],
      cursorOf: placeText,
      description:
        "By balance, largest first; equal ones by holder id, then wallets without a holder by address. " +
        "There are no rows with a zero balance.",
      resolve: async ({ coinType, rows, totals }) =>
        (await rows()).map((row) => ({ ...row, coinType, totals })),
    }),
  }),
});

const RowsWith = builder.enumType("RowsWith", {
  description: "Rows of a cap table that need attention.",
  values: {
    NO_HOLDER: { description: "A wallet with a balance and no holder." },
    FROZEN_BALANCE: { description: "At least one of its wallets is frozen and has a balance." },
  },
});

const WITH: Readonly<Record<typeof RowsWith.$inferType, Matches>> = {
  NO_HOLDER: ({ holderId }) => holderId === null,
  FROZEN_BALANCE: ({ wallets }) =>
    wallets.some(({ isFrozen, balance }) => isFrozen && balance > 0n),
};

/** Rows that meet all given conditions; undefined when none is given. */
const filterOf = (
  holder: string | null | undefined,
  having: typeof RowsWith.$inferType | null | undefined,
): Matches | undefined => {
  const conditions = [
    ...(holder == null ? [] : [isRowOf(whoseOf(holder))]),
    ...(having == null ? [] : [WITH[having]]),
  ];
  return conditions.length === 0 ? undefined : (row) => conditions.every((matches) => matches(row));
};

builder.queryField("capTable", (t) =>
  t.field({
    type: CapTable,
    nullable: true,
    description:
      "The owners of a coin type, one row per holder with all its wallets: as of a checkpoint, or by default " +
      "as of the last one that shared_token_objects, timelock_objects and holder_lifecycle have committed. " +
      "Copy a long table with after at a fixed atCheckpoint. Null for a coin type that was not seen by then.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      ...pastArguments,
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Cursor of the last row seen: only rows after it." }),
      holder: t.arg.string({
        description:
          "Only the row of this holder (its number, decimal) or of this wallet (its address). Totals cover all rows.",
      }),
      having: t.arg({
        type: RowsWith,
        description: "Only such rows. Totals cover all rows.",
      }),
    },
    complexity: ({ limit }) => ({ ...listCost({ limit }), field: TABLE_COST }),
    reads: { pipelines: () => FOR_CAP_TABLES, several: () => true, long: () => true },
    resolve: async (_root, args, context) => {
      const { capTables } = context;
      const page = {
        limit: limitOf(args.limit),
        after: capCursorOf(args.after),
        matches: filterOf(args.holder, args.having),
      };
      const asOf = asOfIn(args);
      const coinType = await context.coinType(args.coinType);
      const present = context.reads.ofCoin(coinType, args);
      const checkpoint = await checkpointOf(present, asOf);
      const reads = present.at(checkpoint);
      const [found, mark] = await Promise.all([
        token(reads, { coinType, at: checkpoint }),
        markOf(reads, checkpoint),
      ]);
      if (found === null) return null;
      const at = { checkpoint, timestampMs: mark.timestampMs };
      // The first read caches the whole table for the others.
      const inTurn = oneAtATime();
      const decimals = context.decimals(coinType);
      return {
        coinType,
        mark,
        totalSupply: found.totalSupply,
        totals: once(() => inTurn(() => capTables.totals(reads, { coinType, at }))),
        root2: once(() =>
          inTurn(async () => (await capTables.totals(reads, { coinType, at, decimals })).root2),
        ),
        rows: once(() => inTurn(() => capTables.rows(reads, { ...page, coinType, at }))),
      };
    },
  }),
);
