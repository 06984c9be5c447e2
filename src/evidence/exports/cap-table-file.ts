/** Cap tables as files: their formats, names and contents. */

import { shareOf } from "../../../client/cap-rows.ts";
import { inTokens } from "../../../client/in-tokens.ts";
import { csvCell } from "../../labels/csv.ts";
import {
  type CapTableHead,
  capTableJson,
  type SeenTableOf,
  type TablePiece,
} from "../../projections/cap-table-json.ts";
import type { CapRow } from "../../projections/cap-tables.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { zipped } from "./zip.ts";

/** Amounts in tokens for people, in the smallest unit for programs. */
export const READERS = ["people", "programs"] as const;

export type Reader = (typeof READERS)[number];

/** Formats with their readers; the first is the default. */
export const FORMATS = {
  csv: READERS,
  /** An archive of the table and its description. */
  "csv-zip": ["people"],
  json: ["programs"],
  ocf: ["programs"],
} as const satisfies Readonly<Record<string, readonly Reader[]>>;

export type Format = keyof typeof FORMATS;

/** Why a format does not suit a reader; null if it does, or without a reader. */
export const notFor = (format: Format, reader: Reader | undefined): string | null => {
  const readers: readonly Reader[] = FORMATS[format];
  return reader === undefined || readers.includes(reader)
    ? null
    : `the format ${format} is for ${readers.join(" or ")} alone`;
};

/**
 * The decimals of the token are not known yet, so its amounts cannot be written in tokens. Wait for
 * its metadata, name them in ASSETS_FILE, or take the form for programs.
 */
export class DecimalsUnknownError extends Error {
  override readonly name = "DecimalsUnknownError";
  readonly remedy: Remedy = "wait";

  constructor(coinType: string) {
    super(
      `the decimals of ${coinType} are not known, so its amounts cannot be written in tokens: name them in ASSETS_FILE, or take the smallest unit, with for=programs (--for programs), or JSON`,
    );
  }
}

type CapTableFile = {
  readonly type: string;
  /** Appended to `fileNameOf`. */
  readonly ending: string;
  readonly pieces: AsyncIterable<TablePiece<string | Uint8Array>>;
};

/** Labels of a page's rows, in order; empty for a row without one. */
export type LabelsOf = (rows: readonly CapRow[]) => Promise<readonly string[]>;

/**
 * @param labelsOf adds the column `label` to CSV
 * @throws DecimalsUnknownError (wait) for people
 */
export const capTableFile = (
  table: SeenTableOf,
  { head, rows }: { readonly head: CapTableHead; readonly rows: AsyncIterable<readonly CapRow[]> },
  format: Exclude<Format, "ocf">,
  reader: Reader | undefined,
  labelsOf?: LabelsOf,
): CapTableFile => {
  if (format === "json") {
    const type = "application/json; charset=utf-8";
    return { type, ending: ".json", pieces: capTableJson(head, rows) };
  }
  const type = "text/csv; charset=utf-8";
  if (reader === "programs")
    return { type, ending: ".csv", pieces: csvForPrograms(head, rows, labelsOf) };
  const { decimals } = head;
  if (decimals === null) throw new DecimalsUnknownError(head.coinType);
  const pieces = csvForPeople(head, decimals, rows, labelsOf);
  return format === "csv"
    ? { type, ending: ".csv", pieces }
    : {
        type: "application/zip",
        ending: ".zip",
        pieces: withAbout(table, aboutOf(table, head, decimals), pieces),
      };
};

/**
 * `ACME-cap-table-250`: symbol and checkpoint. Token names are arbitrary: other characters than
 * letters, digits and `_` become `-`; an empty result falls back to the type's name.
 */
export const fileNameOf = ({ symbol, coinType, mark }: SeenTableOf): string => {
  const type = /(\w+)(?:<.*)?$/.exec(coinType)?.[1];
  return `${plain(symbol) || plain(type) || "token"}-cap-table-${mark.sequence}`;
};

const plain = (name: string | null | undefined): string =>
  (name ?? "")
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/\W+/g, "-")
    .slice(0, 40)
    .replaceAll(/^-|-$/g, "");

/** For people: amounts in tokens, times in ISO 8601. */
const aboutOf = ({ symbol, mark }: SeenTableOf, head: CapTableHead, decimals: number) => ({
  coinType: head.coinType,
  symbol,
  decimals,
  checkpoint: head.checkpoint.toString(),
  checkpointTime: new Date(Number(mark.timestampMs)).toISOString(),
  checkpointDigest: head.checkpointDigest,
  totalSupply: head.totalSupply === null ? null : inTokens(head.totalSupply, decimals),
  issued: inTokens(head.issued, decimals),
  holderCount: head.holderCount,
  root: head.root,
});

async function* withAbout(
  table: SeenTableOf,
  about: Readonly<Record<string, unknown>>,
  pieces: AsyncIterable<TablePiece>,
): AsyncGenerator<TablePiece<Uint8Array>> {
  let rows = 0;
  async function* lines() {
    for await (const piece of pieces) {
      rows += piece.rows;
      yield piece.data;
    }
  }
  const name = fileNameOf(table);
  const files = [
    { name: `${name}.csv`, content: lines() },
    { name: `${name}-about.json`, content: [`${JSON.stringify(about, null, 2)}\n`] },
  ];
  for await (const data of zipped(files, Number(table.mark.timestampMs))) {
    yield { data, rows };
    rows = 0;
  }
}

type Rows = AsyncIterable<readonly CapRow[]>;

type Columns = Readonly<Record<string, (row: CapRow) => string | bigint>>;

const HOLDER: Columns = {
  holder_id: ({ holderId }) => holderId ?? "",
  wallets: ({ wallets }) => wallets.map(({ address }) => address).join(" "),
};

/**
 * For people: header row, amounts with a decimal point. `frozen` and `groups` have one word per
 * entry of `wallets`, in order.
 */
const csvForPeople = (
  { issued }: CapTableHead,
  decimals: number,
  rows: Rows,
  labelsOf: LabelsOf | undefined,
): AsyncGenerator<TablePiece> => {
  const amount = (units: bigint) => inTokens(units, decimals);
  const columns: Columns = {
    ...HOLDER,
    balance: ({ balance }) => amount(balance),
    tokens: ({ tokens }) => amount(tokens),
    unlocked: ({ unlocked }) => amount(unlocked),
    locked: ({ locked }) => amount(locked),
    share_percent: ({ balance }) => shareOf(balance * 100n, issued).slice(0, -2),
    frozen: ({ wallets }) => wallets.map(({ isFrozen }) => (isFrozen ? "yes" : "no")).join(" "),
    groups: ({ wallets }) => wallets.map(({ groupId }) => groupId ?? "none").join(" "),
  };
  return linesOf(rows, columns, labelsOf);
};

/** For programs: the head as `#` lines, amounts in the smallest unit. */
async function* csvForPrograms(
  head: CapTableHead,
  rows: Rows,
  labelsOf: LabelsOf | undefined,
): AsyncGenerator<TablePiece> {
  const lines = Object.entries(head).map(([name, value]) => `# ${name},${value ?? ""}\n`);
  yield { data: lines.join(""), rows: 0 };
  const columns: Columns = {
    ...HOLDER,
    balance_in_units: ({ balance }) => balance,
    tokens_in_units: ({ tokens }) => tokens,
    granted_in_units: ({ granted }) => granted,
    unlocked_in_units: ({ unlocked }) => unlocked,
    locked_in_units: ({ locked }) => locked,
    share: ({ balance }) => shareOf(balance, head.issued),
  };
  yield* linesOf(rows, columns, labelsOf);
}

async function* linesOf(
  rows: Rows,
  columns: Columns,
  labelsOf: LabelsOf | undefined,
): AsyncGenerator<TablePiece> {
  const names = [...Object.keys(columns), ...(labelsOf === undefined ? [] : ["label"])];
  yield { data: `${names.join(",")}\n`, rows: 0 };
  const cells = Object.values(columns);
  for await (const page of rows) {
    const labels = await labelsOf?.(page);
    const lines = page.map((row, at) => {
      const label = labels === undefined ? [] : [labelCell(labels[at] ?? "")];
      return `${[...cells.map((cell) => cell(row)), ...label].join(",")}\n`;
    });
    yield { data: lines.join(""), rows: page.length };
  }
}

/** A spreadsheet would run a text that begins so as a formula. */
const labelCell = (label: string): string => csvCell(/^[=+\-@]/.test(label) ? `'${label}` : label);
