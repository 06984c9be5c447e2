import { Command } from "commander";
import { configuredVault } from "../service/pii.ts";
import { openStorage } from "../service/storage.ts";
import { openRuntime } from "./runtime.ts";

/** `holderbook pii`: investors' data at rest. */
export const piiCommand = () =>
  new Command("pii")
    .description("investors' data at rest: renew their keys, delete an investor")
    .addCommand(rotateCommand())
    .addCommand(deleteCommand());

const rotateCommand = () =>
  new Command("rotate")
    .description("seal every record with the first of PII_KEYS; services may go on running")
    .action(async () => {
      const { config, logger } = openRuntime();
      await using storage = await openStorage(config, logger);
      const vault = await configuredVault(config, storage);
      const rotated = await vault.rotate();
      process.stdout.write(`${JSON.stringify({ rotated })}\n`);
    });

const deleteCommand = () =>
  new Command("delete")
    .description("delete all data of one investor; his requests stay, without them")
    .requiredOption("--asset <name>", "the asset, as in the assets file")
    .requiredOption("--investor <id>", "`id` of the investor object")
    .action(async ({ asset, investor }: { readonly asset: string; readonly investor: string }) => {
      const { config, logger } = openRuntime();
      await using storage = await openStorage(config, logger);
      const vault = await configuredVault(config, storage);
      const deleted = await vault.deleteInvestor(
        { asset, investorId: investor },
        "command: pii delete",
      );
      process.stdout.write(`${JSON.stringify({ deleted })}\n`);
    });
