import { once } from "node:events";
import { Command, Option } from "commander";
import { writeOcf } from "../audit/ocf.ts";
import type { Database } from "../database/connect.ts";
import type { Asked } from "../graphql/past.ts";
import {
  type CapPlace,
  type CapRow,
  createCapTables,
  placeOf,
  shareOf,
} from "../projections/cap-tables.ts";
import { assetsOf } from "../service/assets.ts";
import { openStorage } from "../service/storage.ts";
import { issuerOf } from "../settings/assets.ts";
import { AT_HELP, atOption, coinOption, tableAt } from "./cap-table-at.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** Rows that are read at once, and written before more are. */
const AT_ONCE = 10_000;

type Options = {
  readonly coin: string;
  readonly at?: Asked;
  readonly format: "csv" | "json" | "ocf";
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
    .option("--out <folder>", "for ocf: the folder to write, absent or empty")
    .addHelpText("after", AT_HELP)
    .action(async ({ coin, at, format, out }: Options) => {
      if ((format === "ocf") !== (out !== undefined)) {
        throw new UsageError("--format ocf and --out go together");
      }
      const { config, logger } = await openRuntime();
      await using storage = await openStorage(config, logger, { existing: true });
      // Without the time limit of callers' queries: a register may be long.
      const { head, rows } = await capTable(storage.write, coin, at);
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
      await print(format === "csv" ? csv(head, rows) : json(head, rows), head.holderCount);
    });

/** A table's head, as GraphQL's `capTable` has it. */
type Head = {
  readonly coinType: string;
  readonly decimals: number | null;
  readonly checkpoint: bigint;
  readonly checkpointTimestamp: bigint;
  readonly checkpointDigest: string;
  readonly totalSupply: bigint | null;
  readonly issued: bigint;
  readonly holderCount: number;
  readonly root: string;
};

const capTable = async ({ db }: Database, coin: string, asked: Asked | undefined) => {
  const { mark, ...table } = await tableAt(db, coin, asked);
  const { coinType } = table;
  const { sequence: checkpoint, timestampMs, digest } = mark;
  const tables = createCapTables();
  const at = { checkpoint, timestampMs };
  const { issued, holderCount, root } = await tables.totals(db, { coinType, at });
  const head: Head = {
    coinType,
    decimals: table.decimals,
    checkpoint,
    checkpointTimestamp: timestampMs / 1_000n,
    checkpointDigest: digest,
    totalSupply: table.totalSupply,
    issued,
    holderCount,
    root,
  };
  async function* rows(): AsyncGenerator<readonly CapRow[]> {
    for (let after: CapPlace | undefined; ; ) {
      const page = await tables.rows(db, { coinType, at, limit: AT_ONCE, after });
      const end = page.at(-1);
      if (end === undefined) return;
      yield page;
      after = placeOf(end);
    }
  }
  return { head, rows: rows() };
};

/** A piece of the text, and how many rows it has. */
type Piece = { readonly text: string; readonly rows: number };

const COLUMNS = "holder_id,wallets,balance,tokens,granted,unlocked,locked,share";

/** The head as lines that begin with `#`; wallets of a row are separated by spaces. */
async function* csv(head: Head, rows: AsyncIterable<readonly CapRow[]>): AsyncGenerator<Piece> {
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

/** One document, rows as GraphQL's `capTable` has them: amounts are decimal strings. */
async function* json(head: Head, rows: AsyncIterable<readonly CapRow[]>): AsyncGenerator<Piece> {
  const printed = (value: unknown) =>
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "bigint" ? inner.toString() : inner,
    );
  yield { text: `${printed(head).slice(0, -1)},"rows":[`, rows: 0 };
  let separator = "\n";
  for await (const page of rows) {
    const text = page.map((row) => printed({ ...row, share: shareOf(row.balance, head.issued) }));
    yield { text: `${separator}${text.join(",\n")}`, rows: page.length };
    separator = ",\n";
  }
  yield { text: "\n]}\n", rows: 0 };
}

/** Writes to standard output, and to a terminal how far it is. */
const print = async (pieces: AsyncIterable<Piece>, all: number): Promise<void> => {
  const { stdout, stderr } = process;
  let done = 0;
  for await (const { text, rows } of pieces) {
    if (!stdout.write(text)) await once(stdout, "drain");
    done += rows;
    if (stderr.isTTY && !stdout.isTTY) stderr.write(`\r\u001b[2K${done} of ${all} rows`);
  }
  if (stderr.isTTY && !stdout.isTTY) stderr.write("\n");
};
