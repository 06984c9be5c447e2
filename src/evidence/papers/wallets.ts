/** Each wallet's holder, balance and freeze, event by event. */

import type { CapRow } from "../../projections/cap-rows.ts";
import type { HolderEventRow } from "../../projections/holder-events.ts";
import type { ProvenRegister } from "../pack/check.ts";

/** `12` is a holder, an address an unassigned wallet. */
export const rowName = ({ holderId, wallets }: CapRow): string =>
  holderId === null ? (wallets[0]?.address ?? "") : `${holderId}`;

/** A wallet that changed rows, with its balance then. */
export type Passed = {
  readonly wallet: string;
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
};

export class Wallets {
  readonly #holders = new Map<string, bigint>();
  readonly #frozen = new Set<string>();
  readonly #held = new Map<string, bigint>();

  open({ rows, memberships }: ProvenRegister): void {
    for (const { wallets } of rows) {
      for (const { address, balance } of wallets) this.#held.set(address, balance);
    }
    for (const { address, aspect, value } of memberships) {
      if (aspect === "holder") this.#holders.set(address, value);
      if (aspect === "freeze") this.#frozen.add(address);
    }
  }

  rowOf(wallet: string): string {
    return this.#holders.get(wallet)?.toString() ?? wallet;
  }

  isFrozen(wallet: string | null): boolean {
    return wallet !== null && this.#frozen.has(wallet);
  }

  moved(wallet: string, change: bigint): void {
    this.#held.set(wallet, (this.#held.get(wallet) ?? 0n) + change);
  }

  /** Returns the balance moved to another row, or null. */
  happened({ eventType, address, holderId, isFrozen }: HolderEventRow): Passed | null {
    if (address === null) return null;
    const from = this.rowOf(address);
    if (eventType === "holder_address_removed") this.#holders.delete(address);
    if (eventType === "holder_address_added" && holderId !== null) {
      this.#holders.set(address, holderId);
    }
    if (eventType === "address_frozen" && isFrozen) this.#frozen.add(address);
    if (eventType === "address_frozen" && !isFrozen) this.#frozen.delete(address);
    const to = this.rowOf(address);
    const amount = this.#held.get(address) ?? 0n;
    return from === to ? null : { wallet: address, from, to, amount };
  }
}
