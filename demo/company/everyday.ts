/** What happens on ordinary days, at random: trades within the rules, claims, wallets, freezes. */
import { highest } from "../../src/values/bigints.ts";
import { registerOf, rostersOf } from "../contract/securities.ts";
import { drawToken, drawWallet, staffOf } from "../issuer/people.ts";
import { type Stage, transact } from "../issuer/stage.ts";
import { between, chance, pick, pickWeighted } from "../random.ts";
import { CAST, type Person, SEED_DAY, SERIES_A_DAY, STILL_FROZEN } from "./cast.ts";
import {
  bought,
  claimVested,
  coinNamed,
  convert,
  enroll,
  freeze,
  GROUPS,
  grantOptions,
  merge,
  move,
  pool,
  regroup,
  tokensOf,
  treasury,
  units,
  walletOf,
  walletsIn,
} from "./desk.ts";
import { COMMON, OPTIONS, PREFERRED } from "./tokens.ts";

/** Returns whether there was something to do. */
type Habit = {
  readonly weight: number;
  readonly run: (stage: Stage, day: number) => boolean;
};

const LOTS = [25n, 40n, 50n, 75n, 100n, 120n, 150n, 200n, 250n, 300n, 500n, 750n, 1_000n, 1_500n];
/** In dollars: trades for a sum come to fractions of a share. */
const SUMS = [250n, 500n, 750n, 1_000n, 1_500n, 2_500n, 4_000n, 5_000n, 10_000n];

/** Price of a common share, in 1/10,000 dollar. */
const priceOn = (day: number): bigint => 4_000n + 27n * BigInt(day) + BigInt((day * 7919) % 613);

/** Group whose wallets may not sell: the round's lockup, and the company itself. */
const mayNotSell: ReadonlySet<bigint | undefined> = new Set([GROUPS.lockup, GROUPS.issuer]);

/** Sells part of a token to an investor; frozen and locked wallets neither sell nor buy. */
const trade = (stage: Stage, symbol: string, amount: bigint): boolean => {
  const { coinType } = coinNamed(stage, symbol);
  const { frozen, groups } = registerOf(stage.world.securities, coinType);
  const token = drawToken(
    stage,
    coinType,
    ({ owner, balance }) =>
      balance > 0n && groups.has(owner) && !mayNotSell.has(groups.get(owner)) && !frozen.has(owner),
  );
  if (token === undefined) return false;
  const to = drawWallet(
    stage,
    coinType,
    (wallet) =>
      wallet !== token.owner && groups.get(wallet) === GROUPS.investors && !frozen.has(wallet),
  );
  if (to === undefined) return false;
  // Large holders sell in lots as well; a small one sells a part, or all at last.
  const most = token.balance / 2n;
  const sold = amount <= most ? amount : most > units(stage, symbol, 20n) ? most : token.balance;
  return move(stage, symbol, token.owner, to, sold);
};

const anyone = (stage: Stage, kinds: readonly Person["kind"][]): Person | undefined =>
  pick(
    stage.world.dice,
    CAST.filter(({ kind }) => kinds.includes(kind)),
  );

const REGISTERS = [COMMON, COMMON, PREFERRED];
const drawRegister = (stage: Stage): string => pick(stage.world.dice, REGISTERS) ?? COMMON;

/** Between a person's own wallets, such as into custody. */
const rearrange: Habit["run"] = (stage, day) => {
  const symbol = drawRegister(stage);
  const person = anyone(stage, ["founder", "fund", "angel"]);
  if (person === undefined) return false;
  const { frozen } = registerOf(stage.world.securities, coinNamed(stage, symbol).coinType);
  const wallets = walletsIn(stage, symbol, person).filter((wallet) => !frozen.has(wallet));
  const from = pick(stage.world.dice, wallets);
  const to = wallets.find((wallet) => wallet !== from);
  if (from === undefined || to === undefined) return false;
  const sum = pick(stage.world.dice, SUMS) ?? 1_000n;
  return move(stage, symbol, from, to, bought(stage, symbol, 10n * sum, priceOn(day)));
};

/** Adds a second or third wallet, or removes one that is empty. */
const changeWallets: Habit["run"] = (stage) => {
  const symbol = drawRegister(stage);
  const person = anyone(stage, ["fund", "angel"]);
  if (person === undefined) return false;
  const { coinType } = coinNamed(stage, symbol);
  const { holderId } = person;
  const { registrar } = staffOf(stage.keyring, symbol);
  const { groups } = registerOf(stage.world.securities, coinType);
  const wallets = walletsIn(stage, symbol, person);
  const [first, ...others] = wallets;
  if (first === undefined) return false;
  const empty = others.find((wallet) => tokensOf(stage, symbol, [wallet]).length === 0);
  if (empty !== undefined) {
    transact(stage, registrar, "removeHolderAddress", { coinType, holderId, wallet: empty });
    return true;
  }
  const wallet = [1, 2, 3]
    .map((n) => walletOf(stage, person, n))
    .find((one) => !wallets.includes(one));
  const groupId = groups.get(first);
  if (wallet === undefined || groupId === undefined || wallets.length > 2) return false;
  transact(stage, registrar, "addHolderAddress", { coinType, holderId, wallet });
  transact(stage, registrar, "setAddressGroup", { coinType, wallet, groupId });
  return true;
};

/** Puts a wallet's tokens together where there are several. */
const tidy: Habit["run"] = (stage) => {
  const symbol = pick(stage.world.dice, [COMMON, COMMON, PREFERRED, OPTIONS]) ?? COMMON;
  const token = drawToken(stage, coinNamed(stage, symbol).coinType);
  return token !== undefined && merge(stage, symbol, token.owner);
};

/** Freezes somebody of whom documents are missing, or releases who was. */
const suspend: Habit["run"] = (stage) => {
  const symbol = drawRegister(stage);
  const { frozen } = registerOf(stage.world.securities, coinNamed(stage, symbol).coinType);
  const people = CAST.filter((person) =>
    walletsIn(stage, symbol, person).some((wallet) => frozen.has(wallet)),
  );
  const released = people.find(({ name }) => !STILL_FROZEN.includes(name));
  const person = released ?? anyone(stage, ["angel", "employee"]);
  if (person === undefined || walletsIn(stage, symbol, person).length === 0) return false;
  if (STILL_FROZEN.includes(person.name)) return false;
  freeze(stage, symbol, person, released === undefined);
  return true;
};

/** An employee qualifies as an investor, and may buy from now on. */
const qualify: Habit["run"] = (stage) => {
  const person = anyone(stage, ["employee", "advisor"]);
  if (person === undefined || walletsIn(stage, COMMON, person).length === 0) return false;
  const { groups } = registerOf(stage.world.securities, coinNamed(stage, COMMON).coinType);
  if (groups.get(walletOf(stage, person)) !== GROUPS.employees) return false;
  regroup(stage, COMMON, [person], GROUPS.investors);
  return true;
};

const LEAST_POOL = 150_000n;
const MOST_GRANTS = 60;

/** Further options for an employee. */
const refresh: Habit["run"] = (stage, day) => {
  const person = anyone(stage, ["employee"]);
  if (person === undefined || day < SERIES_A_DAY + 30 || person.joins + 200 > day) return false;
  if (walletsIn(stage, OPTIONS, person).length === 0) return false;
  const { coinType } = coinNamed(stage, OPTIONS);
  const [held] = tokensOf(stage, OPTIONS, [pool(stage)]);
  const isUsedUp = held === undefined || held.balance < units(stage, OPTIONS, LEAST_POOL);
  const { items } = rostersOf(stage.world.securities, coinType).grants;
  if (isUsedUp || items.length >= MOST_GRANTS) return false;
  const whole = BigInt(between(stage.world.dice, 4, 16)) * 500n;
  grantOptions(stage, person, { whole, day });
  return true;
};

const FIRST_EXERCISE = 400;

const exercise: Habit["run"] = (stage, day) => {
  const person = anyone(stage, ["employee", "advisor"]);
  if (person === undefined || day < FIRST_EXERCISE) return false;
  if (walletsIn(stage, OPTIONS, person).length === 0) return false;
  const whole = BigInt(between(stage.world.dice, 1, 12)) * 250n;
  const [token] = tokensOf(stage, OPTIONS, [walletOf(stage, person)]);
  if (token === undefined || token.balance < units(stage, OPTIONS, whole)) return false;
  enroll(stage, COMMON, person);
  return convert(stage, person, OPTIONS, whole);
};

const FIRST_NEWCOMER = 100n;

/** A private investor beyond the cast, while the register is to grow. */
const join: Habit["run"] = (stage, day) => {
  const { holders } = registerOf(stage.world.securities, coinNamed(stage, COMMON).coinType);
  const expected = stage.pace.investors - CAST.length;
  if (day < SEED_DAY || expected <= 0) return false;
  const newcomers = holders
    .keys()
    .filter((id) => id >= FIRST_NEWCOMER)
    .toArray();
  if (newcomers.length >= expected) return false;
  const holderId = newcomers.reduce((last, id) => highest(last, id), FIRST_NEWCOMER - 1n) + 1n;
  const person: Person = { holderId, name: `Investor ${holderId}`, kind: "angel", joins: day };
  enroll(stage, COMMON, person);
  const amount = bought(stage, COMMON, pick(stage.world.dice, SUMS) ?? 1_000n, priceOn(day));
  return move(stage, COMMON, treasury(stage), walletOf(stage, person), amount);
};

const HABITS: readonly Habit[] = [
  {
    weight: 60,
    run: (stage, day) => {
      const { dice } = stage.world;
      const lot = pick(dice, LOTS) ?? 100n;
      const sum = pick(dice, SUMS) ?? 1_000n;
      const amount = chance(dice, 0.7)
        ? units(stage, COMMON, lot)
        : bought(stage, COMMON, sum, priceOn(day));
      return trade(stage, COMMON, amount);
    },
  },
  {
    weight: 12,
    run: (stage) => {
      const lot = pick(stage.world.dice, LOTS) ?? 100n;
      return trade(stage, PREFERRED, units(stage, PREFERRED, 4n * lot));
    },
  },
  { weight: 14, run: rearrange },
  {
    weight: 24,
    run: (stage) => {
      const person = anyone(stage, ["employee", "advisor"]);
      return person !== undefined && claimVested(stage, person);
    },
  },
  { weight: 5, run: exercise },
  { weight: 30, run: tidy },
  { weight: 4, run: changeWallets },
  { weight: 2, run: qualify },
  { weight: 4, run: refresh },
  { weight: 2, run: suspend },
  { weight: 8, run: join },
];

/** Attempts to find something to do. */
const ATTEMPTS = 6;

/** One act of an ordinary day; nothing where nothing was found to do. */
export const actEveryday = (stage: Stage, day: number): void => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (pickWeighted(stage.world.dice, HABITS)?.run(stage, day)) return;
  }
};
