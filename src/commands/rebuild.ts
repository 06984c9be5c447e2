import { Argument, Command } from "commander";
import { acting } from "../audit/sequence/acts.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import { resetPipelineIn, vacuumPipeline } from "../pipelines/register.ts";
import { groupOf } from "../pipelines/replay/tables.ts";
import { remakeTransferEvents } from "../transfers/progress.ts";
import { TRANSFER_EVENTS } from "../transfers/projects.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { printLines, printMessages } from "./output.ts";
import { inWords } from "./replay.ts";
import { namesOf, replayGroup } from "./replay-group.ts";
import { UsageError } from "./usage.ts";
import { lockWriters } from "./writer-locks.ts";

const NAMES = [...ledgerPipelines.map(({ name }) => name), TRANSFER_EVENTS];

/**
 * `holderbook rebuild`: replaces a pipeline's rows by those of a replay, while the former ones are served.
 * `--yes` empties it instead: for rows that cannot be served.
 */
export const rebuildCommand = () =>
  new Command("rebuild")
    .addArgument(new Argument("<pipeline>", "pipeline to rebuild").choices(NAMES))
    .option("--yes", "empty it; what needs it is refused until the next start has refilled it")
    .action(async (name: string, { yes = false }: { readonly yes?: boolean }) => {
      const pipeline = ledgerPipelines.find((one) => one.name === name);
      if (pipeline === undefined && name !== TRANSFER_EVENTS)
        throw new UsageError(`no pipeline is called ${name}`);
      await using opened = await openDatabase({ by: "owner" });
      if (pipeline === undefined) await remake(opened);
      else if (yes) await empty(opened, pipeline);
      else await replaced(opened, groupOf(pipeline));
    });

/** Transfer events stay listed until their replacements exist. */
const remake = async (opened: OpenDatabase): Promise<void> => {
  await using lock = await lockWriters(opened, `pipeline ${TRANSFER_EVENTS}`);
  await acting(lock.session, async (tx) => {
    await remakeTransferEvents(tx);
    return [
      undefined,
      { command: "rebuild", details: { pipeline: TRANSFER_EVENTS }, on: "project" },
    ];
  });
  printMessages(`${TRANSFER_EVENTS} is rebuilt from the log by the next start or index`);
};

const replaced = async (opened: OpenDatabase, pipelines: readonly Pipeline[]): Promise<void> => {
  const act = { command: "rebuild", pipelines: namesOf(pipelines) };
  await replayGroup(opened, {
    ...{ pipelines, share: 1, act, swap: "accepted", fromEmpty: true },
    onCompared: (compared) => printLines(inWords(compared)),
  });
  printMessages(
    `${namesOf(pipelines)}: the replayed rows are served; \`replay swap --back\` returns to the former ones until \`replay drop\` removes them`,
  );
};

const empty = async (opened: OpenDatabase, pipeline: Pipeline): Promise<void> => {
  const { name } = pipeline;
  await using lock = await lockWriters(opened, `pipeline ${name}`);
  await acting(lock.session, async (tx) => {
    await resetPipelineIn(tx, pipeline);
    return [undefined, { command: "rebuild", details: { pipeline: name }, on: "deployment" }];
  });
  await vacuumPipeline(lock.session, pipeline);
  printMessages(
    `${name} is empty; the next start or index refills it from the log. Until then queries that need it are refused (REBUILDING)`,
  );
};
