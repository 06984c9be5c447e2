/**
 * The holdings after a package's transactions: each security issued once and used up once, no share
 * made or lost, no vesting before issue. Reads transactions only.
 */

import { refuse, type StockIssuance, type Transaction, unitsOf } from "./forms.ts";

/** A wallet's securities with the same legends; sum in units of the tenth decimal. */
type Stake = { readonly stakeholder: string; readonly key: string; sum: bigint };

type Held = { readonly quantity: bigint; readonly stake: Stake; readonly wallet: string };

type Announced = {
  /** The first announcing transaction. */
  readonly by: string;
  readonly type: Transaction["object_type"];
  /** Pending ids; one for a transfer. */
  readonly resulting: Set<string>;
  /** Pending quantity. */
  rest: bigint;
  /** Holder of the reissued securities. */
  readonly holder: Held | undefined;
  readonly balances: Map<string, Held>;
  isBegun: boolean;
};

type Use = Exclude<Transaction, { object_type: "TX_STOCK_ISSUANCE" | "TX_VESTING_START" }>;

export const stakeKey = (wallet: string, legends: readonly string[]): string =>
  [wallet, ...legends].join(" ");

/**
 * Memory: held securities and a sum per wallet. Used-up ids need not be kept: ids rise, so that
 * none repeats.
 */
export class HeldSecurities {
  /** By the number in the id. */
  readonly #held = new Map<number, Held>();
  readonly #stakes = new Map<string, Map<string, Stake>>();
  readonly #last = { transaction: 0, security: 0, date: "" };
  /** Securities whose vesting has not started. */
  readonly #waiting = new Set<string>();
  #announced: Announced | undefined;

  /** In the order of their first holding. */
  get stakeholders(): readonly string[] {
    return [...this.#stakes.keys()];
  }

  /** Holdings in units of the tenth decimal, by `stakeKey`. */
  sumsOf(stakeholder: string): ReadonlyMap<string, bigint> {
    const stakes = this.#stakes.get(stakeholder) ?? [];
    return new Map([...stakes].map(([key, { sum }]) => [key, sum]));
  }

  /** Call in order. @throws OcfError (stop) */
  take(transaction: Transaction): void {
    const { id, date } = transaction;
    this.#last.transaction = rising(id, this.#last.transaction);
    if (date < this.#last.date) refuse(`${id} is dated before the one ahead of it`);
    this.#last.date = date;
    if (transaction.object_type === "TX_STOCK_ISSUANCE") this.#issue(transaction);
    else if (transaction.object_type === "TX_VESTING_START") {
      // Issued before; dates ascend, so no vesting starts before its issue.
      if (!this.#waiting.delete(transaction.security_id)) {
        refuse(`${id} starts what has no vesting terms, or has started`);
      }
    } else this.#use(transaction);
  }

  /** @throws OcfError (stop) if something is missing */
  end(): void {
    if (this.#announced !== undefined) refuse(`${this.#announced.by} is not complete`);
    for (const id of this.#waiting) refuse(`the vesting of ${id} has no start`);
  }

  #issue(issuance: StockIssuance): void {
    const { security_id, stakeholder_id, vesting_terms_id, vestings, date } = issuance;
    this.#last.security = rising(security_id, this.#last.security);
    const quantity = unitsOf(issuance.quantity);
    if (vesting_terms_id !== undefined) this.#waiting.add(security_id);
    if (vestings !== undefined) checkVestings(vestings, quantity, security_id, date);
    const wallet = walletOf(issuance);
    const key = stakeKey(wallet, issuance.stock_legend_ids);
    const stakes = this.#stakes.get(stakeholder_id) ?? new Map<string, Stake>();
    const stake = stakes.get(key) ?? { stakeholder: stakeholder_id, key, sum: 0n };
    const held: Held = { quantity, stake, wallet };
    this.#fulfil(security_id, held);
    stake.sum += quantity;
    stakes.set(key, stake);
    this.#stakes.set(stakeholder_id, stakes);
    this.#held.set(numberOf(security_id), held);
  }

  /** Only announced securities may be issued while any are pending. */
  #fulfil(id: string, held: Held): void {
    const announced = this.#announced;
    if (announced === undefined) return;
    const { by, balances, resulting, holder } = announced;
    const balance = balances.get(id);
    announced.isBegun = true;
    if (balance !== undefined) {
      if (held.quantity !== balance.quantity) refuse(`${id} is not what ${by} left`);
      if (!isSameHolder(held, balance)) refuse(`${id} is not of the holder of ${by}`);
      balances.delete(id);
    } else if (resulting.delete(id)) {
      if (holder && !isSameHolder(held, holder)) refuse(`${id} is not of the holder of ${by}`);
      announced.rest -= held.quantity;
    } else refuse(`${by} does not announce ${id}`);
    this.#announced = isOver(announced) ? undefined : announced;
  }

  #use(use: Use): void {
    const { id, security_id } = use;
    const held =
      this.#held.get(numberOf(security_id)) ??
      refuse(`there is no security ${security_id}, or it is used up`);
    this.#held.delete(numberOf(security_id));
    this.#leave(held);
    const isWhole = use.object_type === "TX_STOCK_REISSUANCE";
    const moved = isWhole ? held.quantity : unitsOf(use.quantity);
    const balanceId = isWhole ? undefined : use.balance_security_id;
    const left = held.quantity - moved;
    if (left < 0n || left > 0n !== (balanceId !== undefined)) {
      refuse(`${id} does not fit the quantity of ${security_id}`);
    }
    const into = use.object_type === "TX_STOCK_CANCELLATION" ? [] : use.resulting_security_ids;
    const announced = this.#announce(use, into, isWhole ? held : undefined);
    if (into.length > 0) announced.rest += moved;
    if (balanceId !== undefined) announced.balances.set(balanceId, { ...held, quantity: left });
    this.#announced = isOver(announced) ? undefined : announced;
  }

  /**
   * Transfers of several securities into one, and a wallet's reissuances, precede what they make.
   */
  #announce({ id, object_type: type }: Use, into: readonly string[], holder: Held | undefined) {
    if (type === "TX_STOCK_TRANSFER" && into.length > 1) refuse(`${id} makes several acquisitions`);
    const open = this.#announced;
    if (open === undefined) {
      const nothing = { rest: 0n, balances: new Map<string, Held>(), isBegun: false };
      return { ...nothing, by: id, type, resulting: new Set(into), holder };
    }
    const goesOn =
      type === "TX_STOCK_TRANSFER"
        ? into.every((one) => open.resulting.has(one))
        : holder !== undefined && open.holder !== undefined && isSameHolder(holder, open.holder);
    if (!goesOn || open.isBegun || open.type !== type) {
      refuse(`${id} comes before the securities of ${open.by}`);
    }
    for (const one of into) open.resulting.add(one);
    return open;
  }

  #leave({ quantity, stake }: Held): void {
    stake.sum -= quantity;
    if (stake.sum === 0n) this.#stakes.get(stake.stakeholder)?.delete(stake.key);
  }
}

const isOver = ({ by, balances, resulting, rest }: Announced): boolean => {
  if (resulting.size > 0 || balances.size > 0) return false;
  if (rest !== 0n) refuse(`what results from ${by} is not its quantity`);
  return true;
};

const isSameHolder = (one: Held, other: Held): boolean =>
  one.wallet === other.wallet && one.stake.stakeholder === other.stake.stakeholder;

/** An issuance names the wallet only in its comments. */
const walletOf = ({ security_id, comments }: StockIssuance): string => {
  const named = comments?.map((comment) => /^wallet (\S+)$/.exec(comment)?.[1]) ?? [];
  return named.find((wallet) => wallet !== undefined) ?? refuse(`${security_id} is of no wallet`);
};

const checkVestings = (
  vestings: NonNullable<StockIssuance["vestings"]>,
  quantity: bigint,
  id: string,
  issued: string,
): void => {
  const [first] = vestings;
  if (first && first.date < issued) refuse(`${id} vests before it is issued`);
  if (vestings.some(({ date }, at) => date <= (vestings[at - 1]?.date ?? ""))) {
    refuse(`the vestings of ${id} are not in order`);
  }
  const all = vestings.reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
  if (all !== quantity) refuse(`the vestings of ${id} do not add up to it`);
};

const numberOf = (id: string): number => {
  const number = Number(/^(?:tx|security)-(\d{1,15})$/.exec(id)?.[1]);
  return number > 0 ? number : refuse(`${id} has no number`);
};

const rising = (id: string, last: number): number => {
  const number = numberOf(id);
  return number > last ? number : refuse(`${id} comes behind number ${last}`);
};
