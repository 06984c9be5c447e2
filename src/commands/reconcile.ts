import { Command } from "commander";
import { keepFound } from "../audit/found.ts";
import { type Reconciliation, reconcile } from "../audit/reconcile.ts";
import { type Asked, checkpointOf } from "../graphql/past.ts";
import { resolveCoin } from "../log/coins.ts";
import { guardedReads } from "../projections/guarded-reads.ts";
import { ALL } from "../projections/needed.ts";
import { openStorage } from "../service/storage.ts";
import { AT_HELP, atOption, coinOption } from "./cap-table-at.ts";
import { openRuntime } from "./runtime.ts";

type Options = { readonly at?: Asked; readonly coin?: string; readonly json?: boolean };

/** `holderbook reconcile`: whether the register adds up. Exit code 1 when it does not. */
export const reconcileCommand = () =>
  new Command("reconcile")
    .addOption(atOption())
    .addOption(coinOption().makeOptionMandatory(false))
    .option("--json", "one JSON document instead of text")
    .addHelpText("after", AT_HELP)
    .action(async ({ at, coin, json }: Options) => {
      const { config, logger, signal } = await openRuntime();
      await using storage = await openStorage(config, logger, { tables: "current" });
      const database = storage.write;
      const coinType =
        coin === undefined ? undefined : (await resolveCoin(database.db, coin)).coinType;
      const done = await reconcile(database, {
        at: at && ((on) => checkpointOf(guardedReads(on, ALL), at)),
        coinType,
        signal,
      });
      if (coinType === undefined) {
        await keepFound(database.sql, "command", done.checkpoint, done.findings);
      }
      const text = json
        ? JSON.stringify({ ...done, checkpoint: `${done.checkpoint}` })
        : inWords(done).join("\n");
      process.stdout.write(`${text}\n`);
      if (done.findings.length > 0) process.exitCode = 1;
    });

const inWords = ({ checkpoint, coins, findings, more, notes }: Reconciliation) => [
  ...findings,
  ...(more > 0 ? [`and ${more} more`] : []),
  findings.length === 0
    ? `everything adds up at checkpoint ${checkpoint}: ${coins} tokens`
    : `reconciled at checkpoint ${checkpoint}: ${findings.length + more} findings`,
  ...notes,
];
