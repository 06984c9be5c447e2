/** Random actions with security tokens after the opening, and their weights. */

import type { Call } from "../contract/calls.ts";
import { claimableAt, lockedAt } from "../contract/grants.ts";
import { hasRole, ROLES, registerOf, roleType, rostersOf } from "../contract/securities.ts";
import type { CoinModel, GrantModel, TokenModel } from "../model.ts";
import { amountUpTo, between, chance, pick, pickWeighted, roll } from "../random.ts";
import { tryInVain } from "./failures.ts";
import { imitate, lookAlike } from "./foreign.ts";
import {
  DEPUTIES,
  deputy,
  drawGrant,
  drawInvestor,
  drawToken,
  drawWallet,
  holderIdOf,
  investorWallets,
  type Staff,
  staffOf,
} from "./people.ts";
import { drawTerms } from "./schedules.ts";
import { type Stage, transact, transactAll } from "./stage.ts";

/** A possible action; does nothing when no object fits. */
type Action = {
  readonly weight: number;
  readonly run: (stage: Stage, coin: CoinModel, staff: Staff) => void;
};

const registerActions: readonly Action[] = [
  {
    weight: 6,
    run: (stage, { coinType }, { registrar }) => {
      const { dice, securities } = stage.world;
      const investor = drawInvestor(stage);
      const holderId = holderIdOf(investor);
      const register = registerOf(securities, coinType);
      const free = investorWallets(stage, investor).filter(
        (wallet) => !register.wallets.has(wallet),
      );
      const [wallet] = free;
      if (wallet === undefined) return;
      if (!register.holders.has(holderId) && chance(dice, 0.5)) {
        const wallets = free.slice(0, between(dice, 1, free.length));
        transact(stage, registrar, "addHolder", { coinType, holderId, wallets });
        return;
      }
      // Whitelisting: wallet and group in one transaction.
      const groupId = BigInt(roll(dice, 4));
      transactAll(stage, registrar, [
        { function: "addHolderAddress", args: { coinType, holderId, wallet } },
        { function: "setAddressGroup", args: { coinType, wallet, groupId } },
      ]);
    },
  },
  {
    weight: 4,
    run: (stage, { coinType }, { registrar }) => {
      const wallet = drawWallet(stage, coinType);
      if (wallet === undefined) return;
      const groupId = BigInt(roll(stage.world.dice, 5));
      transact(stage, registrar, "setAddressGroup", { coinType, wallet, groupId });
    },
  },
  {
    weight: 1,
    run: (stage, { coinType }, { registrar }) => {
      const { groups } = registerOf(stage.world.securities, coinType);
      const wallet = drawWallet(stage, coinType, (one) => groups.has(one));
      if (wallet === undefined) return;
      transact(stage, registrar, "clearAddressGroup", { coinType, wallet });
    },
  },
  {
    weight: 1,
    run: (stage, { coinType }, { registrar }) => {
      const { wallets, holders } = registerOf(stage.world.securities, coinType);
      const wallet = drawWallet(stage, coinType, (one) => wallets.get(one) !== 0n);
      const holderId = wallets.get(wallet ?? "");
      if (wallet === undefined || holderId === undefined) return;
      const ours = holders.get(holderId)?.every((one) => stage.keyring.knows(one)) ?? false;
      if (chance(stage.world.dice, 0.3) && ours) {
        transact(stage, registrar, "removeHolder", { coinType, holderId });
      } else transact(stage, registrar, "removeHolderAddress", { coinType, holderId, wallet });
    },
  },
  {
    weight: 2,
    run: (stage, { coinType }, { officer }) => {
      const { frozen, wallets } = registerOf(stage.world.securities, coinType);
      const release = frozen.size > wallets.size / 10;
      const longest = frozen.keys().find((one) => stage.keyring.knows(one));
      const wallet = release ? longest : drawWallet(stage, coinType, (one) => !frozen.has(one));
      if (wallet === undefined) return;
      transact(stage, officer, "setAddressFrozen", { coinType, wallet, isFrozen: !release });
    },
  },
];

/** Claims what is unlocked, into `token` or a new one. */
export const claim = (stage: Stage, grant: GrantModel, token: TokenModel | undefined): void => {
  const { coinType, id, owner } = grant;
  if (token === undefined) transact(stage, owner, "claim", { coinType, grant: id });
  else transact(stage, owner, "claimInto", { coinType, grant: id, token: token.id });
};

const grantActions: readonly Action[] = [
  {
    weight: 6,
    run: (stage, { coinType }) => {
      const { dice, securities } = stage.world;
      const grants = rostersOf(securities, coinType).grants.items.length;
      if (grants > stage.pace.investors * 2) return;
      const token = drawToken(stage, coinType, ({ balance }) => balance > 10n);
      const recipient = drawWallet(stage, coinType);
      if (token === undefined || recipient === undefined) return;
      const terms = drawTerms(dice, stage.open.timestampMs, amountUpTo(dice, token.balance));
      transact(stage, token.owner, "fund", { ...terms, coinType, token: token.id, recipient });
    },
  },
  {
    weight: 8,
    run: (stage, { coinType }) => {
      const now = stage.open.timestampMs;
      const grant = drawGrant(stage, coinType, (one) => claimableAt(one, now) > 0n);
      if (grant === undefined) return;
      const token = drawToken(stage, coinType, ({ owner }) => owner === grant.owner);
      claim(stage, grant, token);
    },
  },
  {
    weight: 2,
    run: (stage, { coinType }, { officer }) => {
      const now = stage.open.timestampMs;
      const grant = drawGrant(stage, coinType, (one) => lockedAt(one, now) > 0n);
      if (grant === undefined) return;
      transact(stage, officer, "cancel", { coinType, grant: grant.id, reclaimer: grant.funder });
    },
  },
  {
    weight: 3,
    run: (stage, { coinType }) => {
      const grant = drawGrant(stage, coinType, ({ leftBalance }) => leftBalance === 0n);
      if (grant === undefined) return;
      transact(stage, grant.owner, "destroyEmpty", { coinType, grant: grant.id });
    },
  },
];

/** Maximum whole tokens of a mint. */
const LARGEST_MINT = 10_000n;

/** Mints for random wallets, in one transaction. */
const mint = (stage: Stage, coin: CoinModel, reserve: string, count: number): void => {
  const { coinType } = coin;
  const calls = Array.from({ length: count }, (): Call | undefined => {
    const to = drawWallet(stage, coinType);
    if (to === undefined) return undefined;
    const amount = amountUpTo(stage.world.dice, LARGEST_MINT * 10n ** BigInt(coin.decimals));
    return { function: "mint", args: { coinType, to, amount } };
  }).filter((call) => call !== undefined);
  if (calls.length > 0) transactAll(stage, reserve, calls);
};

const supplyActions: readonly Action[] = [
  { weight: 10, run: (stage, coin, { reserve }) => mint(stage, coin, reserve, 1) },
  {
    // An offering.
    weight: 4,
    run: (stage, coin, { reserve }) => mint(stage, coin, reserve, between(stage.world.dice, 3, 8)),
  },
  {
    weight: 4,
    run: (stage, { coinType }, { reserve }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 0n);
      if (token === undefined) return;
      const amount = chance(stage.world.dice, 0.1)
        ? token.balance
        : amountUpTo(stage.world.dice, token.balance);
      transact(stage, reserve, "burnAmount", { coinType, token: token.id, amount });
    },
  },
  {
    weight: 3,
    run: (stage, { coinType }, { reserve }) => burnOne(stage, coinType, reserve),
  },
];

const burnOne = (stage: Stage, coinType: string, reserve: string): void => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return;
  transact(stage, reserve, "burn", { coinType, token: token.id });
};

/** Moves a whole token, by its owner or the officer. */
const moveWhole = (weight: number, name: "transfer" | "forceTransfer"): Action => ({
  weight,
  run: (stage, { coinType }, { officer }) => {
    const token = drawToken(stage, coinType);
    const to = drawWallet(stage, coinType, (wallet) => wallet !== token?.owner);
    if (token === undefined || to === undefined) return;
    const sender = name === "transfer" ? token.owner : officer;
    transact(stage, sender, name, { coinType, token: token.id, to });
  },
});

const tokenActions: readonly Action[] = [
  {
    weight: 14,
    run: (stage, { coinType }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 1n);
      if (token === undefined) return;
      const to = drawWallet(stage, coinType, (wallet) => wallet !== token.owner);
      if (to === undefined) return;
      const amount = amountUpTo(stage.world.dice, token.balance);
      transact(stage, token.owner, "transferAmount", { coinType, token: token.id, to, amount });
    },
  },
  moveWhole(10, "transfer"),
  moveWhole(3, "forceTransfer"),
  {
    weight: 5,
    run: (stage, { coinType }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 1n);
      if (token === undefined) return;
      const amount = amountUpTo(stage.world.dice, token.balance - 1n);
      transact(stage, token.owner, "split", { coinType, token: token.id, amount });
    },
  },
  {
    weight: 9,
    run: (stage, { coinType }) => {
      const into = drawToken(stage, coinType);
      if (into === undefined) return;
      const from = drawToken(
        stage,
        coinType,
        ({ id, owner }) => owner === into.owner && id !== into.id,
      );
      if (from === undefined) return;
      transact(stage, into.owner, "join", { coinType, into: into.id, from: from.id });
    },
  },
];

/** Creates and deletes a token in one checkpoint. */
export const flash = (stage: Stage, { coinType }: CoinModel, { reserve }: Staff): void => {
  const to = drawWallet(stage, coinType);
  if (to === undefined) return;
  transact(stage, reserve, "mint", { coinType, to, amount: 77n });
  const token = rostersOf(stage.world.securities, coinType).tokens.items.at(-1);
  if (token === undefined) return;
  transact(stage, reserve, "burn", { coinType, token });
};

/** Writes a token several times in one checkpoint, changing owners and back. */
export const churn = (stage: Stage, { coinType }: CoinModel): void => {
  const { frozen, wallets } = registerOf(stage.world.securities, coinType);
  const token = drawToken(
    stage,
    coinType,
    ({ balance, owner }) => balance > 2n && wallets.has(owner) && !frozen.has(owner),
  );
  if (token === undefined) return;
  const other = drawWallet(
    stage,
    coinType,
    (wallet) => wallet !== token.owner && !frozen.has(wallet),
  );
  if (other === undefined) return;
  const { id, owner } = token;
  transact(stage, owner, "transfer", { coinType, token: id, to: other });
  transact(stage, other, "split", { coinType, token: id, amount: 1n });
  transact(stage, other, "transfer", { coinType, token: id, to: owner });
};

const roleActions: readonly Action[] = [
  {
    weight: 2,
    run: (stage, { coinType }, { admin }) => {
      const { dice, securities } = stage.world;
      const name = pick(dice, ROLES) ?? "WalletsAdmin";
      const role = chance(dice, 0.2)
        ? `${lookAlike(stage)}::roles::${name}`
        : roleType(securities, name);
      const owner = deputy(stage, roll(dice, DEPUTIES));
      const has = hasRole(securities, coinType, owner, role);
      transact(stage, admin, has ? "revokeRole" : "grantRole", { coinType, owner, role });
    },
  },
];

const oddActions: readonly Action[] = [
  { weight: 4, run: tryInVain },
  { weight: 1, run: flash },
  { weight: 2, run: churn },
  { weight: 1, run: (stage, { coinType }) => imitate(stage, coinType) },
];

const ACTIONS: readonly Action[] = [
  ...supplyActions,
  ...tokenActions,
  ...grantActions,
  ...registerActions,
  ...roleActions,
  ...oddActions,
];

export const actAtRandom = (stage: Stage): void => {
  const { dice, securities } = stage.world;
  const coin = pick(dice, [...securities.model.coins.values()]);
  if (coin === undefined) return;
  const staff = staffOf(stage.keyring, coin.symbol);
  // Keeps the number of tokens bounded.
  const tokens = rostersOf(securities, coin.coinType).tokens.items.length;
  if (tokens > stage.pace.investors * 3) burnOne(stage, coin.coinType, staff.reserve);
  else pickWeighted(dice, ACTIONS)?.run(stage, coin, staff);
};
