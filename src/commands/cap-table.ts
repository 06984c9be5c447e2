import { once } from "node:events";
import { Command, Option } from "commander";
import { capTableCsv } from "../audit/cap-table-csv.ts";
import { capTableJson, readCapTable, type TablePiece } from "../audit/cap-table-json.ts";
import { writeOcf } from "../audit/ocf.ts";
import type { Asked } from "../graphql/past.ts";
import { assetsOf } from "../service/assets.ts";
import { openStorage } from "../service/storage.ts";
import { issuerOf } from "../settings/assets.ts";
import { AT_HELP, atOption, coinOption, tableAt } from "./cap-table-at.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin: string;
  readonly at?: Asked;
  readonly format: "csv" | "json" | "ocf";
  readonly json?: boolean;
  readonly out?: string;
};

/** `holderbook cap-table`: who held a token at a checkpoint or moment, as a file for people and programs. */
export const capTableCommand = () =>
  new Command("cap-table")
    .addOption(coinOption())
    .addOption(atOption())
    .addOption(
      new Option("--format <format>", "how to print it, or ocf: Open Cap Format 1.2.0, with --out")
        .choices(["csv", "json", "ocf"])
        .default("csv"),
    )
    .option("--json", "the same as --format json")
    .option("--out <folder>", "for ocf: the folder to write, absent or empty")
    .addHelpText("after", AT_HELP)
    .action(async ({ coin, at, json, out, ...options }: Options) => {
      const format = json ? "json" : options.format;
      if ((format === "ocf") !== (out !== undefined)) {
        throw new UsageError("--format ocf and --out go together");
      }
      const { config, logger } = await openRuntime();
      await using storage = await openStorage(config, logger, { existing: true });
      // Without the time limit of callers' queries: a register may be long.
      const { db } = storage.write;
      const { head, rows } = await readCapTable(db, await tableAt(db, coin, at));
      if (out !== undefined) {
        const { assetsFile } = config;
        const assets = assetsFile === undefined ? undefined : await assetsOf(config, assetsFile);
        const issuer = assets && issuerOf(assets, head.coinType);
        const request = { ...head, rows, issuer, folder: out };
        const { transactions, stakeholders } = await writeOcf(storage.write, request);
        process.stdout.write(
          `${out}: ${transactions} transactions, ${stakeholders} stakeholders\n`,
        );
        return;
      }
      await print(
        format === "csv" ? capTableCsv(head, rows) : capTableJson(head, rows),
        head.holderCount,
      );
    });

/** Writes to standard output, and to a terminal how far it is. */
const print = async (pieces: AsyncIterable<TablePiece>, all: number): Promise<void> => {
  const { stdout, stderr } = process;
  let done = 0;
  for await (const { text, rows } of pieces) {
    if (!stdout.write(text)) await once(stdout, "drain");
    done += rows;
    if (stderr.isTTY && !stdout.isTTY) stderr.write(`\r\u001b[2K${done} of ${all} rows`);
  }
  if (stderr.isTTY && !stdout.isTTY) stderr.write("\n");
};
