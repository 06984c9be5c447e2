/**
 * A cap table as lines: for people, whose spreadsheet shows amounts as they speak of them, or for
 * programs, in the smallest unit. No column is named alike and means another unit, so what is written for
 * the one form fails on the other. Every cell is made of digits, addresses and words of ours: none is
 * quoted, and none begins a formula.
 */

import { shareOf } from "../../client/cap-rows.ts";
import { inTokens } from "../../client/in-tokens.ts";
import type { CapTableHead, TablePiece } from "../projections/cap-table-json.ts";
import type { CapRow } from "../projections/cap-tables.ts";

type Rows = AsyncIterable<readonly CapRow[]>;

/** Columns by name, in order: what a row has in each. */
type Columns = Readonly<Record<string, (row: CapRow) => string | bigint>>;

const HOLDER: Columns = {
  holder_id: ({ holderId }) => holderId ?? "",
  wallets: ({ wallets }) => wallets.map(({ address }) => address).join(" "),
};

/**
 * The table for people: its columns first, amounts with the token's decimals and a point. `frozen` and
 * `groups` have one word for each of `wallets`, in their order.
 * @param decimals of the token
 */
export const csvForPeople = (
  { issued }: CapTableHead,
  decimals: number,
  rows: Rows,
): AsyncGenerator<TablePiece> => {
  const amount = (units: bigint) => inTokens(units, decimals);
  return linesOf(rows, {
    ...HOLDER,
    balance: ({ balance }) => amount(balance),
    tokens: ({ tokens }) => amount(tokens),
    unlocked: ({ unlocked }) => amount(unlocked),
    locked: ({ locked }) => amount(locked),
    share_percent: ({ balance }) => shareOf(balance * 100n, issued).slice(0, -2),
    frozen: ({ wallets }) => wallets.map(({ isFrozen }) => (isFrozen ? "yes" : "no")).join(" "),
    groups: ({ wallets }) => wallets.map(({ groupId }) => groupId ?? "none").join(" "),
  });
};

/** The table for programs: its head as lines that begin with `#`, amounts in the smallest unit. */
export async function* csvForPrograms(head: CapTableHead, rows: Rows): AsyncGenerator<TablePiece> {
  const lines = Object.entries(head).map(([name, value]) => `# ${name},${value ?? ""}\n`);
  yield { data: lines.join(""), rows: 0 };
  yield* linesOf(rows, {
    ...HOLDER,
    balance_in_units: ({ balance }) => balance,
    tokens_in_units: ({ tokens }) => tokens,
    granted_in_units: ({ granted }) => granted,
    unlocked_in_units: ({ unlocked }) => unlocked,
    locked_in_units: ({ locked }) => locked,
    share: ({ balance }) => shareOf(balance, head.issued),
  });
}

async function* linesOf(rows: Rows, columns: Columns): AsyncGenerator<TablePiece> {
  yield { data: `${Object.keys(columns).join(",")}\n`, rows: 0 };
  const cells = Object.values(columns);
  for await (const page of rows) {
    const lines = page.map((row) => `${cells.map((cell) => cell(row)).join(",")}\n`);
    yield { data: lines.join(""), rows: page.length };
  }
}
