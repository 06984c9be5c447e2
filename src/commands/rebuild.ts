import { Argument, Command } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { resetPipelineIn, vacuumPipeline } from "../pipelines/register.ts";
import { openStorage } from "../service/storage.ts";
import { remakeTransferEvents } from "../transfers/progress.ts";
import { tellLines } from "./output.ts";
import { PipelineBusyError } from "./pipeline-busy-error.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

const EVM = "transfer_events";
const NAMES = [...ledgerPipelines.map(({ name }) => name), EVM];

/**
 * `holderbook rebuild`: empties a pipeline for its next run to refill from the log; dependent
 * answers are refused until it has caught up. Transfer events stay listed until their replacements
 * exist.
 */
export const rebuildCommand = () =>
  new Command("rebuild")
    .addArgument(new Argument("<pipeline>", "which one").choices(NAMES))
    .action(async (name: string) => {
      const pipeline = ledgerPipelines.find((one) => one.name === name);
      if (pipeline === undefined && name !== EVM)
        throw new UsageError(`no pipeline is called ${name}`);
      const { config, logger, signal } = await openRuntime();
      await using storage = await openStorage(config, logger, { tables: "current", by: "owner" });
      // Never waits: that could empty the pipeline hours later, unexpectedly.
      const held = new AbortController();
      await using lock = await acquireWriterLock(storage.write, `pipeline ${name}`, {
        signal: AbortSignal.any([signal, held.signal]),
        onStandby: () => held.abort(new PipelineBusyError(name)),
      });
      await acting(lock.session, async (tx) => {
        await (pipeline === undefined ? remakeTransferEvents(tx) : resetPipelineIn(tx, pipeline));
        const on = pipeline === undefined ? "project" : "deployment";
        return [undefined, { command: "rebuild", details: { pipeline: name }, on }];
      });
      if (pipeline === undefined) {
        tellLines(`${name} is made anew from the log by the next start or index`);
        return;
      }
      await vacuumPipeline(lock.session, pipeline);
      tellLines(
        `${name} is empty; start or index fills it from the log, and until then answers that need it are refused (REBUILDING)`,
      );
    });
