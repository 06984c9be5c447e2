import { readFile } from "node:fs/promises";
import { Argument, Command } from "commander";
import { CSV_HEADER, csvLine, type LineError, readLabels } from "../labels/csv.ts";
import { knownCoins, unknownCoin } from "../labels/known-coins.ts";
import { type Label, listLabels } from "../labels/read.ts";
import { NoSealingKeyError, removeLabel, setLabels } from "../labels/write.ts";
import { configuredLabelKeys } from "../service/configured-keys.ts";
import { account } from "../settings/account.ts";
import { canonicalType } from "../values/move-type.ts";
import { bigintArgument, moveArgument } from "./arguments.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { jsonOption, printJson, printLines, printList, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";

/** `holderbook labels`: names of holders, wallets, roles and treasuries. */
export const labelsCommand = () =>
  new Command("labels")
    .addCommand(importCommand())
    .addCommand(listCommand())
    .addCommand(exportCommand())
    .addCommand(removeCommand());

/** Bytes of a file: more than `MOST_IMPORTED` labels of usual length. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Errors shown of one file. */
const MOST_ERRORS = 100;

const importCommand = () =>
  new Command("import")
    .description(
      "give labels from a CSV file with a header row: kind (holder, wallet, role or treasury), coin_type, holder_id, wallet, role, label, sealed (yes or no). The whole file is checked first; repeating it changes nothing",
    )
    .argument("<file>", "CSV file, UTF-8")
    .action(async (path: string) => {
      const { labels, errors } = readLabels(await textOf(path));
      refuse(path, errors);
      await using storage = await openDatabase();
      const known = await knownCoins(
        storage.write,
        labels.map(({ coinType }) => coinType),
      );
      refuse(
        path,
        labels.flatMap(({ line, coinType }) =>
          coinType === "" || known.has(coinType)
            ? []
            : [{ line, message: `coin_type: ${unknownCoin(coinType)}` }],
        ),
      );
      const given = labels.map(({ line: _, ...label }) => ({
        ...label,
        coinType: known.get(label.coinType) ?? "",
      }));
      const isSealing = given.some(({ isSealed }) => isSealed);
      const keys = isSealing ? await configuredLabelKeys(storage.config)() : undefined;
      printJson(await setLabels(storage.write, keys, given, account()));
    });

const textOf = async (path: string): Promise<string> => {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${error.code ?? error.message}`);
  });
  if (bytes.length > MOST_BYTES) {
    throw new UsageError(`${path} has more than ${MOST_BYTES / 1024 / 1024} MiB: split it`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${path} is not UTF-8: save it as CSV UTF-8`);
  }
};

/** @throws UsageError with every error's line */
const refuse = (path: string, errors: readonly LineError[]): void => {
  if (errors.length === 0) return;
  const lines = errors.slice(0, MOST_ERRORS).map(({ line, message }) => `line ${line}: ${message}`);
  const more = errors.length - lines.length;
  if (more > 0) lines.push(`and ${more} more`);
  printMessages(...lines);
  throw new UsageError(`${path} has errors, listed above; nothing was changed`);
};

const coinOption = [
  "--coin <type>",
  "only labels of this token, and those of wallets",
  moveArgument(canonicalType),
] as const;

type Chosen = { readonly coin?: string };

const listCommand = () =>
  new Command("list")
    .description("list all labels: JSON, one per line")
    .option(...coinOption)
    .addOption(jsonOption())
    .action(async ({ coin, json = false }: Chosen & { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      const shown: object[] = [];
      for await (const label of allLabels(storage, coin)) shown.push(shownLabel(label));
      printList(shown, json);
    });

const shownLabel = ({ id, kind, coinType, subject, text, isSealed, by, at }: Label) => ({
  id,
  kind,
  coinType: coinType || null,
  holderId: kind === "HOLDER" ? subject : null,
  address: kind === "WALLET" ? subject : null,
  role: kind === "ROLE" ? subject : null,
  text,
  isSealed,
  by,
  at,
});

const exportCommand = () =>
  new Command("export")
    .description("print all labels as CSV, in the form that import reads; sealed ones in the clear")
    .option(...coinOption)
    .action(async ({ coin }: Chosen) => {
      await using storage = await openDatabase({ readOnly: true });
      printLines([CSV_HEADER]);
      for await (const label of allLabels(storage, coin)) {
        const line = csvLine(label);
        if (line === null) throw new NoSealingKeyError();
        printLines([line]);
      }
    });

const PAGE = 1_000;

async function* allLabels(storage: OpenDatabase, coin: string | undefined): AsyncGenerator<Label> {
  const known = coin === undefined ? undefined : await knownCoins(storage.read, [coin]);
  const coinType = coin === undefined ? undefined : known?.get(coin);
  if (coin !== undefined && coinType === undefined) throw new UsageError(unknownCoin(coin));
  const keys = configuredLabelKeys(storage.config);
  for (let after = 0n; ; ) {
    const labels = await listLabels(storage.read, keys, { coinType, after, limit: PAGE });
    yield* labels;
    after = labels.at(-1)?.id ?? after;
    if (labels.length < PAGE) return;
  }
}

const removeCommand = () =>
  new Command("remove")
    .description("remove a label; its history keeps who and when")
    .addArgument(
      new Argument("<id>", "its id, from `labels list`").argParser(
        bigintArgument(/^\d{1,18}$/, "the id of a label, such as 16"),
      ),
    )
    .option("--erase", "erase its former texts, too; those of sealed labels always are")
    .action(async (id: bigint, { erase = false }: { readonly erase?: boolean }) => {
      await using storage = await openDatabase();
      if (!(await removeLabel(storage.write, { id, by: account(), erase }))) {
        throw new UsageError(`no label has the id ${id}; \`labels list\` shows them`);
      }
      printMessages(`label ${id} is removed`);
    });
