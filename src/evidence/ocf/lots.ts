/**
 * The securities that each wallet holds, as lots, oldest first: tokens and grants apart.
 *
 * The lot policy says from which lots tokens leave a wallet. Tokens of a grant leave it as they unlock,
 * earliest first, when they are claimed, and from the latest on when it is cancelled. What remains of a
 * lot keeps its place.
 */

import { lowest } from "../../values/bigints.ts";
import type { Format } from "../exports/cap-table-file.ts";
import { type Account, keyOf } from "./flows.ts";
import { OcfError } from "./forms.ts";
import type { TouchedGrant } from "./source.ts";
import type { GrantPart } from "./vesting.ts";

/**
 * From which lots tokens leave a wallet: the oldest first, or from every lot in proportion.
 * An accounting policy of the issuer; the ledger does not know lots.
 */
export const LOT_POLICIES = ["fifo", "pro-rata"] as const;
export type LotPolicy = (typeof LOT_POLICIES)[number];

/** Why a lot policy does not fit a format; null when it does, or none is named. */
export const lotsNotFor = (format: Format, lots: LotPolicy | undefined): string | null =>
  lots === undefined || format === "ocf" ? null : "only the format ocf has lots";

/** A security, or its remainder. */
export type Lot = {
  securityId: string;
  quantity: bigint;
  /** The part of a grant that it is; undefined for tokens, and for grants of which too little is known. */
  part: GrantPart | undefined;
  /** Ids of the legends that it carries, as `WalletBook` gives them. */
  legends: readonly string[];
};

/** What was taken out of a lot. */
export type Taken = {
  /** As it remains; gone when nothing does. */
  readonly lot: Lot;
  /** The security that it was taken out of. */
  readonly securityId: string;
  readonly quantity: bigint;
  readonly part: GrantPart | undefined;
};

/** Memory: one entry for each security that is held. */
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

  /** Puts lots in the place of others. */
  replace(account: Account, gone: readonly Lot[], added: readonly Lot[]): void {
    const kept = this.of(account).filter((lot) => !gone.includes(lot));
    this.#accounts.set(keyOf(account), [...kept, ...added]);
  }

  /** The lots of an account, oldest first. */
  of(account: Account): readonly Lot[] {
    return this.#accounts.get(keyOf(account)) ?? [];
  }

  /**
   * Takes an amount out of an account's lots.
   * @param how of a grant account: what its checkpoint left in grants, and whether it was cancelled
   * @throws OcfError (stop) when there is less
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
      // The decrease of grants that shrank; all of grants that changed owner.
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
    // A grant that the checkpoint did not touch is as it was: its lots go last.
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

  /** Without what is used up: of tokens, the first ones where the oldest leave first. */
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
 * Splits an amount in proportion to quantities: each part rounded down, then one unit more for those that
 * lost most by rounding, the earlier of equal ones. The parts add up to the amount, and none is larger than
 * its quantity, unless the amount is larger than all of them together: then each is its whole quantity.
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

/** Lots of the grants that a checkpoint touched. */
const byGrant = (lots: readonly Lot[], grants: ReadonlyMap<string, TouchedGrant>) => {
  const known = lots.filter(({ part }) => part !== undefined && grants.has(part.grant.objectId));
  return Map.groupBy(known, ({ part }) => part?.grant.objectId ?? "");
};

/** An amount that an account received: part of a new grant, or other tokens. */
export type Received = { quantity: bigint; part: GrantPart | undefined };

/**
 * What a wallet's grants gained in a transaction, by the grants that were made: one of just this amount,
 * else as many as fit, by object id. The rest is of grants that the ledger's states do not tell.
 * @param taken grants that were given to an earlier transaction of the checkpoint; brought up to date
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
