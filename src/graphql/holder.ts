/** A holder with its wallets, and every change of its balance: `holder`. */
import { SHARE_DIGITS, shareOf } from "../../client/cap-rows.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { unlockedOf } from "../projections/cap-rows.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { holderHistory } from "../projections/holder-history.ts";
import {
  MOST_TENURES,
  type Tenure,
  tenuresOf,
  wasHolderAt,
} from "../projections/holder-tenures.ts";
import { FOR_CAP_TABLES } from "../projections/needed.ts";
import { type TokenTimelock as Grant, tokenTimelocks } from "../projections/timelock-objects.ts";
import { token } from "../projections/tokens.ts";
import { type WalletState, walletStates } from "../projections/wallet-states.ts";
import { unixSeconds } from "../values/seconds.ts";
import { once } from "../waiting/once.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { pastArguments, SortOrder } from "./fields.ts";
import { boundsArguments, boundsOf, changeCursor, HolderChange } from "./holder-changes.ts";
import {
  coinTypeArgument,
  grantCursorOf,
  historyCursorOf,
  holderIdIn,
  limitArgument,
  limitOf,
  listCost,
} from "./input.ts";
import { asOfIn, checkpointOf, markOf } from "./past.ts";
import { holderSubject, labelField, walletSubject } from "./shown-labels.ts";
import { grantCursor, TokenTimelock } from "./token-timelocks.ts";

/** A wallet, and when it was given to the holder, Unix milliseconds. */
type Member = WalletState & { readonly sinceMs: bigint };

type Shown = {
  readonly coinType: string;
  readonly holderId: bigint;
  readonly mark: CheckpointMark;
  readonly tenures: readonly Tenure[];
  readonly decimals: number | null;
  /** At the checkpoint. */
  readonly on: GuardedReads;
  readonly wallets: () => Promise<readonly Member[]>;
  readonly unlocked: () => Promise<bigint>;
};

/** Wallets of a holder, a high estimate. */
const EXPECTED_WALLETS = 10;

/** A page reads as many rows of each of its wallets. */
const HISTORY_COST = 100;

const READS = { pipelines: () => FOR_CAP_TABLES };

const sumOf = <Row>(rows: readonly Row[], amountOf: (row: Row) => bigint): bigint =>
  rows.reduce((sum, row) => sum + amountOf(row), 0n);

const balanceOf = ({ tokens, granted }: WalletState): bigint => tokens + granted;

const HolderWallet = builder.objectRef<Member>("HolderWallet").implement({
  description: "A wallet of a holder at the checkpoint.",
  fields: (t) => ({
    address: t.exposeString("address", { description: "Wallet address, canonical." }),
    label: t.string(labelField(({ address }: Member) => walletSubject(address))),
    balance: t.string({
      description: "Its tokens and grants, in the smallest unit, decimal.",
      resolve: balanceOf,
    }),
    tokens: t.exposeString("tokens", {
      description: "The part of balance in SharedToken objects, decimal.",
    }),
    granted: t.exposeString("granted", {
      description: "The part of balance in vesting grants, decimal.",
    }),
    groupId: t.exposeString("groupId", {
      nullable: true,
      description: "Transfer group that it is in, decimal; null for none.",
    }),
    isFrozen: t.exposeBoolean("isFrozen", { description: "Whether it is frozen." }),
    since: t.string({
      description: "When it was given to the holder, unix seconds.",
      resolve: ({ sinceMs }) => unixSeconds(sinceMs),
    }),
  }),
});

const ordered = (a: Grant, b: Grant): number => {
  const [one, other] = [a.commencementTimestampMs, b.commencementTimestampMs];
  if (one !== other) return one < other ? -1 : 1;
  return a.objectId < b.objectId ? -1 : 1;
};

const Holder = builder.objectRef<Shown>("Holder").implement({
  description:
    "A holder of a coin type, with all wallets that it has at the end of one checkpoint.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    holderId: t.exposeString("holderId", { description: 'Holder, decimal; "0" is a holder.' }),
    label: t.string(labelField((shown: Shown) => holderSubject(shown.coinType, shown.holderId))),
    checkpoint: t.string({
      description: "The answer is that of the end of this checkpoint, decimal.",
      resolve: ({ mark }) => mark.sequence,
    }),
    checkpointTimestamp: t.string({
      description: "Time of that checkpoint, unix seconds, decimal.",
      resolve: ({ mark }) => unixSeconds(mark.timestampMs),
    }),
    since: t.string({
      nullable: true,
      description: "When it was given its first wallet, unix seconds; null if it never had one.",
      resolve: ({ tenures }) => tenures[0] && unixSeconds(tenures[0].begin.timestampMs),
    }),
    balance: t.string({
      description: "Tokens and grants of all its wallets, in the smallest unit, decimal.",
      resolve: async ({ wallets }) => sumOf(await wallets(), balanceOf),
    }),
    tokens: t.string({
      description: "The part of balance in SharedToken objects, decimal.",
      resolve: async ({ wallets }) => sumOf(await wallets(), ({ tokens }) => tokens),
    }),
    granted: t.string({
      description: "The part of balance in vesting grants, decimal: unlocked plus locked.",
      resolve: async ({ wallets }) => sumOf(await wallets(), ({ granted }) => granted),
    }),
    unlocked: t.string({
      description: "The part of granted that could be claimed at the checkpoint's time, decimal.",
      resolve: ({ unlocked }) => unlocked(),
    }),
    locked: t.string({
      description: "The part of granted that could not be claimed yet, decimal.",
      resolve: async ({ wallets, unlocked }) =>
        sumOf(await wallets(), ({ granted }) => granted) - (await unlocked()),
    }),
    share: t.string({
      nullable: true,
      description: `balance divided by the token's totalSupply, ${SHARE_DIGITS} digits after the point, rounded down; null until a treasury was seen.`,
      resolve: async ({ coinType, mark, on, wallets }) => {
        const found = await token(on, { coinType, at: mark.sequence });
        const supply = found?.totalSupply ?? null;
        return supply === null ? null : shareOf(sumOf(await wallets(), balanceOf), supply);
      },
    }),
    wallets: t.field({
      type: [HolderWallet],
      description: "By address, ascending, empty wallets too.",
      complexity: { field: 1, multiplier: EXPECTED_WALLETS },
      resolve: ({ wallets }) => wallets(),
    }),
    grants: t.field({
      type: [TokenTimelock],
      cursorOf: grantCursor,
      description:
        "Live grants of its wallets, earliest commencement first, equal ones by object id, as in tokenTimelocks.",
      args: {
        limit: t.arg.int(limitArgument),
        after: t.arg.string({
          description:
            "`<commencementTimestampMs>:<objectId>` of the last row seen: only the grants after it.",
        }),
      },
      // A statement for each wallet with grants.
      complexity: ({ limit }) => ({ ...listCost({ limit }), field: HISTORY_COST }),
      reads: { ...READS, long: () => true },
      resolve: async ({ coinType, decimals, mark, on, wallets }, args) => {
        const page = { limit: limitOf(args.limit), after: grantCursorOf(args.after) };
        const granted = (await wallets()).filter((wallet) => wallet.granted > 0n);
        const each = await Promise.all(
          granted.map(({ address: owner }) =>
            tokenTimelocks(on, { ...page, coinType, owner, at: mark.sequence }),
          ),
        );
        const grants = each.flat().sort(ordered).slice(0, page.limit);
        return grants.map((grant) => ({ ...grant, decimals }));
      },
    }),
    history: t.field({
      type: [HolderChange],
      cursorOf: changeCursor,
      description:
        "Every change of its balance up to the checkpoint, over all wallets that it had then: the changes add up to " +
        "totalAfter, and in the end to balance. A page costs the same wherever it is.",
      args: {
        limit: t.arg.int(limitArgument),
        after: t.arg.string({
          description: "Cursor of the last row seen: only rows after it in the chosen order.",
        }),
        order: t.arg({
          type: SortOrder,
          defaultValue: "ASC",
          description: "Default: chain order.",
        }),
        ...boundsArguments,
      },
      complexity: ({ limit }) => ({ ...listCost({ limit }), field: HISTORY_COST }),
      reads: READS,
      resolve: async ({ coinType, mark, on, tenures }, args) =>
        holderHistory(on, {
          coinType,
          tenures,
          ...(await boundsOf(on, args, mark.sequence)),
          limit: limitOf(args.limit),
          order: args.order === "DESC" ? "desc" : "asc",
          after: historyCursorOf(args.after),
        }),
    }),
  }),
});

builder.queryField("holder", (t) =>
  t.field({
    type: Holder,
    nullable: true,
    description:
      "A holder with its wallets: as of a checkpoint, or by default as of the last one that shared_token_objects, " +
      "timelock_objects and holder_lifecycle have committed. Null when the register had no such holder by then.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      holderId: t.arg.string({ required: true, description: "The holder's number, decimal." }),
      ...pastArguments,
    },
    reads: { pipelines: () => FOR_CAP_TABLES, several: () => true },
    resolve: async (_root, args, context) => {
      const [holderId, asOf] = [holderIdIn(args.holderId), asOfIn(args)];
      const coinType = await context.coinType(args.coinType);
      const present = context.reads.ofCoin(coinType, args);
      const at = await checkpointOf(present, asOf);
      const on = present.at(at);
      const [mark, was, { tenures, areMore }] = await Promise.all([
        markOf(on, at),
        wasHolderAt(on, { coinType, holderId, at }),
        tenuresOf(on, { coinType, holderId, at }),
      ]);
      if (!was) return null;
      if (areMore) {
        throw badInput(
          `holder ${holderId} was given a wallet more than ${MOST_TENURES} times, which is more than an answer can hold: read the balanceChanges of its wallets`,
        );
      }
      const current = new Map(
        tenures.flatMap(({ address, begin, end }) =>
          end === null ? [[address, begin.timestampMs] as const] : [],
        ),
      );
      const addresses = [...current.keys()].sort();
      const wallets = once(async () => {
        const states = await walletStates(on, {
          wallets: addresses.map((address) => ({ coinType, address })),
          at,
        });
        return states.map((state) => ({ ...state, sinceMs: current.get(state.address) ?? 0n }));
      });
      const unlocked = once(async () => {
        const owners = (await wallets()).filter(({ granted }) => granted > 0n);
        return unlockedOf(on, {
          coinType,
          owners: owners.map(({ address }) => address),
          at: { checkpoint: at, timestampMs: mark.timestampMs },
        });
      });
      const decimals = context.decimals(coinType);
      return { coinType, holderId, mark, tenures, decimals, on, wallets, unlocked };
    },
  }),
);
