/**
 * Each wallet's securities as lots, oldest first, tokens and grants apart.
 * The lot policy picks the lots that tokens leave from. Claims take what unlocks first,
 * cancellations what unlocks last. A lot's remainder keeps its place.
 */

import { lowest } from "../../values/bigints.ts";
import type { Format } from "../exports/cap-table-file.ts";
import { type Account, keyOf } from "./flows.ts";
import { OcfError } from "./forms.ts";
import type { TouchedGrant } from "./source.ts";
import type { GrantPart } from "./vesting.ts";

/**
 * Oldest lots first, or all in proportion: the issuer's accounting policy, as the ledger has no
 * lots.
 */
export const LOT_POLICIES = ["fifo", "pro-rata"] as const;
export type LotPolicy = (typeof LOT_POLICIES)[number];

/** Why a lot policy does not suit a format; null if it does, or without a policy. */
export const lotsNotFor = (format: Format, lots: LotPolicy | undefined): string | null =>
  lots === undefined || format === "ocf" ? null : "only the format ocf has lots";

export type Lot = {
  securityId: string;
  quantity: bigint;
  /** Its part of a grant; undefined for tokens, and for grants with too little data. */
  part: GrantPart | undefined;
  /** Legend ids from `WalletBook`. */
  legends: readonly string[];
};

export type Taken = {
  /** The remainder; dropped when empty. */
  readonly lot: Lot;
  /** The original security. */
  readonly securityId: string;
  readonly quantity: bigint;
  readonly part: GrantPart | undefined;
};

/** Memory: one entry per held security. */
export class LotBook {
  readonly #accounts = new Map<string, Lot[]>();
  readonly #policy: LotPolicy;

  constructor(policy: LotPolicy) {
    this.#policy = policy;
  }

  add(account: Account, lot: Lot): void {
    const lots = this.#accounts.get(keyOf(account));
    if (lots === undefined) this.#accounts.set(keyOf(account), [lot]);
    else lots.push(lot);
  }

  replace(account: Account, gone: readonly Lot[], added: readonly Lot[]): void {
    const kept = this.of(account).filter((lot) => !gone.includes(lot));
    this.#accounts.set(keyOf(account), [...kept, ...added]);
  }

  /** Oldest first. */
  of(account: Account): readonly Lot[] {
    return this.#accounts.get(keyOf(account)) ?? [];
  }

  /**
   * Takes an amount from an account's lots.
   * @param how for grants: those that the checkpoint touched, and whether this takes from cancelled
   * ones
   * @throws OcfError (stop) if there is too little
   */
  take(
    account: Account,
    amount: bigint,
    how: { readonly grants: ReadonlyMap<string, TouchedGrant>; readonly isCancelled: boolean },
  ): readonly Taken[] {
    const lots = this.#accounts.get(keyOf(account)) ?? [];
    const amounts = new Map<Lot, bigint>();
    let rest = amount;
    const takeFrom = (lot: Lot, most: bigint): bigint => {
      const before = amounts.get(lot) ?? 0n;
      const quantity = lowest(lot.quantity - before, rest, most);
      if (quantity <= 0n) return 0n;
      amounts.set(lot, before + quantity);
      rest -= quantity;
      return quantity;
    };
    if (account.part === "GRANTS") {
      // Shrunk grants give their decrease; transferred grants give everything.
      for (const [objectId, ofGrant] of byGrant(lots, how.grants)) {
        const held = ofGrant.reduce((sum, { quantity }) => sum + quantity, 0n);
        const touched = how.grants.get(objectId);
        const left = touched?.grant.owner === account.wallet ? touched.left : 0n;
        let shrunk = held - left;
        for (const lot of how.isCancelled ? ofGrant.toReversed() : ofGrant) {
          shrunk -= takeFrom(lot, shrunk);
        }
      }
    }
    const takeByPolicy = (among: readonly Lot[]): void => {
      if (this.#policy === "pro-rata") {
        const left = among.map((lot) => lot.quantity - (amounts.get(lot) ?? 0n));
        for (const [at, share] of proRata(left, rest).entries()) {
          const lot = among[at];
          if (lot !== undefined) takeFrom(lot, share);
        }
      }
      for (const lot of among) {
        if (rest === 0n) break;
        takeFrom(lot, lot.quantity);
      }
    };
    // Grants untouched by the checkpoint are unchanged: their lots come last.
    if (account.part === "GRANTS") {
      takeByPolicy(
        lots.filter(({ part }) => part === undefined || how.grants.has(part.grant.objectId)),
      );
    }
    takeByPolicy(lots);
    if (rest > 0n) throw new OcfError(`${account.wallet} gave ${rest} units more than it had`);
    const taken = [...amounts].map(([lot, quantity]): Taken => {
      const { securityId } = lot;
      const [part, left] = cutOf(lot.part, quantity, how.isCancelled);
      lot.quantity -= quantity;
      lot.part = left;
      return { lot, securityId, quantity, part };
    });
    this.#drop(account, lots);
    return taken;
  }

  /** Drops used-up lots; for fifo tokens these are the first. */
  #drop(account: Account, lots: Lot[]): void {
    const firstHeld = lots.findIndex(({ quantity }) => quantity > 0n);
    if (firstHeld === -1) this.#accounts.delete(keyOf(account));
    else if (account.part === "TOKENS" && this.#policy === "fifo") lots.splice(0, firstHeld);
    else
      this.#accounts.set(
        keyOf(account),
        lots.filter(({ quantity }) => quantity > 0n),
      );
  }
}

/**
 * Splits an amount in proportion: each part rounded down, the remainder to the largest fractions,
 * earlier ones first. Parts add up to the amount and do not exceed their quantity; an amount above
 * the total yields the whole quantities.
 */
export const proRata = (quantities: readonly bigint[], amount: bigint): readonly bigint[] => {
  const all = quantities.reduce((sum, quantity) => sum + quantity, 0n);
  if (all <= amount) return quantities;
  const parts = quantities.map((quantity) => (quantity * amount) / all);
  const missing = amount - parts.reduce((sum, part) => sum + part, 0n);
  const byLoss = quantities
    .map((quantity, at) => ({ at, lost: (quantity * amount) % all }))
    .toSorted((a, b) => (a.lost === b.lost ? a.at - b.at : a.lost > b.lost ? -1 : 1));
  for (const { at } of byLoss.slice(0, Number(missing))) parts[at] = (parts[at] ?? 0n) + 1n;
  return parts;
};

/** Splits a lot: claims take what unlocks first, cancellations what unlocks last. */
export const cutOf = (
  part: GrantPart | undefined,
  quantity: bigint,
  fromTheEnd: boolean,
): readonly [GrantPart | undefined, GrantPart | undefined] => {
  if (part === undefined) return [undefined, undefined];
  const cut = fromTheEnd ? part.to - quantity : part.from + quantity;
  const [early, late] = [
    { ...part, to: cut },
    { ...part, from: cut },
  ];
  return fromTheEnd ? [late, early] : [early, late];
};

/** Lots of grants that the checkpoint touched. */
const byGrant = (lots: readonly Lot[], grants: ReadonlyMap<string, TouchedGrant>) => {
  const known = lots.filter(({ part }) => part !== undefined && grants.has(part.grant.objectId));
  return Map.groupBy(known, ({ part }) => part?.grant.objectId ?? "");
};

/** An amount received: part of a new grant, or other tokens. */
export type Received = { quantity: bigint; part: GrantPart | undefined };

/**
 * Assigns a wallet's gain to new grants: one of exactly this amount, else as many as fit, by object
 * id. The rest belongs to grants missing from the ledger's states.
 * @param taken grants assigned earlier in the checkpoint; updated
 */
export const newGrants = (
  wallet: string,
  amount: bigint,
  grants: ReadonlyMap<string, TouchedGrant>,
  taken: Set<string>,
): readonly Received[] => {
  const made = [...grants.values()].filter(
    ({ grant, isNew }) =>
      isNew && grant.owner === wallet && grant.totalAmount > 0n && !taken.has(grant.objectId),
  );
  const exact = made.find(({ grant }) => grant.totalAmount === amount);
  const received: Received[] = [];
  let rest = amount;
  for (const { grant } of exact === undefined ? made : [exact]) {
    if (grant.totalAmount > rest) continue;
    taken.add(grant.objectId);
    const part = { grant, from: 0n, to: grant.totalAmount };
    received.push({ quantity: grant.totalAmount, part });
    rest -= grant.totalAmount;
  }
  if (rest > 0n) received.push({ quantity: rest, part: undefined });
  return received;
};
