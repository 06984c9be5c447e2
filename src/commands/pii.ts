import { Command, Option } from "commander";
import { acting, type NewAct, recordAct } from "../audit/sequence/acts.ts";
import type { Sql } from "../database/connect.ts";
import { eraseLabelsSealedWith, hasSealedLabels, resealLabels } from "../labels/reseal.ts";
import { eraseLabel } from "../labels/write.ts";
import { configuredPiiKeys } from "../service/configured-keys.ts";
import type { Storage } from "../service/storage.ts";
import { account } from "../settings/account.ts";
import type { Config } from "../settings/config.ts";
import type { PiiKeys } from "../ta/pii/pii-keys.ts";
import { openVault, type PiiVault } from "../ta/pii/vault.ts";
import { keptHolder } from "../ta/processing/holder-ids.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { reasonArgument } from "./arguments.ts";
import { checkAsset, scopeOfAsset } from "./known-asset.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";

/** `holderbook pii`: investors' stored data. */
export const piiCommand = () =>
  new Command("pii")
    .addCommand(showCommand())
    .addCommand(rotateCommand())
    .addCommand(deleteCommand());

/** There were no data to act on: check the id and the database. Nothing has changed. */
class NoInvestorDataError extends Error {
  override readonly name = "NoInvestorDataError";
  readonly remedy: Remedy = "stop";
}

type ShowOptions = { readonly asset: string; readonly investor: string; readonly reason: string };

const showCommand = () =>
  new Command("show")
    .description("print the newest data of an investor; records who did it and why")
    .requiredOption("--asset <name>", "asset, as named in the assets file")
    .requiredOption("--investor <id>", "`id` of the investor object")
    .addOption(reasonOption())
    .action(async ({ asset, investor, reason }: ShowOptions) => {
      const purpose = purposeOf("pii show", reason);
      await withVault(async (vault, { config }) => {
        const requestId = await vault.newestOf({ asset, investorId: investor });
        if (requestId === null) return await noneOf(config, asset);
        const data = await vault.open(requestId, purpose);
        printJson({ requestId, ...data }, 2);
      });
    });

const reasonOption = () =>
  new Option("--reason <text>", "reason, kept in ta_pii_accesses; must hold nothing personal")
    .makeOptionMandatory()
    .argParser(reasonArgument);

/** Recorded with every access. */
const purposeOf = (command: string, reason: string): string =>
  `command: ${command}, by ${account()}: ${reason}`;

const rotateCommand = () =>
  new Command("rotate")
    .description(
      "seal every record, and every sealed label, with the first key of PII_KEYS; services may keep running",
    )
    .action(() =>
      withVault(async (vault, { write, keys }) => {
        if ((await vault.isEmpty()) && !(await hasSealedLabels(write.sql))) {
          throw new NoInvestorDataError("this database holds no data of investors");
        }
        await vault.checkKeys();
        const record = (sql: Sql) =>
          recordAct(sql, { command: "pii rotate", details: {}, on: "deployment" });
        const records = await vault.rotate(record);
        const labels = await resealLabels(write, keys, records === 0 ? record : undefined);
        printJson({ rotated: records + labels });
      }),
    );

type DeleteOptions = {
  readonly asset?: string;
  readonly investor?: string;
  readonly lostKey?: string;
  readonly reason: string;
};

const deleteCommand = () =>
  new Command("delete")
    .description(
      "delete all data of an investor, and the label of its holder; records who did it and why. The requests remain, without the data, and a replay stores nothing: to store data again, use a new Idempotency-Key and a bound signature",
    )
    .option("--asset <name>", "asset, as named in the assets file")
    .option("--investor <id>", "`id` of the investor object")
    .option("--lost-key <name>", "instead: delete all data sealed with this lost key of PII_KEYS")
    .addOption(reasonOption())
    .action(async ({ asset, investor, lostKey, reason }: DeleteOptions) => {
      if (lostKey !== undefined && asset === undefined && investor === undefined) {
        const purpose = purposeOf("pii delete --lost-key", reason);
        const act = { command: "pii delete", details: { lostKey }, on: "deployment" } as const;
        await withVault(async (_, { deleting }) => {
          const deleted = await deleting(act, async (vault, sql) => {
            const records = await vault.deleteSealedWith(lostKey, purpose);
            return records + (await eraseLabelsSealedWith(sql, lostKey, account()));
          });
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
      const purpose = purposeOf("pii delete", reason);
      await withVault(async (_, { config, deleting }) => {
        const whose = { asset, investorId: investor };
        const on = await scopeOfAsset(config, asset);
        // Without the id: nothing must identify an investor whose data were deleted.
        const act = { command: "pii delete", details: { asset }, on };
        const deleted = await deleting(act, async (vault, sql) => {
          const holderId = await keptHolder(sql, whose);
          const records = await vault.deleteInvestor(whose, purpose);
          if (typeof on === "string" || holderId === undefined) return records;
          const holder = { kind: "HOLDER", ...on, subject: `${holderId}` } as const;
          return records + ((await eraseLabel(sql, holder, account())) ? 1 : 0);
        });
        if (deleted === 0) await noneOf(config, asset);
        report(deleted);
      });
    });

/** Checks the asset's name only without data: an unserved asset may still have some. */
const noneOf = async (config: Config, asset: string): Promise<never> => {
  await checkAsset(config, asset);
  throw new NoInvestorDataError(
    `asset ${asset} has no data of this investor; check the id, which is the caller's \`investor.id\``,
  );
};

const report = (deleted: number) => {
  printJson({ deleted });
  printMessages(
    "a replay gets the first answer and stores nothing; to store data again, send them under a new Idempotency-Key with a bound signature",
  );
};

type Opened = {
  readonly config: Config;
  /** Deletes and records it in one transaction; returns the number of deleted records. */
  readonly deleting: (
    act: NewAct,
    work: (vault: PiiVault, sql: Sql) => Promise<number>,
  ) => Promise<number>;
  readonly write: Pick<Storage["write"], "sql" | "transaction">;
  readonly keys: PiiKeys;
};

const withVault = async (
  act: (vault: PiiVault, opened: Opened) => Promise<void>,
): Promise<void> => {
  await using storage = await openDatabase();
  const { config } = storage;
  const keys = await configuredPiiKeys(config, { existing: true });
  const vaultOn = (on: Parameters<typeof openVault>[0]) => openVault(on, keys);
  const deleting: Opened["deleting"] = (done, work) =>
    acting(storage.write, async ({ sql }, within) => {
      const deleted = await work(vaultOn({ sql, ...within }), sql);
      return [deleted, deleted === 0 ? null : done];
    });
  const { write } = storage;
  await act(vaultOn(write), { config, deleting, write, keys });
};
