/** A cap table and a statement as pages to print and file. Amounts are in tokens. */
import { shareOf } from "../../../client/cap-rows.ts";
import { inTokens } from "../../../client/in-tokens.ts";
import type { Statement } from "../../../client/verify-statement.ts";
import type { CapTableHead, SeenTableOf } from "../../projections/cap-table-json.ts";
import type { CapRow } from "../../projections/cap-tables.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import {
  code,
  heading,
  type Inline,
  list,
  type Paper,
  qr,
  table,
  text,
} from "../document/document.ts";
import { DecimalsUnknownError } from "./cap-table-file.ts";

/** Rows of a PDF at most: it is held in memory until its pages are counted. */
export const MOST_PDF_ROWS = 2_000;

/** Wallets of all rows of a PDF at most, for the same reason. */
export const MOST_PDF_WALLETS = 10_000;

/** The register has more rows or wallets than a PDF may have. Take CSV or JSON, which have no bound. */
export class PdfTooLongError extends Error {
  override readonly name = "PdfTooLongError";
  readonly remedy: Remedy = "stop";

  constructor(coinType: string, has: string, most: number) {
    super(
      `format: the cap table of ${coinType} has ${has}, a PDF at most ${most}: take csv or json`,
    );
  }
}

/** What is printed: its pages, and the top left of each. */
export type Printed = { readonly title: string; readonly header: Inline; readonly paper: Paper };

const grouped = (amount: string): string => {
  const [whole = "", part] = amount.split(".");
  const digits = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return part === undefined ? digits : `${digits}.${part}`;
};

/** `2026-05-04 13:02:11 UTC`. */
const timeText = (seconds: bigint): string =>
  `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

const named = (name: string, value: Inline): Inline => [
  { strong: `${name}: ` },
  ...(typeof value === "object" && "length" in value ? value : [value]),
];

const HOLDER_COLUMNS = [
  { title: "Holder", width: 9, isWhole: true },
  { title: "Wallets", width: 40 },
  { title: "Balance", width: 15, isNumber: true },
  { title: "Unlocked", width: 12, isNumber: true },
  { title: "Locked", width: 12, isNumber: true },
  { title: "Share %", width: 8, isNumber: true },
  { title: "Frozen", width: 8 },
];

/** @throws DecimalsUnknownError (wait), PdfTooLongError (stop) */
export const capTablePaper = async (
  { symbol }: SeenTableOf,
  head: CapTableHead,
  pages: AsyncIterable<readonly CapRow[]>,
): Promise<Printed> => {
  const { coinType, decimals, checkpoint, checkpointTimestamp, holderCount } = head;
  if (decimals === null) throw new DecimalsUnknownError(coinType);
  if (holderCount > MOST_PDF_ROWS) {
    throw new PdfTooLongError(coinType, `${holderCount} rows`, MOST_PDF_ROWS);
  }
  const amount = (units: bigint) => grouped(inTokens(units, decimals));
  const rows: Inline[][] = [];
  let walletCount = 0;
  for await (const page of pages) {
    for (const { holderId, wallets, balance, unlocked, locked } of page) {
      walletCount += wallets.length;
      if (walletCount > MOST_PDF_WALLETS) {
        throw new PdfTooLongError(coinType, "more wallets", MOST_PDF_WALLETS);
      }
      rows.push([
        holderId === null ? "none" : `${holderId}`,
        wallets.flatMap(({ address }, at) => [...(at === 0 ? [] : [" "]), code(address)]),
        amount(balance),
        amount(unlocked),
        amount(locked),
        shareOf(balance * 100n, head.issued).slice(0, -2),
        frozenText(wallets),
      ]);
    }
  }
  const unit = symbol === null ? "" : ` ${symbol}`;
  return {
    title: `Holder register: ${symbol ?? coinType}`,
    header: [`${symbol ?? "Token"}, checkpoint ${checkpoint}, `, code(coinType)],
    paper: {
      number: "",
      title: `Holder register${symbol === null ? "" : ` of ${symbol}`}`,
      file: "holder-register",
      isLandscape: true,
      blocks: [
        list([
          named("Token", code(coinType)),
          named("As of", `${timeText(checkpointTimestamp)}, the end of checkpoint ${checkpoint}`),
          named("Checkpoint digest", code(head.checkpointDigest)),
          named("Root of all rows", code(head.root)),
          named("Issued", `${amount(head.issued)}${unit}`),
          named(
            "Supply on the ledger",
            head.totalSupply === null ? "not seen" : `${amount(head.totalSupply)}${unit}`,
          ),
          named("Rows", `${holderCount}: holders with all their wallets, and wallets without one`),
        ]),
        heading(symbol === null ? "Holders" : `Holders, amounts in ${symbol}`),
        table({
          columns: HOLDER_COLUMNS,
          rows,
          total: ["Sum", "", amount(head.issued), "", "", "", ""],
          mostSet: MOST_PDF_ROWS,
        }),
      ],
    },
  };
};

const frozenText = (wallets: CapRow["wallets"]): string => {
  const frozen = wallets.filter(({ isFrozen }) => isFrozen).length;
  if (frozen === 0) return "no";
  return frozen === wallets.length ? "yes" : `${frozen} of ${wallets.length}`;
};

/** The pages of a statement; the signed file is what is verified. @throws DecimalsUnknownError (wait) */
export const statementPaper = (statement: Statement, symbol: string | null): Printed => {
  const { coinType, checkpoint, decimals, row, root } = statement;
  if (decimals === null) throw new DecimalsUnknownError(coinType);
  const unit = symbol === null ? "" : ` ${symbol}`;
  const amount = (units: string) => `${grouped(inTokens(BigInt(units), decimals))}${unit}`;
  const who = row.holderId === null ? "a wallet without a holder" : `holder ${row.holderId}`;
  return {
    title: `Statement of ${who}: ${symbol ?? coinType}`,
    header: [`${symbol ?? "Token"}, checkpoint ${checkpoint}, `, code(coinType)],
    paper: {
      number: "",
      title: `Statement of ${who}`,
      file: "statement",
      blocks: [
        list([
          named("Token", code(coinType)),
          named(
            "As of",
            `${timeText(BigInt(statement.checkpointTimestamp))}, the end of checkpoint ${checkpoint}`,
          ),
          named("Chain", code(statement.chainId)),
          named("Checkpoint digest", code(statement.checkpointDigest)),
        ]),
        heading("Holding"),
        table({
          columns: [
            { title: "", width: 30 },
            { title: "Amount", width: 30, isNumber: true },
          ],
          rows: [
            ["Tokens", amount(row.tokens)],
            ["In grants, unlocked", amount(row.unlocked)],
            ["In grants, locked", amount(row.locked)],
            ["Share of all tokens", `${grouped(percent(row.share))} %`],
          ],
          total: ["Balance", amount(row.balance)],
        }),
        heading("Wallets"),
        table({
          columns: [
            { title: "Address", width: 60 },
            { title: "Balance", width: 25, isNumber: true },
            { title: "Frozen", width: 10 },
          ],
          rows: row.wallets.map(({ address, balance, isFrozen }) => [
            code(address),
            amount(balance),
            isFrozen ? "yes" : "no",
          ]),
        }),
        heading("Proof"),
        list([
          named("Root of all rows", code(root)),
          named("Signed with the key", code(statement.keyId)),
          named("Signature", code(statement.signature)),
        ]),
        text(
          `This page shows a signed statement of form ${statement.version}. The signed file (format=json) proves the holding: check it on the page /check of this service, or by `,
          code("holderbook statement verify"),
          ". The root below is the same for every statement of this token at this checkpoint and form.",
        ),
        qr(root, "The root, to scan"),
      ],
    },
  };
};

/** A share of 1 as percent, digits moved, none lost. */
const percent = (share: string): string => {
  const [whole = "0", part = ""] = share.split(".");
  const digits = part.padEnd(2, "0");
  return `${BigInt(`${whole}${digits.slice(0, 2)}`)}.${digits.slice(2) || "0"}`;
};
