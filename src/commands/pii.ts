import { Command } from "commander";
import type { Config } from "../config.ts";
import type { Remedy } from "../remedy.ts";
import { configuredVault } from "../service/pii.ts";
import { openStorage } from "../service/storage.ts";
import type { PiiVault } from "../ta/pii/vault.ts";
import { checkAsset } from "./known-asset.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** `holderbook pii`: investors' data at rest. */
export const piiCommand = () =>
  new Command("pii")
    .description("investors' data at rest: renew their keys, delete an investor")
    .addCommand(rotateCommand())
    .addCommand(deleteCommand());

/** There were no data to act on: another id or another database was meant. Nothing has changed. */
class NoInvestorDataError extends Error {
  override readonly name = "NoInvestorDataError";
  readonly remedy: Remedy = "stop";
}

const rotateCommand = () =>
  new Command("rotate")
    .description("seal every record with the first of PII_KEYS; services may go on running")
    .action(() =>
      withVault(async (vault) => {
        if (await vault.isEmpty()) {
          throw new NoInvestorDataError("this database holds no data of investors");
        }
        await vault.checkKeys();
        const rotated = await vault.rotate();
        process.stdout.write(`${JSON.stringify({ rotated })}\n`);
      }),
    );

type DeleteOptions = {
  readonly asset?: string;
  readonly investor?: string;
  readonly lostKey?: string;
};

const deleteCommand = () =>
  new Command("delete")
    .description("delete all data of one investor; his requests stay, without them")
    .option("--asset <name>", "the asset, as in the assets file")
    .option("--investor <id>", "`id` of the investor object")
    .option("--lost-key <name>", "instead: all data sealed with a key of PII_KEYS that is lost")
    .action(async ({ asset, investor, lostKey }: DeleteOptions) => {
      if (lostKey !== undefined && asset === undefined && investor === undefined) {
        await withVault(async (vault) => {
          const deleted = await vault.deleteSealedWith(lostKey, "command: pii delete --lost-key");
          if (deleted === 0) {
            throw new NoInvestorDataError(`no data are sealed with a key named ${lostKey}`);
          }
          report(deleted);
        });
        return;
      }
      if (asset === undefined || investor === undefined || lostKey !== undefined) {
        throw new UsageError("give --asset <name> and --investor <id>, or --lost-key <name>");
      }
      await withVault(async (vault, config) => {
        const whose = { asset, investorId: investor };
        const deleted = await vault.deleteInvestor(whose, "command: pii delete");
        if (deleted === 0) {
          // Only now: an asset that is served no more may still have data.
          await checkAsset(config, asset);
          throw new NoInvestorDataError(
            `asset ${asset} has no data of this investor; check the id, which is the caller's \`investor.id\``,
          );
        }
        report(deleted);
      });
    });

const report = (deleted: number) => process.stdout.write(`${JSON.stringify({ deleted })}\n`);

const withVault = async (
  act: (vault: PiiVault, config: Config) => Promise<void>,
): Promise<void> => {
  const { config, logger } = openRuntime();
  await using storage = await openStorage(config, logger, { existing: true });
  await act(await configuredVault(config, storage, { existing: true }), config);
};
