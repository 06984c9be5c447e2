/**
 * From the first register to the last by cause, in total and per row, reconciled with both tables
 * to the unit.
 */

import { CAUSES, type Cause, type ChangedPart } from "../../projections/balance-changes.ts";
import type { CapRow } from "../../projections/cap-rows.ts";
import type { ProvenRegister } from "../pack/check.ts";
import type { Movement } from "../pack/lines.ts";
import { type Passed, rowName } from "./wallets.ts";

/** The movements between do not lead from one register to the other: a fault of this program. Report it with the pack. */
export class RollForwardError extends Error {
  override readonly name = "RollForwardError";
  readonly remedy = "stop";
}

/** Totals of a cause; neither is negative. */
export type Flow = { count: number; more: bigint; less: bigint };

/** A row from one date to the other; tokens and grants together. */
export type RowFlow = {
  readonly row: string;
  opening: bigint;
  /** Net, by cause. */
  readonly byCause: Map<Cause, bigint>;
  /** Balances of wallets that joined the row, minus those that left. */
  passed: bigint;
  /** Recomputed from movements. */
  computed: bigint;
  /** From the last register. */
  closing: bigint;
};

type Parts = Readonly<Record<ChangedPart, bigint>>;

/** A part of all balances. */
export type Tie = { readonly opening: Parts; readonly computed: Parts; readonly closing: Parts };

const partsOf = (rows: readonly CapRow[]): Parts => ({
  TOKENS: rows.reduce((sum, { tokens }) => sum + tokens, 0n),
  GRANTS: rows.reduce((sum, { granted }) => sum + granted, 0n),
});

export class RollForward {
  readonly #flows = new Map<string, Flow>();
  readonly #rows = new Map<string, RowFlow>();
  #opening: Parts = { TOKENS: 0n, GRANTS: 0n };

  open({ rows }: ProvenRegister): void {
    this.#opening = partsOf(rows);
    for (const row of rows) this.#of(rowName(row)).opening = row.balance;
  }

  flow(cause: Cause, part: ChangedPart): Flow {
    const key = `${cause} ${part}`;
    const known = this.#flows.get(key) ?? { count: 0, more: 0n, less: 0n };
    this.#flows.set(key, known);
    return known;
  }

  moved(name: string, { cause, part, change }: Movement): void {
    const flow = this.flow(cause, part);
    flow.count += 1;
    if (change > 0n) flow.more += change;
    else flow.less -= change;
    const { byCause } = this.#of(name);
    byCause.set(cause, (byCause.get(cause) ?? 0n) + change);
  }

  passed({ from, to, amount }: Passed): void {
    if (amount === 0n) return;
    this.#of(from).passed -= amount;
    this.#of(to).passed += amount;
  }

  /**
   * Reconciles with the last register.
   * @returns rows in its order, then rows that left it
   * @throws RollForwardError (stop) if they do not tie
   */
  close({ rows }: ProvenRegister): { readonly tie: Tie; readonly rows: readonly RowFlow[] } {
    for (const row of rows) this.#of(rowName(row)).closing = row.balance;
    const moved = (part: ChangedPart) =>
      CAUSES.map((cause) => this.flow(cause, part)).reduce(
        (sum, { more, less }) => sum + more - less,
        this.#opening[part],
      );
    const computed = { TOKENS: moved("TOKENS"), GRANTS: moved("GRANTS") };
    const tie = { opening: this.#opening, computed, closing: partsOf(rows) };
    for (const part of ["TOKENS", "GRANTS"] as const) {
      assertTies(part, computed[part], tie.closing[part]);
    }
    for (const row of this.#rows.values()) {
      row.computed = [...row.byCause.values()].reduce(
        (sum, net) => sum + net,
        row.opening + row.passed,
      );
      assertTies(row.row, row.computed, row.closing);
    }
    const byName = new Map(rows.map((row, at) => [rowName(row), at]));
    const place = ({ row }: RowFlow) => byName.get(row) ?? rows.length;
    return { tie, rows: [...this.#rows.values()].sort((a, b) => place(a) - place(b)) };
  }

  #of(row: string): RowFlow {
    const known = this.#rows.get(row) ?? {
      row,
      opening: 0n,
      byCause: new Map(),
      passed: 0n,
      computed: 0n,
      closing: 0n,
    };
    this.#rows.set(row, known);
    return known;
  }
}

const assertTies = (what: string, computed: bigint, closing: bigint): void => {
  if (computed === closing) return;
  throw new RollForwardError(
    `${what}: opening balance and movements come to ${computed}, but the last register has ${closing}: a difference of ${closing - computed} of the smallest unit`,
  );
};
