import { Command, InvalidArgumentError } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { type Address, lowerCase } from "../evm/contract/fact.ts";
import { loggedTokens } from "../evm/log/progress.ts";
import { forgetLog } from "../evm/log/store.ts";
import { remakeTransferEvents } from "../transfers/progress.ts";
import { wholeNumberArgument } from "./arguments.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printList, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";
import { lockWriters } from "./writer-locks.ts";

/** `holderbook evm`: the log of EVM chains. */
export const evmCommand = () =>
  new Command("evm").addCommand(listCommand()).addCommand(rereadCommand());

const listCommand = () =>
  new Command("list")
    .description("list the tokens in the log with their progress: JSON, one per line")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      printList(await loggedTokens(storage.read.db), json);
    });

type RereadOptions = { readonly chain: number; readonly token?: Address };

const rereadCommand = () =>
  new Command("reread")
    .description(
      "remove a chain or a token from the log; the next start or index reads it again, and its records stay listed until then",
    )
    .requiredOption("--chain <id>", "chain id", wholeNumberArgument(1, Number.MAX_SAFE_INTEGER))
    .option("--token <address>", "only this token", addressArgument)
    .action(async ({ chain, token }: RereadOptions) => {
      await using opened = await openDatabase();
      await using locks = await lockWriters(
        opened,
        `evm chain ${chain}`,
        "pipeline transfer_events",
      );
      const what = token === undefined ? `chain ${chain}` : `token ${token} on chain ${chain}`;
      const { tokens, facts } = await acting(locks.session, async (tx) => {
        const forgotten = await forgetLog(tx, chain, token ?? null);
        if (forgotten.tokens === 0) throw new UsageError(`the log has nothing of ${what}`);
        await remakeTransferEvents(tx, chain);
        const details = { chain: `${chain}`, token: token ?? null };
        return [forgotten, { command: "evm reread", details, on: "project" }];
      });
      printMessages(
        `${what}: ${facts} logs of ${tokens} ${tokens === 1 ? "token" : "tokens"} removed; the next start or index reads them again`,
      );
    });

const addressArgument = (text: string): Address => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new InvalidArgumentError("It must be 0x and 40 hex digits.");
  }
  return lowerCase(`0x${text.slice(2)}`);
};
