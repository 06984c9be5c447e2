import { readFile, writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import { amountText } from "../../client/in-tokens.ts";
import { type Statement, StatementError, verifyStatement } from "../../client/verify-statement.ts";
import { compareWithKept, type StatementEntries } from "../evidence/statement/compare-entries.ts";
import { makeStatement, type StatementVersion } from "../evidence/statement/statement.ts";
import type { AsOf } from "../graphql/past.ts";
import { createAsking } from "../projections/asking.ts";
import type { Whose } from "../projections/cap-tables.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { parseStrictJson, StrictJsonError } from "../settings/strict-json.ts";
import { addressArgument, bigintArgument, keyArgument } from "./arguments.ts";
import { AT_HELP, atOption, coinOption, tableAt } from "./cap-table-at.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, notShown, printJson, printLines } from "./output.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly coin?: string;
  readonly at?: AsOf;
  readonly owner?: string;
  readonly holder?: bigint;
  readonly out?: string;
  readonly statementVersion: StatementVersion;
};

/** `holderbook statement`: a holder's part of a cap table, which can be checked without us. */
export const statementCommand = () =>
  new Command("statement")
    // Checked later, because the sub-command has no such option.
    .addOption(coinOption().makeOptionMandatory(false))
    .option(
      "--owner <address>",
      "row of this wallet, or of the holder it belongs to",
      addressArgument,
    )
    .option(
      "--holder <id>",
      "row of this holder",
      bigintArgument(/^\d{1,20}$/, "a holder's number"),
    )
    .addOption(atOption())
    .option("--out <file>", "file to write; default: standard output")
    .addOption(
      new Option("--statement-version <version>", "1 is for programs that do not know version 2")
        .choices(["1", "2"])
        .argParser(versionArgument)
        .default(2),
    )
    .addHelpText("after", AT_HELP)
    .action(async ({ coin, at, owner, holder, out, statementVersion: version }: Options) => {
      if (coin === undefined) throw new UsageError("give the token with --coin");
      const whose = whoseOf(owner, holder);
      await using storage = await openDatabase();
      const { config, write } = storage;
      const key = await configuredKey(config, { existing: true }).open(storage);
      const { table, db } = await tableAt(write.db, coin, at, createAsking(write));
      const statement = await makeStatement({ db, write }, key, table, whose, { version });
      if (out === undefined) printJson(statement, 2);
      else await writeFile(out, `${JSON.stringify(statement, null, 2)}\n`);
    })
    .addCommand(verifyCommand());

type VerifyOptions = {
  readonly root?: string | undefined;
  readonly key?: string | undefined;
  readonly entry?: readonly string[] | undefined;
};

/** Reads the files only: no settings, no database. */
const verifyCommand = () =>
  new Command("verify")
    .description("check a statement; needs no database and no settings")
    .argument("<file>", "file of the statement")
    .option("--root <hex>", "the root it must have, from GET /roots for its version", rootArgument)
    .option(
      "--key <base64>",
      "the deployment's public key, from a source that you trust",
      keyArgument,
    )
    .option(
      "--entry <files...>",
      "entries of the deployment's sequence that you kept from GET /sequence; the root must be the one that they name",
    )
    .action(async (file: string, { root, key, entry }: VerifyOptions) => {
      const statement = verifyStatement(parsed(await readFile(file)), {
        root,
        // Entries may lead from the given key to a later one.
        publicKey: entry === undefined ? key : undefined,
      });
      const kept = entry && (await compareWithKept(statement, entry, key));
      printLines(reportLines(statement, { root, key }, kept));
      endCheck({ isFalse: false, isUnshown: kept !== undefined && kept.notShown.length > 0 });
    });

/** Refuses duplicate members: a person may read the other one. */
const parsed = (bytes: Uint8Array): unknown => {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    throw new StatementError([`the file is not JSON: ${error.why} (at character ${error.at})`]);
  }
};

const reportLines = (
  statement: Statement,
  { root, key }: VerifyOptions,
  kept: StatementEntries | undefined,
): readonly string[] => {
  const { row, total, totalSupply, checkpoint, coinType, publicKey, decimals } = statement;
  const amount = (units: string) => amountText(BigInt(units), decimals);
  const who =
    row.holderId === null ? `wallet ${row.wallets[0]?.address}` : `holder ${row.holderId}`;
  // A complete forgery would pass too: say so first.
  const holds =
    root === undefined && (key === undefined || kept?.signer === "itself")
      ? "the statement is consistent, but its signer was not checked"
      : "the statement holds";
  return [
    `${holds}: ${who} has ${amount(row.balance)} of ${amount(total)} ${coinType} at the end of checkpoint ${checkpoint}`,
    totalSupply === null
      ? "not compared: the rows' total with the treasury's supply, which the statement does not give"
      : "the rows' total is the treasury's supply, as the signer says; the treasury object on the ledger shows it",
    root === undefined
      ? `not compared: whether others see the same root, ${statement.root}; take it from GET /roots?version=${statement.version} and give it with --root`
      : "its root is the given one",
    key === undefined
      ? `signed with ${publicKey}, the key in the file itself: this shows only that nothing was changed since. Give the issuer's key, as you know it from elsewhere, with --key`
      : SIGNED_WITH[kept?.signer ?? "given"](publicKey),
    statement.version === 2
      ? `the root is entry ${statement.entry.number} of the deployment's sequence (GET /sequence), signed at ${statement.entry.at}, as the signer says`
      : "not part of a root of version 1: groups, freezes, single wallets' balances, unlocked, locked, decimals and the time; these rest on the signature alone",
    ...(kept?.shown ?? []),
    ...(kept?.notShown.map(notShown) ?? []),
  ];
};

const SIGNED_WITH = {
  given: () => "it is signed with the given key",
  "led to": (publicKey: string) =>
    `it is signed with ${publicKey}, a key of the deployment: kept entries lead to it from the given key`,
  itself: (publicKey: string) => `it is signed with ${publicKey}, the key in the file itself`,
};

const versionArgument = (text: string): StatementVersion => {
  if (text === "1" || text === "2") return text === "1" ? 1 : 2;
  throw new InvalidArgumentError("It must be 1 or 2.");
};

const whoseOf = (owner: string | undefined, holderId: bigint | undefined): Whose => {
  if (owner !== undefined && holderId === undefined) return { owner };
  if (holderId !== undefined && owner === undefined) return { holderId };
  throw new UsageError("give either --owner or --holder");
};

const rootArgument = (text: string): string => {
  const hex = text.toLowerCase().replace(/^0x/, "");
  if (!/^[0-9a-f]{64}$/.test(hex)) throw new InvalidArgumentError("It must be 64 hex digits.");
  return hex;
};
