/** A cap table as lines for a spreadsheet: the same text wherever it is written. */
import { type CapRow, shareOf } from "../projections/cap-tables.ts";
import type { CapTableHead, TablePiece } from "./cap-table-json.ts";

const COLUMNS = "holder_id,wallets,balance,tokens,granted,unlocked,locked,share";

/** The head as lines that begin with `#`; wallets of a row are separated by spaces. */
export async function* capTableCsv(
  head: CapTableHead,
  rows: AsyncIterable<readonly CapRow[]>,
): AsyncGenerator<TablePiece> {
  const lines = Object.entries(head).map(([name, value]) => `# ${name},${value ?? ""}`);
  yield { text: `${lines.join("\n")}\n${COLUMNS}\n`, rows: 0 };
  for await (const page of rows) {
    const text = page.map((row) =>
      [
        row.holderId ?? "",
        row.wallets.map(({ address }) => address).join(" "),
        row.balance,
        row.tokens,
        row.granted,
        row.unlocked,
        row.locked,
        shareOf(row.balance, head.issued),
      ].join(","),
    );
    yield { text: `${text.join("\n")}\n`, rows: page.length };
  }
}
