/**
 * Checks an Open Cap Format package while it is written, from its texts alone: every object's form,
 * every reference, and that the transactions (see held.ts) add up to the cap table and its legends,
 * wallet by wallet.
 */
import type { z } from "zod";
import type { CapWallet } from "../../projections/cap-rows.ts";
import {
  OCF_DIGITS,
  OcfError,
  refuse,
  stakeholderForm,
  stockClassForm,
  stockLegendTemplateForm,
  transactionForm,
  vestingTermsForm,
} from "./forms.ts";
import { HeldSecurities, stakeKey } from "./held-securities.ts";
import { legendsOf } from "./wallets.ts";

/** Ids of one kind: defined, and referenced. */
type Listed = { readonly there: Set<string>; readonly named: Set<string> };
const listed = (): Listed => ({ there: new Set(), named: new Set() });

/** Memory: `HeldSecurities`, and the ids of all other objects. */
export class OcfCheck {
  readonly #held = new HeldSecurities();
  readonly #classes = new Set<string>();
  readonly #terms = listed();
  readonly #legends = listed();
  readonly #stakeholders = new Set<string>();

  /** Call before all transactions. @throws OcfError (stop) */
  stockClass(text: string): void {
    this.#add(this.#classes, formed(stockClassForm, text).id);
  }

  /** Call in order. @throws OcfError (stop) */
  transaction(text: string): void {
    const transaction = formed(transactionForm, text);
    if (transaction.object_type === "TX_STOCK_ISSUANCE") {
      const { stock_class_id, stock_legend_ids, vesting_terms_id } = transaction;
      if (!this.#classes.has(stock_class_id)) refuse(`there is no stock class ${stock_class_id}`);
      for (const id of stock_legend_ids) this.#legends.named.add(id);
      if (vesting_terms_id !== undefined) this.#terms.named.add(vesting_terms_id);
    }
    this.#held.take(transaction);
  }

  /** Call after all transactions. @throws OcfError (stop) */
  legend(text: string): void {
    this.#add(this.#legends.there, formed(stockLegendTemplateForm, text).id);
  }

  /** Call after all transactions. @throws OcfError (stop) */
  vestingTerms(text: string): void {
    const { id, vesting_conditions } = formed(vestingTermsForm, text);
    this.#add(this.#terms.there, id);
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
   * Call after all transactions.
   * @param wallets its wallets in the cap table
   * @param unit the token's smallest unit, in units of the tenth decimal
   * @throws OcfError (stop), also if the transactions leave another balance
   */
  stakeholder(text: string, wallets: readonly CapWallet[], unit: bigint): void {
    const { id } = formed(stakeholderForm, text);
    this.#add(this.#stakeholders, id);
    const holding = wallets.filter(({ balance }) => balance > 0n);
    const expected = new Map(
      holding.map((wallet) => [stakeKey(wallet.address, legendsOf(wallet)), wallet.balance * unit]),
    );
    const sums = this.#held.sumsOf(id);
    for (const key of new Set([...expected.keys(), ...sums.keys()])) {
      const [wanted, sum] = [expected.get(key) ?? 0n, sums.get(key) ?? 0n];
      if (wanted === sum) continue;
      throw new OcfError(
        `the movements leave ${id} with ${sum} in ${key}, the cap table says ${wanted} (in units of 10^-${OCF_DIGITS}; behind the wallet: its legends)`,
      );
    }
  }

  /** Stakeholders of transactions not checked yet, in the order of their first holding. */
  get unlisted(): readonly string[] {
    return this.#held.stakeholders.filter((id) => !this.#stakeholders.has(id));
  }

  /** Checks that nothing is missing. @throws OcfError (stop) */
  end(): void {
    this.#held.end();
    for (const id of this.unlisted) refuse(`there is no stakeholder ${id}`);
    for (const { there, named } of [this.#terms, this.#legends]) {
      for (const id of named) if (!there.has(id)) refuse(`there is no ${id}`);
      for (const id of there) if (!named.has(id)) refuse(`nothing names ${id}`);
    }
  }

  #add(ids: Set<string>, id: string): void {
    if (ids.has(id)) refuse(`${id} comes twice`);
    ids.add(id);
  }
}

/** Parses a text of the package. @throws OcfError (stop) */
export const formed = <Form extends z.ZodType>(form: Form, text: string): z.infer<Form> => {
  const { success, data, error } = form.safeParse(JSON.parse(text));
  if (success) return data;
  const [issue] = error.issues;
  return refuse(`${issue?.path.join(".")}: ${issue?.message} in ${text.slice(0, 200)}`);
};
