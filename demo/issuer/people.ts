/** Accounts of the demo: issuers' staff, investors, strangers. */

import type { Keyring } from "../chain/keyring.ts";
import { type Rosters, rostersOf } from "../contract/securities.ts";
import type { GrantModel, TokenModel } from "../model.ts";
import { pick, roll } from "../random.ts";
import { account, type Stage } from "./stage.ts";

export type Staff = {
  /** ContractAdmin: grants and revokes roles. */
  readonly admin: string;
  /** ReserveAdmin: mints and burns. */
  readonly reserve: string;
  /** WalletsAdmin: the holder register. */
  readonly registrar: string;
  /** TransferAdmin and TimelockCanceler. */
  readonly officer: string;
};

/** Tokens of an issuer that has several, by its first one: the same people act for them. */
const HOUSES: ReadonlyMap<string, string> = new Map([
  ["ACMEP", "ACME"],
  ["ACMEO", "ACME"],
]);

const houseOf = (symbol: string): string => HOUSES.get(symbol) ?? symbol;

export const staffOf = (keyring: Keyring, symbol: string): Staff => ({
  admin: keyring.account(`${houseOf(symbol)}/admin`),
  reserve: keyring.account(`${houseOf(symbol)}/reserve`),
  // A registrar's gas coins serve one token.
  registrar: keyring.account(`${symbol}/registrar`),
  officer: keyring.account(`${houseOf(symbol)}/officer`),
});

/** Wallets of the issuer, holder 0 of its register. */
export const issuerWallets = (stage: Stage, symbol: string): readonly [string, string] => [
  account(stage, `${houseOf(symbol)}/treasury`),
  account(stage, `${houseOf(symbol)}/incentives`),
];

/** Investors that every register begins with. */
export const FIRST_INVESTORS = 8;

/** Holder id of an investor (from 0), in every register. */
export const holderIdOf = (investor: number): bigint => BigInt(investor) + 1n;

/** Wallets of an investor: one to three, the same in every register. */
export const investorWallets = (stage: Stage, investor: number): readonly string[] => {
  const count = 1 + (investor % 3 === 0 ? 1 : 0) + (investor % 4 === 0 ? 1 : 0);
  return Array.from({ length: count }, (_, n) => account(stage, `investor/${investor}/${n}`));
};

/** An account that sometimes gets roles. */
export const deputy = (stage: Stage, n: number): string => account(stage, `deputy/${n}`);
export const DEPUTIES = 6;

/** Attempts to draw a fitting item. */
const DRAWS = 24;

/** A random fitting token whose owner can sign; undefined when none was found. */
export const drawToken = (
  stage: Stage,
  coinType: string,
  fits: (token: TokenModel) => boolean = () => true,
): TokenModel | undefined =>
  drawFrom(stage, coinType, "tokens", stage.world.securities.model.tokens, fits);

/** The same for grants. */
export const drawGrant = (
  stage: Stage,
  coinType: string,
  fits: (grant: GrantModel) => boolean = () => true,
): GrantModel | undefined =>
  drawFrom(stage, coinType, "grants", stage.world.securities.model.grants, fits);

const drawFrom = <Item extends { readonly owner: string }>(
  stage: Stage,
  coinType: string,
  roster: keyof Rosters,
  items: ReadonlyMap<string, Item>,
  fits: (item: Item) => boolean,
): Item | undefined => {
  const ids = rostersOf(stage.world.securities, coinType)[roster].items;
  for (let draws = 0; draws < DRAWS; draws += 1) {
    const item = items.get(pick(stage.world.dice, ids) ?? "");
    if (item !== undefined && stage.keyring.knows(item.owner) && fits(item)) return item;
  }
  return undefined;
};

/** A random fitting wallet, none registered from outside; undefined when none was found. */
export const drawWallet = (
  stage: Stage,
  coinType: string,
  fits: (wallet: string) => boolean = () => true,
): string | undefined => {
  const { items } = rostersOf(stage.world.securities, coinType).wallets;
  for (let draws = 0; draws < DRAWS; draws += 1) {
    const wallet = pick(stage.world.dice, items);
    if (wallet !== undefined && stage.keyring.knows(wallet) && fits(wallet)) return wallet;
  }
  return undefined;
};

/** A random investor, from 0. */
export const drawInvestor = (stage: Stage): number => roll(stage.world.dice, stage.pace.investors);
