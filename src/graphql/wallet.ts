/** A wallet with all its tokens: `wallet`. */
import { roleBits } from "../ledger/contract/roles.ts";
import type { CheckpointMark } from "../log/fact.ts";
import { type HeldIn, NO_COIN } from "../projections/held-coins.ts";
import { FOR_WALLETS } from "../projections/needed.ts";
import { type TokenNames, tokenNames } from "../projections/tokens.ts";
import {
  coinsOfWallet,
  type WalletWithRoles,
  walletsWithRoles,
} from "../projections/wallet-states.ts";
import { lowest } from "../values/bigints.ts";
import { unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { pastArguments } from "./fields.ts";
import { addressOf, coinCursorOf, limitArgument, limitOf, listCost } from "./input.ts";
import { asOfIn, checkpointOf, isPast, markOf } from "./past.ts";
import { labelField, walletSubject } from "./shown-labels.ts";

type Page = { readonly limit: number; readonly after: string | undefined };

type Shown = {
  readonly address: string;
  readonly mark: CheckpointMark;
  readonly tokens: (page: Page) => Promise<readonly Held[]>;
};

type Held = WalletWithRoles & {
  readonly names: TokenNames | undefined;
  readonly decimals: number | null;
  readonly roleBits: number;
};

/** Coins read at a time. */
const COINS_PER_READ = 1_000;

/** Reads of an answer at most: a wallet may have been in many coins, and be in none of them now. */
const MOST_READS = 10;

const MOST_COINS = MOST_READS * COINS_PER_READ;

const WalletToken = builder.objectRef<Held>("WalletToken").implement({
  description: "What a wallet holds and is in one token.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    decimals: t.exposeInt("decimals", {
      nullable: true,
      description: "Decimals of the coin; null until its metadata is known.",
    }),
    symbol: t.string({
      nullable: true,
      description: "From the newest metadata, in past answers too; null until metadata was seen.",
      resolve: ({ names }) => names?.symbol ?? null,
    }),
    name: t.string({
      nullable: true,
      description: "From the newest metadata, in past answers too; null until metadata was seen.",
      resolve: ({ names }) => names?.name ?? null,
    }),
    balance: t.string({
      description: "Tokens and grants, in the smallest unit, decimal.",
      resolve: ({ tokens, granted }) => tokens + granted,
    }),
    tokens: t.exposeString("tokens", {
      description: "The part of balance in SharedToken objects, decimal.",
    }),
    granted: t.exposeString("granted", {
      description: "The part of balance in vesting grants, decimal.",
    }),
    holderId: t.exposeString("holderId", {
      nullable: true,
      description: 'Holder that it belongs to, decimal; "0" is a holder. Null for none.',
    }),
    groupId: t.exposeString("groupId", {
      nullable: true,
      description: "Transfer group that it is in, decimal; null for none.",
    }),
    isFrozen: t.exposeBoolean("isFrozen", { description: "Whether it is frozen." }),
    roles: t.exposeStringList("roles", {
      description: "Canonical type names of its roles, ascending, as in WalletRole.",
    }),
    roleBits: t.exposeInt("roleBits", {
      description: "Sum of the bits of its roles, as in WalletRole.",
    }),
  }),
});

const Wallet = builder.objectRef<Shown>("Wallet").implement({
  description: "A wallet at the end of one checkpoint.",
  fields: (t) => ({
    address: t.exposeString("address", { description: "Wallet address, canonical." }),
    label: t.string(labelField(({ address }: Shown) => walletSubject(address))),
    checkpoint: t.string({
      description: "The answer is that of the end of this checkpoint, decimal.",
      resolve: ({ mark }) => mark.sequence,
    }),
    checkpointTimestamp: t.string({
      description: "Time of that checkpoint, unix seconds, decimal.",
      resolve: ({ mark }) => unixSeconds(mark.timestampMs),
    }),
    tokens: t.field({
      type: [WalletToken],
      cursorOf: ({ coinType }) => coinType,
      description:
        "Tokens of which it has a balance, or in which it has a holder, a group, a freeze or a role, by coin type.",
      args: {
        limit: t.arg.int(limitArgument),
        after: t.arg.string({
          description: "Coin type of the last row seen: only those after it.",
        }),
      },
      complexity: listCost,
      reads: { pipelines: () => FOR_WALLETS },
      resolve: ({ tokens }, { limit, after }) =>
        tokens({ limit: limitOf(limit), after: coinCursorOf(after) }),
    }),
  }),
});

builder.queryField("wallet", (t) =>
  t.field({
    type: Wallet,
    nullable: true,
    description:
      "A wallet with all its tokens: as of a checkpoint, or by default as of the last one that shared_token_objects, " +
      "timelock_objects, holder_lifecycle and role_changes have committed. An unknown wallet has no tokens. Coins in " +
      "quarantine by then are left out; extensions.quarantined names them. With allowStale the answer is that of the " +
      "checkpoint before one of its coins was.",
    args: {
      address: t.arg.string({
        required: true,
        description: "Wallet address; the short form and any letter case are accepted.",
      }),
      ...pastArguments,
    },
    reads: { pipelines: () => FOR_WALLETS, several: () => true },
    resolve: async (_root, args, context) => {
      const [address, asOf] = [addressOf(args.address), asOfIn(args)];
      const ofNone = context.reads.ofCoin(NO_COIN);
      let held: readonly HeldIn[] = [];
      const noting = context.reads.upToHolds((all) => {
        held = all;
      });
      const isStale = isPast(args) && asOf === undefined;
      const known: string[] = [];
      for (let isMore = true; isMore; ) {
        const one = { address, after: known.at(-1), limit: COINS_PER_READ };
        const coins = await coinsOfWallet(noting, one);
        known.push(...coins);
        isMore = isStale && coins.length === COINS_PER_READ;
        if (isMore && known.length >= MOST_COINS) {
          throw badInput(
            `allowStale: the wallet was in more than ${MOST_COINS - 1} tokens, which are not all looked at: give atCheckpoint`,
          );
        }
      }
      const before = held.flatMap(({ coinType, from }) =>
        isStale && known.includes(coinType) ? [from - 1n] : [],
      );
      const checkpoint = lowest(await checkpointOf(ofNone, asOf), ...before);
      const reads = ofNone.at(checkpoint);
      const leftOut = held.filter(({ from }) => from <= checkpoint);
      context.leftOut.add(leftOut);
      const without = new Set(leftOut.map(({ coinType }) => coinType));

      const page = async (after: string | undefined, limit: number): Promise<WalletWithRoles[]> => {
        const found: WalletWithRoles[] = [];
        let last = after;
        for (let times = 0; times < MOST_READS; times += 1) {
          const coins = await coinsOfWallet(reads, { address, after: last, limit: COINS_PER_READ });
          const shown = coins.filter((coinType) => !without.has(coinType));
          const wallets = shown.map((coinType) => ({ coinType, address }));
          const states = await walletsWithRoles(reads, { wallets, at: checkpoint });
          found.push(...states.filter(isAny));
          if (found.length >= limit || coins.length < COINS_PER_READ) return found.slice(0, limit);
          last = coins.at(-1);
        }
        const remedy =
          found.length === 0 ? `go on with after: "${last}"` : `ask for limit: ${found.length}`;
        throw badInput(
          `tokens: only ${found.length} of the ${MOST_COINS} tokens looked at have a row, the limit is ${limit}: ${remedy}`,
        );
      };

      return {
        address,
        mark: await markOf(ofNone, checkpoint),
        tokens: async ({ after, limit }: Page) => {
          const states = await page(after, limit);
          const coins = states.map(({ coinType }) => coinType);
          const [names, decimals] = [
            await tokenNames(reads, coins),
            await context.decimalsOf(coins),
          ];
          const bitOf = roleBits(await context.packages());
          return states.map((state) => ({
            ...state,
            names: names.get(state.coinType),
            decimals: decimals.get(state.coinType) ?? null,
            roleBits: state.roles.reduce((bits, role) => bits | bitOf(role), 0),
          }));
        },
      };
    },
  }),
);

const isAny = ({ tokens, granted, holderId, groupId, isFrozen, roles }: WalletWithRoles): boolean =>
  tokens + granted > 0n || holderId !== null || groupId !== null || isFrozen || roles.length > 0;
