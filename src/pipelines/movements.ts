/** Why balances moved, from a transaction's objects and events: one movement per coin and owner. */
import type { Fact } from "../log/fact.ts";
import { type BalanceChangeRow, CAUSES, type Cause } from "../projections/balance-changes.ts";
import { positionOf } from "../projections/position.ts";

/** The facts of one transaction, in chain order; never empty. */
export type TransactionFacts = readonly [Fact, ...Fact[]];

/** Facts in chain order, by transaction. */
export const transactionsOf = (facts: readonly Fact[]): readonly TransactionFacts[] => {
  const transactions: [Fact, ...Fact[]][] = [];
  for (const fact of facts) {
    const open = transactions.at(-1);
    if (open?.[0].checkpoint === fact.checkpoint && open[0].transaction === fact.transaction) {
      open.push(fact);
    } else transactions.push([fact]);
  }
  return transactions;
};

/** Amounts of a grant that decide the causes. */
export type GrantAmounts = { readonly leftBalance: bigint; readonly tokensTransferred: bigint };

/** What a transaction did to a grant; none is negative. */
export type GrantMovement = {
  readonly funded: bigint;
  readonly claimed: bigint;
  readonly cancelled: bigint;
};

/**
 * Claimed: the rise of the amount transferred. The rest of a rise was funded, the rest of a fall cancelled.
 */
export const grantMovement = (
  before: GrantAmounts | undefined,
  after: GrantAmounts | undefined,
): GrantMovement => {
  const rise = after ? after.tokensTransferred - (before?.tokensTransferred ?? 0n) : 0n;
  const claimed = rise > 0n ? rise : 0n;
  const rest = (after?.leftBalance ?? 0n) - (before?.leftBalance ?? 0n) + claimed;
  return { funded: rest > 0n ? rest : 0n, claimed, cancelled: rest < 0n ? -rest : 0n };
};

type Moved = {
  readonly coinType: string;
  readonly owner: string;
  net: bigint;
  /** The part of `net` that has a cause. */
  explained: bigint;
  readonly sums: Map<Cause, bigint>;
};

/** Names of Move types and addresses hold no space. */
export const balanceKey = ({ coinType, owner }: { coinType: string; owner: string }): string =>
  `${coinType} ${owner}`;

/** Changes of one part of the balances in one transaction. */
export class Movements {
  readonly #moved = new Map<string, Moved>();
  /** Cancelled amounts by coin type, not yet assigned to an increase. */
  readonly #cancelled = new Map<string, bigint>();

  /** An object of the owner changed by this amount. */
  held(coinType: string, owner: string, by: bigint): void {
    this.#of(coinType, owner).net += by;
  }

  /** Explains `by` of a balance's change. */
  because(coinType: string, owner: string, cause: Cause, by: bigint): void {
    const moved = this.#of(coinType, owner);
    moved.explained += by;
    add(moved.sums, cause, by < 0n ? -by : by);
  }

  /** Tokens left a grant for an unnamed wallet. */
  cancelled(coinType: string, amount: bigint): void {
    add(this.#cancelled, coinType, amount);
  }

  /**
   * A row for each coin and owner whose balance changed, by coin and owner.
   * @param balances before the transaction, by `balanceKey`; updated
   */
  rows(at: Fact, balances: Map<string, bigint>): readonly BalanceChangeRow[] {
    const { txDigest, timestampMs } = at;
    const position = positionOf({ ...at, index: 0 });
    const rows: BalanceChangeRow[] = [];
    const inOrder = [...this.#moved].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [key, { coinType, owner, net, explained, sums }] of inOrder) {
      this.#explainRest(coinType, net - explained, sums);
      if (net === 0n) continue;
      const balanceAfter = (balances.get(key) ?? 0n) + net;
      balances.set(key, balanceAfter);
      const place = { coinType, owner, position, txDigest, timestampMs };
      rows.push({ ...place, cause: largest(sums), change: net, balanceAfter });
    }
    return rows;
  }

  /** Assigns an unexplained increase to cancelled amounts first, the rest to `UNKNOWN`. */
  #explainRest(coinType: string, rest: bigint, sums: Map<Cause, bigint>): void {
    const cancelled = this.#cancelled.get(coinType) ?? 0n;
    const share = rest <= 0n ? 0n : rest < cancelled ? rest : cancelled;
    if (share > 0n) {
      add(sums, "GRANT_CANCELLED", share);
      add(this.#cancelled, coinType, -share);
    }
    const unknown = rest - share;
    if (unknown !== 0n) add(sums, "UNKNOWN", unknown < 0n ? -unknown : unknown);
  }

  #of(coinType: string, owner: string): Moved {
    const key = balanceKey({ coinType, owner });
    const found = this.#moved.get(key);
    if (found !== undefined) return found;
    const made = { coinType, owner, net: 0n, explained: 0n, sums: new Map() };
    this.#moved.set(key, made);
    return made;
  }
}

const add = <Key>(sums: Map<Key, bigint>, key: Key, amount: bigint): void => {
  sums.set(key, (sums.get(key) ?? 0n) + amount);
};

/** The cause with the largest sum; of equal ones the first in the list. */
const largest = (sums: ReadonlyMap<Cause, bigint>): Cause => {
  let found: Cause = "UNKNOWN";
  let most = 0n;
  for (const cause of CAUSES) {
    const sum = sums.get(cause) ?? 0n;
    if (sum > most) [found, most] = [cause, sum];
  }
  return found;
};
