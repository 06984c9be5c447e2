import { once } from "node:events";
import { Command, Option } from "commander";
import {
  capTableFile,
  FORMATS,
  type Format,
  notFor,
  READERS,
  type Reader,
} from "../evidence/exports/cap-table-file.ts";
import { LOT_POLICIES, type LotPolicy, lotsNotFor } from "../evidence/ocf/lots.ts";
import { writeOcf } from "../evidence/ocf/ocf.ts";
import type { AsOf } from "../graphql/past.ts";
import { createAsking } from "../projections/asking.ts";
import { readCapTable, type TablePiece } from "../projections/cap-table-json.ts";
import { assetsOf } from "../service/assets.ts";
import { issuerOf } from "../settings/assets.ts";
import { AT_HELP, atOption, coinOption, tableAt } from "./cap-table-at.ts";
import { openDatabase } from "./open-database.ts";
import { printLines } from "./output.ts";
import { redrawnLine } from "./progress-line.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin: string;
  readonly at?: AsOf;
  readonly format: Format;
  readonly for?: Reader;
  readonly json?: boolean;
  readonly out?: string;
  readonly lots?: LotPolicy;
};

/** `holderbook cap-table`: a token's holders at a moment, as a file. */
export const capTableCommand = () =>
  new Command("cap-table")
    .addOption(coinOption())
    .addOption(atOption())
    .addOption(
      new Option(
        "--format <format>",
        "csv-zip is an archive of the CSV and its description; ocf is Open Cap Format 1.2.0, which needs --out",
      )
        .choices(Object.keys(FORMATS))
        .default("csv"),
    )
    .addOption(
      new Option(
        "--for <reader>",
        "for csv: amounts in tokens (default), or for programs in the smallest unit, below # lines that describe the table",
      ).choices(READERS),
    )
    .option("--json", "same as --format json")
    .option("--out <folder>", "for ocf: folder to write; must be absent or empty")
    .addOption(
      new Option(
        "--lots <policy>",
        "for ocf: which securities are used when tokens leave a wallet: the oldest first (fifo, the default), or all in proportion (pro-rata)",
      ).choices(LOT_POLICIES),
    )
    .addHelpText("after", AT_HELP)
    .action(async ({ coin, at, ...options }: Options) => {
      const wanted = wantedOf(options);
      await using storage = await openDatabase({ readOnly: true, spread: true, untimed: true });
      const on = storage.readers.for(storage.signal);
      const find = createAsking(storage.read, { onFound: storage.replicas?.catchUp });
      const { table, db } = await tableAt(on, coin, at, find);
      const { head, rows } = await readCapTable(db, table);
      if (wanted.format === "ocf") {
        const { folder, lots } = wanted;
        const { config } = storage;
        const { assetsFile } = config;
        const assets = assetsFile === undefined ? undefined : await assetsOf(config, assetsFile);
        const issuer = assets && issuerOf(assets, head.coinType);
        const request = { ...head, rows, issuer, folder, lots };
        const { transactions, stakeholders } = await writeOcf(on, request);
        printLines([
          `${folder}: ${transactions} transactions, ${stakeholders} stakeholders, lots: ${lots}`,
        ]);
        return;
      }
      const { pieces } = capTableFile(table, { head, rows }, wanted.format, wanted.reader);
      await print(pieces, head.holderCount);
    });

const wantedOf = ({ json, out, for: reader, lots, ...options }: Omit<Options, "coin" | "at">) => {
  const format = json ? "json" : options.format;
  const why = notFor(format, reader);
  if (why !== null) throw new UsageError(`--for: ${why}`);
  const whyNot = lotsNotFor(format, lots);
  if (whyNot !== null) throw new UsageError(`--lots: ${whyNot}`);
  if (format === "ocf" && out !== undefined) return { format, folder: out, lots: lots ?? "fifo" };
  if (format === "ocf" || out !== undefined) {
    throw new UsageError("--format ocf needs --out, and no other format has it");
  }
  if (format === "csv-zip" && process.stdout.isTTY) {
    throw new UsageError("an archive cannot go to a terminal: add > table.zip");
  }
  return { format, reader };
};

/** Writes to standard output, and progress to a terminal. */
const print = async (
  pieces: AsyncIterable<TablePiece<string | Uint8Array>>,
  all: number,
): Promise<void> => {
  const { stdout, stderr } = process;
  const { draw, clear } = redrawnLine(stderr.isTTY && !stdout.isTTY ? stderr : undefined);
  let done = 0;
  for await (const { data, rows } of pieces) {
    if (!stdout.write(data)) await once(stdout, "drain");
    done += rows;
    draw(`${done} of ${all} rows`);
  }
  clear();
};
