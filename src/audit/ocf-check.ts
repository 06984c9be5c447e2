/**
 * Checks a package of Open Cap Format while it is written: the form of every object, that every reference
 * is to something that is there, that every security is issued once, before it is used, and used up once,
 * and that no transaction makes or loses a share. It reads the texts that are written and nothing else.
 */
import type { z } from "zod";
import { OcfError } from "./ocf-error.ts";
import {
  type StockIssuance,
  stakeholderForm,
  stockClassForm,
  type Transaction,
  transactionForm,
  vestingTermsForm,
} from "./ocf-forms.ts";

/** Digits after the point that the format allows. */
export const OCF_DIGITS = 10;

/** A numeric text in units of the tenth digit after the point. */
const unitsOf = (numeric: string): bigint => {
  const [whole = "", fraction = ""] = numeric.split(".");
  return BigInt(whole + fraction.padEnd(OCF_DIGITS, "0"));
};

/** A stakeholder, and what it holds: in units of the tenth digit. */
type Stake = { readonly id: string; sum: bigint };

/** A security that is held. */
type Held = { readonly quantity: bigint; readonly by: Stake };

/** What a transaction said would be issued, until it is. */
type Announced = {
  readonly transaction: string;
  readonly resulting: Set<string>;
  /** Of the resulting securities, what is not issued yet. */
  rest: bigint;
  balance: (Held & { readonly id: string }) | undefined;
};

/**
 * Memory: the securities that are held, and a sum per stakeholder. What is used up is forgotten: ids rise
 * (`…-1`, `…-2`), so that none comes twice.
 */
export class OcfCheck {
  readonly #classes = new Set<string>();
  readonly #terms = new Set<string>();
  readonly #termsUsed = new Set<string>();
  readonly #stakeholders = new Set<string>();
  /** By the number in the id. */
  readonly #held = new Map<number, Held>();
  readonly #stakes = new Map<string, Stake>();
  readonly #last = { transaction: 0, security: 0 };
  #announced: Announced | undefined;

  /** Checks a class; before every transaction. @throws OcfError (stop) */
  stockClass(text: string): void {
    this.#add(this.#classes, formed(stockClassForm, text).id);
  }

  /** Checks one transaction, in its order. @throws OcfError (stop) */
  transaction(text: string): void {
    const transaction = formed(transactionForm, text);
    this.#last.transaction = rising(transaction.id, this.#last.transaction);
    if (transaction.object_type === "TX_STOCK_ISSUANCE") this.#issue(transaction);
    else if (this.#announced !== undefined) {
      refuse(`${transaction.id} comes before the securities of ${this.#announced.transaction}`);
    } else if (transaction.object_type === "TX_VESTING_START") this.#hold(transaction.security_id);
    else this.#use(transaction);
  }

  /** Checks vesting terms; after all transactions. @throws OcfError (stop) */
  vestingTerms(text: string): void {
    const { id, vesting_conditions } = formed(vestingTermsForm, text);
    this.#add(this.#terms, id);
    const ids = new Set(vesting_conditions.map((condition) => condition.id));
    if (ids.size !== vesting_conditions.length) refuse(`${id} has a condition twice`);
    for (const { trigger, next_condition_ids } of vesting_conditions) {
      const named = [
        ...next_condition_ids,
        ...(trigger.type === "VESTING_SCHEDULE_RELATIVE" ? [trigger.relative_to_condition_id] : []),
      ];
      for (const other of named) if (!ids.has(other)) refuse(`${id} has no condition ${other}`);
    }
  }

  /**
   * Checks a stakeholder; after all transactions.
   * @param balance what the cap table says that it holds, in units of the tenth digit
   * @throws OcfError (stop) also where the transactions add up to something else
   */
  stakeholder(text: string, balance: bigint): void {
    const { id } = formed(stakeholderForm, text);
    this.#add(this.#stakeholders, id);
    const sum = this.#stakes.get(id)?.sum ?? 0n;
    if (sum !== balance) {
      throw new OcfError(
        `the movements leave ${id} with ${sum}, the cap table says ${balance} (in units of 10^-${OCF_DIGITS})`,
      );
    }
  }

  /** Stakeholders of transactions that were not checked yet, in the order in which they first held. */
  get unlisted(): readonly string[] {
    return [...this.#stakes.keys()].filter((id) => !this.#stakeholders.has(id));
  }

  /** Checks, at the end, that nothing is missing. @throws OcfError (stop) */
  end(): void {
    if (this.#announced !== undefined) refuse(`${this.#announced.transaction} is not complete`);
    for (const id of this.unlisted) refuse(`there is no stakeholder ${id}`);
    for (const id of this.#termsUsed) if (!this.#terms.has(id)) refuse(`there are no terms ${id}`);
  }

  #issue(issuance: StockIssuance): void {
    const { security_id, stakeholder_id, stock_class_id, vesting_terms_id, vestings } = issuance;
    this.#last.security = rising(security_id, this.#last.security);
    if (!this.#classes.has(stock_class_id)) refuse(`there is no stock class ${stock_class_id}`);
    if (vesting_terms_id !== undefined) this.#termsUsed.add(vesting_terms_id);
    const quantity = unitsOf(issuance.quantity);
    const vesting = vestings?.reduce((sum, { amount }) => sum + unitsOf(amount), 0n) ?? quantity;
    if (vesting !== quantity) refuse(`the vestings of ${security_id} do not add up to it`);
    const by = this.#stakes.get(stakeholder_id) ?? { id: stakeholder_id, sum: 0n };
    this.#fulfil(security_id, { quantity, by });
    by.sum += quantity;
    this.#stakes.set(by.id, by);
    this.#held.set(numberOf(security_id), { quantity, by });
  }

  /** While securities are announced, those are issued and no others. */
  #fulfil(id: string, { quantity, by: holder }: Held): void {
    const announced = this.#announced;
    if (announced === undefined) return;
    const { transaction: by, balance, resulting } = announced;
    if (balance?.id === id) {
      if (quantity !== balance.quantity) refuse(`${id} is not what ${by} left`);
      if (holder !== balance.by) refuse(`${id} is not of the holder of ${by}`);
      announced.balance = undefined;
    } else if (resulting.delete(id)) announced.rest -= quantity;
    else refuse(`${by} does not announce ${id}`);
    if (announced.balance !== undefined || resulting.size > 0) return;
    if (announced.rest !== 0n) refuse(`what results from ${by} is not its quantity`);
    this.#announced = undefined;
  }

  #use(
    transaction: Exclude<Transaction, { object_type: "TX_STOCK_ISSUANCE" | "TX_VESTING_START" }>,
  ) {
    const { id: by, security_id, balance_security_id } = transaction;
    const { quantity, by: holder } = this.#hold(security_id);
    const moved = unitsOf(transaction.quantity);
    const left = quantity - moved;
    if (left < 0n || left > 0n !== (balance_security_id !== undefined)) {
      refuse(`${by} does not fit the quantity of ${security_id}`);
    }
    this.#held.delete(numberOf(security_id));
    holder.sum -= quantity;
    const isTransfer = transaction.object_type === "TX_STOCK_TRANSFER";
    const resulting = new Set(isTransfer ? transaction.resulting_security_ids : []);
    const balance =
      balance_security_id === undefined
        ? undefined
        : { id: balance_security_id, quantity: left, by: holder };
    if (resulting.size === 0 && balance === undefined) return;
    this.#announced = { transaction: by, resulting, rest: isTransfer ? moved : 0n, balance };
  }

  #hold(id: string): Held {
    return this.#held.get(numberOf(id)) ?? refuse(`there is no security ${id}, or it is used up`);
  }

  #add(ids: Set<string>, id: string): void {
    if (ids.has(id)) refuse(`${id} comes twice`);
    ids.add(id);
  }
}

/**
 * What a text of the package says, when it has the form.
 * @throws OcfError (stop)
 */
export const formed = <Form extends z.ZodType>(form: Form, text: string): z.infer<Form> => {
  const { success, data, error } = form.safeParse(JSON.parse(text));
  if (success) return data;
  const [issue] = error.issues;
  return refuse(`${issue?.path.join(".")}: ${issue?.message} in ${text.slice(0, 200)}`);
};

/** The number of an id such as `tx-1` or `security-1`. */
const numberOf = (id: string): number => {
  const number = Number(/^(?:tx|security)-(\d{1,15})$/.exec(id)?.[1]);
  return number > 0 ? number : refuse(`${id} has no number`);
};

const rising = (id: string, last: number): number => {
  const number = numberOf(id);
  return number > last ? number : refuse(`${id} comes behind number ${last}`);
};

const refuse = (why: string): never => {
  throw new OcfError(`not Open Cap Format: ${why}`);
};
