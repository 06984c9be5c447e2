/** Numbers securities and transactions, and writes them as Open Cap Format. */

import {
  numericOf,
  OcfError,
  type StockIssuance,
  type Transaction,
  type VestingTerms,
} from "./forms.ts";
import { dayOf, type GrantPart, START, vestingOf } from "./vesting.ts";

/** The only class of stock: the token. */
export const STOCK_CLASS = "class-1";

export const SECURITY_PREFIX = "S-";

const SECURITY_WORD = "security-";

/** ISO 4217 for no currency. */
const NO_CURRENCY = "XXX";

/** Limits the package to about 10 GB. */
const MOST_WRITTEN = 20_000_000;

export type Dated = { readonly nowMs: bigint; readonly comments: readonly string[] };

export type Issued = {
  readonly wallet: string;
  readonly stakeholder: string;
  readonly securityId: string;
  readonly quantity: bigint;
  readonly part: GrantPart | undefined;
  /** Whether it belongs to a grant, even an unknown one. */
  readonly isGranted: boolean;
  readonly legends: readonly string[];
};

type Used = {
  readonly securityId: string;
  readonly quantity: bigint;
  /** Id of the remainder's security; undefined without one. */
  readonly balance: string | undefined;
};

export class OcfWriter {
  readonly #digits: number;
  readonly #terms = new Map<string, VestingTerms>();
  readonly #legends = new Set<string>();
  #transactions = 0;
  #securities = 0;
  #vestingDates = 0;

  constructor(digits: number) {
    this.#digits = digits;
  }

  /** Terms named by issuances, in the order of their first use. */
  get terms(): readonly VestingTerms[] {
    return [...this.#terms.values()];
  }

  /** Legend ids, in the order of their first use. */
  get legends(): readonly string[] {
    return [...this.#legends];
  }

  nextSecurity(): string {
    this.#securities += 1;
    return `${SECURITY_WORD}${this.#securities}`;
  }

  transfer({ securityId, quantity, balance }: Used, into: string, dated: Dated): Transaction {
    return {
      object_type: "TX_STOCK_TRANSFER",
      ...this.#header(securityId, dated),
      quantity: this.#numeric(quantity),
      ...(balance !== undefined && { balance_security_id: balance }),
      resulting_security_ids: [into],
    };
  }

  cancellation({ securityId, quantity, balance }: Used, reason: string, dated: Dated): Transaction {
    return {
      object_type: "TX_STOCK_CANCELLATION",
      ...this.#header(securityId, dated),
      quantity: this.#numeric(quantity),
      ...(balance !== undefined && { balance_security_id: balance }),
      reason_text: reason,
    };
  }

  reissuance(
    securityId: string,
    into: readonly string[],
    reason: string,
    dated: Dated,
  ): Transaction {
    return {
      object_type: "TX_STOCK_REISSUANCE",
      ...this.#header(securityId, dated),
      resulting_security_ids: [...into],
      reason_text: reason,
    };
  }

  *issuances(issued: readonly Issued[], dated: Dated): Generator<Transaction> {
    const starting: string[] = [];
    for (const one of issued) {
      const issuance = this.#issuance(one, dated);
      if (issuance.vesting_terms_id !== undefined) starting.push(one.securityId);
      yield issuance;
    }
    for (const securityId of starting) {
      yield {
        object_type: "TX_VESTING_START",
        ...this.#header(securityId, dated),
        vesting_condition_id: START,
      };
    }
  }

  #issuance(
    { wallet, stakeholder, securityId, quantity, part, isGranted, legends }: Issued,
    dated: Dated,
  ): StockIssuance {
    // The check reads the wallet from this comment: nothing else in an issuance has it.
    const about = [`wallet ${wallet}`];
    if (part !== undefined) about.push(`grant ${part.grant.objectId}`);
    else if (isGranted) about.push("of a grant whose schedule is not known: no vesting is given");
    const vesting = part && vestingOf(part, dated.nowMs, 10n ** BigInt(this.#digits));
    if (vesting && "dates" in vesting) {
      this.#vestingDates += vesting.dates.length;
      if (vesting.lumpedFrom !== undefined) {
        about.push(`releases from ${vesting.lumpedFrom} on are given as one, on their last day`);
      }
    }
    if (vesting && "terms" in vesting) this.#terms.set(vesting.terms.id, vesting.terms);
    for (const legend of legends) this.#legends.add(legend);
    return {
      object_type: "TX_STOCK_ISSUANCE",
      ...this.#header(securityId, { ...dated, comments: [...dated.comments, ...about] }),
      custom_id: `${SECURITY_PREFIX}${securityId.slice(SECURITY_WORD.length)}`,
      stakeholder_id: stakeholder,
      stock_class_id: STOCK_CLASS,
      quantity: this.#numeric(quantity),
      share_price: { amount: "0", currency: NO_CURRENCY },
      stock_legend_ids: [...legends],
      security_law_exemptions: [],
      ...(vesting && "terms" in vesting && { vesting_terms_id: vesting.terms.id }),
      ...(vesting &&
        "dates" in vesting && {
          vestings: vesting.dates.map(({ date, amount }) => ({
            date,
            amount: this.#numeric(amount),
          })),
        }),
    };
  }

  #header(security_id: string, { nowMs, comments }: Dated) {
    this.#transactions += 1;
    if (this.#transactions + this.#vestingDates / 10 > MOST_WRITTEN) {
      throw new OcfError(
        `there are more than ${MOST_WRITTEN} transactions (ten vesting dates count as one); write an earlier checkpoint; lots: fifo makes fewer than pro-rata`,
      );
    }
    return {
      id: `tx-${this.#transactions}`,
      date: dayOf(nowMs),
      security_id,
      comments: [...comments],
    };
  }

  #numeric(amount: bigint): string {
    return numericOf(amount, this.#digits);
  }
}
