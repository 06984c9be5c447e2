/** What the company, its transfer agent and its shareholders do, as transactions. */
import type { Call } from "../contract/calls.ts";
import { claimableAt, lockedAt } from "../contract/grants.ts";
import { type Role, registerOf, roleType, rostersOf } from "../contract/securities.ts";
import { claim } from "../issuer/actions.ts";
import { issuerWallets, type Staff, staffOf } from "../issuer/people.ts";
import { SCHEDULES } from "../issuer/schedules.ts";
import { account, type Stage, transact, transactAll } from "../issuer/stage.ts";
import type { CoinModel, GrantModel, TokenModel } from "../model.ts";
import type { Kind, Person } from "./cast.ts";
import { COMMON, OPTIONS } from "./tokens.ts";

export const DAY_MS = 86_400_000n;

/** Transfer groups of the registers; 1 is also the one that the demo's transfer agent uses. */
export const GROUPS = { investors: 1n, employees: 2n, founders: 3n, issuer: 4n, lockup: 5n };

const GROUP_OF: Readonly<Record<Kind, bigint>> = {
  founder: GROUPS.founders,
  fund: GROUPS.investors,
  angel: GROUPS.investors,
  advisor: GROUPS.employees,
  employee: GROUPS.employees,
};

/** The token with this symbol. @throws Error before it is issued */
export const coinNamed = (stage: Stage, symbol: string): CoinModel => {
  const coin = stage.world.securities.model.coins.values().find((coin) => coin.symbol === symbol);
  if (coin === undefined) throw new Error(`${symbol} is not issued yet`);
  return coin;
};

const staff = (stage: Stage, symbol: string): Staff => staffOf(stage.keyring, symbol);

/** Whole tokens in smallest units. */
export const units = (stage: Stage, symbol: string, whole: bigint): bigint =>
  whole * 10n ** BigInt(coinNamed(stage, symbol).decimals);

/** Tokens for an amount of dollars, down to the smallest unit. @param price in 1/10,000 dollar */
export const bought = (stage: Stage, symbol: string, dollars: bigint, price: bigint): bigint =>
  (units(stage, symbol, dollars) * 10_000n) / price;

/** The n-th wallet that a person ever had, from 0. */
export const walletOf = (stage: Stage, { holderId }: Person, n = 0): string =>
  account(stage, `company/${holderId}/${n}`);

export const treasury = (stage: Stage): string => issuerWallets(stage, COMMON)[0];
/** Holds the options until they are granted. */
export const pool = (stage: Stage): string => issuerWallets(stage, COMMON)[1];

/** A person's wallets in a register now. */
export const walletsIn = (stage: Stage, symbol: string, { holderId }: Person): readonly string[] =>
  registerOf(stage.world.securities, coinNamed(stage, symbol).coinType).holders.get(holderId) ?? [];

/** Tokens of these wallets, largest first. */
export const tokensOf = (
  stage: Stage,
  symbol: string,
  wallets: readonly string[],
): readonly TokenModel[] => {
  const { securities } = stage.world;
  return rostersOf(securities, coinNamed(stage, symbol).coinType)
    .tokens.items.map((id) => securities.model.tokens.get(id))
    .filter((token) => token !== undefined)
    .filter(({ owner }) => wallets.includes(owner))
    .sort((a, b) => (a.balance === b.balance ? 0 : a.balance < b.balance ? 1 : -1));
};

export const grantsOf = (stage: Stage, person: Person): readonly GrantModel[] => {
  const { securities } = stage.world;
  const wallet = walletOf(stage, person);
  return rostersOf(securities, coinNamed(stage, OPTIONS).coinType)
    .grants.items.map((id) => securities.model.grants.get(id))
    .filter((grant) => grant !== undefined)
    .filter(({ owner }) => owner === wallet);
};

/** Registers a person, with the group of each wallet, in one transaction. */
export const enroll = (stage: Stage, symbol: string, person: Person): void => {
  if (walletsIn(stage, symbol, person).length > 0) return;
  const { coinType } = coinNamed(stage, symbol);
  const { holderId, kind, wallets: count = 1 } = person;
  const wallets = Array.from({ length: count }, (_, n) => walletOf(stage, person, n));
  transactAll(stage, staff(stage, symbol).registrar, [
    { function: "addHolder", args: { coinType, holderId, wallets } },
    ...wallets.map((wallet): Call => {
      const args = { coinType, wallet, groupId: GROUP_OF[kind] };
      return { function: "setAddressGroup", args };
    }),
  ]);
};

/** Mints to several wallets in one transaction, such as the closing of a round. */
export const issue = (
  stage: Stage,
  symbol: string,
  allotments: readonly { readonly to: string; readonly amount: bigint }[],
): void => {
  const { coinType } = coinNamed(stage, symbol);
  const calls = allotments.map((args): Call => ({ function: "mint", args: { coinType, ...args } }));
  transactAll(stage, staff(stage, symbol).reserve, calls);
};

/** Grants options from the pool; vesting begins on the day given, whenever this is executed. */
export const grantOptions = (
  stage: Stage,
  person: Person,
  { whole, day }: { readonly whole: bigint; readonly day: number },
): void => {
  const { coinType } = coinNamed(stage, OPTIONS);
  const [token] = tokensOf(stage, OPTIONS, [pool(stage)]);
  if (token === undefined) return;
  transact(stage, pool(stage), "fund", {
    ...(person.kind === "advisor" ? SCHEDULES.year : SCHEDULES.fourYears),
    coinType,
    token: token.id,
    recipient: walletOf(stage, person),
    commencementTimestampMs: foundedMs(stage) + BigInt(day) * DAY_MS,
    totalAmount: units(stage, OPTIONS, whole),
  });
};

/** When the company was founded, Unix ms. */
export const foundedMs = ({ world }: Stage): bigint => world.company?.foundedMs ?? 0n;

/** Takes what has vested, if anything has. Returns whether it did. */
export const claimVested = (stage: Stage, person: Person): boolean => {
  const due = grantsOf(stage, person).filter(
    (grant) => claimableAt(grant, stage.open.timestampMs) > 0n,
  );
  for (const grant of due) claim(stage, grant, tokensOf(stage, OPTIONS, [grant.owner])[0]);
  return due.length > 0;
};

/** Burns one token of a person and mints the same number of whole common shares in exchange. */
export const convert = (stage: Stage, person: Person, from: string, whole: bigint): boolean => {
  const wallet = walletOf(stage, person);
  const amount = units(stage, from, whole);
  const token = tokensOf(stage, from, [wallet]).find(({ balance }) => balance >= amount);
  if (token === undefined || !walletsIn(stage, COMMON, person).includes(wallet)) return false;
  const common = coinNamed(stage, COMMON).coinType;
  transactAll(stage, staff(stage, COMMON).reserve, [
    {
      function: "burnAmount",
      args: { coinType: coinNamed(stage, from).coinType, token: token.id, amount },
    },
    {
      function: "mint",
      args: { coinType: common, to: wallet, amount: units(stage, COMMON, whole) },
    },
  ]);
  return true;
};

/** Moves an amount between wallets, from one token or, if none suffices, the largest one whole. */
export const move = (
  stage: Stage,
  symbol: string,
  from: string,
  to: string,
  amount: bigint,
): boolean => {
  const { coinType } = coinNamed(stage, symbol);
  const [token] = tokensOf(stage, symbol, [from]);
  if (token === undefined || token.balance === 0n) return false;
  const args = { coinType, token: token.id, to };
  if (token.balance <= amount) transact(stage, from, "transfer", args);
  else transact(stage, from, "transferAmount", { ...args, amount });
  return true;
};

/** Freezes or releases a person's wallets in a register. */
export const freeze = (stage: Stage, symbol: string, person: Person, isFrozen: boolean): void => {
  const { coinType } = coinNamed(stage, symbol);
  const { frozen } = registerOf(stage.world.securities, coinType);
  for (const wallet of walletsIn(stage, symbol, person)) {
    if (frozen.has(wallet) === isFrozen) continue;
    transact(stage, staff(stage, symbol).officer, "setAddressFrozen", {
      coinType,
      wallet,
      isFrozen,
    });
  }
};

/** Moves all tokens of some wallets by the officer, as a court orders or after a lost key. */
export const moveByForce = (
  stage: Stage,
  symbol: string,
  from: readonly string[],
  to: string,
): void => {
  const { coinType } = coinNamed(stage, symbol);
  for (const { id } of tokensOf(stage, symbol, from)) {
    transact(stage, staff(stage, symbol).officer, "forceTransfer", { coinType, token: id, to });
  }
};

/** Puts wallets of these people into a group, where they are not in it. */
export const regroup = (
  stage: Stage,
  symbol: string,
  people: readonly Person[],
  groupId: bigint,
): void => {
  const { coinType } = coinNamed(stage, symbol);
  const { groups } = registerOf(stage.world.securities, coinType);
  const calls = people
    .flatMap((person) => walletsIn(stage, symbol, person))
    .filter((wallet) => groups.get(wallet) !== groupId)
    .map((wallet): Call => ({ function: "setAddressGroup", args: { coinType, wallet, groupId } }));
  if (calls.length > 0) transactAll(stage, staff(stage, symbol).registrar, calls);
};

/** Returns the unvested part of a person's grants to the pool, and deletes empty grants. */
export const cancelGrants = (stage: Stage, person: Person): void => {
  const { coinType } = coinNamed(stage, OPTIONS);
  for (const grant of grantsOf(stage, person)) {
    if (lockedAt(grant, stage.open.timestampMs) === 0n) continue;
    transact(stage, staff(stage, OPTIONS).officer, "cancel", {
      coinType,
      grant: grant.id,
      reclaimer: pool(stage),
    });
  }
  for (const { id, owner, leftBalance } of grantsOf(stage, person)) {
    if (leftBalance === 0n) transact(stage, owner, "destroyEmpty", { coinType, grant: id });
  }
  merge(stage, OPTIONS, pool(stage));
};

/** Joins a wallet's tokens into the largest, in one transaction. Returns whether there were two. */
export const merge = (stage: Stage, symbol: string, wallet: string): boolean => {
  const [into, ...others] = tokensOf(stage, symbol, [wallet]);
  if (into === undefined || others.length === 0) return false;
  const { coinType } = coinNamed(stage, symbol);
  const calls = others.map(({ id }): Call => {
    return { function: "join", args: { coinType, into: into.id, from: id } };
  });
  transactAll(stage, wallet, calls);
  return true;
};

/** Removes a person from a register. What its wallets still hold stays there. */
export const strikeOff = (stage: Stage, symbol: string, person: Person): void => {
  if (walletsIn(stage, symbol, person).length === 0) return;
  const { coinType } = coinNamed(stage, symbol);
  const { registrar } = staff(stage, symbol);
  transact(stage, registrar, "removeHolder", { coinType, holderId: person.holderId });
};

/** Gives a role of the company's contract to an account, or takes it, for some tokens. */
export const appoint = (
  stage: Stage,
  symbols: readonly string[],
  owner: string,
  role: Role,
  isGranted = true,
): void => appointOf(stage, symbols, owner, roleType(stage.world.securities, role), isGranted);

/** The same with a role type of any package. */
export const appointOf = (
  stage: Stage,
  symbols: readonly string[],
  owner: string,
  role: string,
  isGranted = true,
): void => {
  for (const symbol of symbols) {
    const { coinType } = coinNamed(stage, symbol);
    const name = isGranted ? "grantRole" : "revokeRole";
    transact(stage, staff(stage, symbol).admin, name, { coinType, owner, role });
  }
};
