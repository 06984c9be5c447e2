import { Argument, Command } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { resetPipelineIn, vacuumPipeline } from "../pipelines/register.ts";
import { remakeTransferEvents } from "../transfers/progress.ts";
import { openDatabase } from "./open-database.ts";
import { printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";
import { lockWriters } from "./writer-locks.ts";

const EVM = "transfer_events";
const NAMES = [...ledgerPipelines.map(({ name }) => name), EVM];

/**
 * `holderbook rebuild`: empties a pipeline for its next run to refill from the log; dependent
 * answers are refused until it has caught up. Transfer events stay listed until their replacements
 * exist.
 */
export const rebuildCommand = () =>
  new Command("rebuild")
    .addArgument(new Argument("<pipeline>", "pipeline to empty").choices(NAMES))
    .action(async (name: string) => {
      const pipeline = ledgerPipelines.find((one) => one.name === name);
      if (pipeline === undefined && name !== EVM)
        throw new UsageError(`no pipeline is called ${name}`);
      await using opened = await openDatabase({ by: "owner" });
      await using lock = await lockWriters(opened, `pipeline ${name}`);
      await acting(lock.session, async (tx) => {
        await (pipeline === undefined ? remakeTransferEvents(tx) : resetPipelineIn(tx, pipeline));
        const on = pipeline === undefined ? "project" : "deployment";
        return [undefined, { command: "rebuild", details: { pipeline: name }, on }];
      });
      if (pipeline === undefined) {
        printMessages(`${name} is rebuilt from the log by the next start or index`);
        return;
      }
      await vacuumPipeline(lock.session, pipeline);
      printMessages(
        `${name} is empty; the next start or index refills it from the log. Until then queries that need it are refused (REBUILDING)`,
      );
    });
