import { hostname } from "node:os";
import { Command } from "commander";
import { NothingToPauseError, type Pausing, pauseNow, resumeNow } from "../operator/pausing.ts";
import { activePauses, endedPauses, PAUSE_KINDS, type PauseKind } from "../pauses/pauses.ts";
import { configuredAssets } from "../service/assets.ts";
import { account } from "../settings/account.ts";
import { openDatabase } from "./open-database.ts";
import { jsonOption, printList, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";

const WHAT: Readonly<Record<PauseKind, { readonly pause: string; readonly resume: string }>> = {
  pipeline: {
    pause: "stop a pipeline between two batches; its rows are served as they are",
    resume: "let a pipeline go on from its checkpoint",
  },
  asset: {
    pause: "accept requests for an asset, and process none",
    resume: "process the requests that wait for an asset, in their order",
  },
  receiver: {
    pause: "send nothing to a receiver, such as project:acme or ta:acme-sui; its callbacks wait",
    resume: "send what waits for a receiver, in its order",
  },
};

const LONGEST_REASON = 500;

/** `holderbook pause`: for all processes within seconds, until `resume`. */
export const pauseCommand = () => {
  const command = new Command("pause");
  for (const kind of PAUSE_KINDS) {
    command.addCommand(
      new Command(kind)
        .description(WHAT[kind].pause)
        .argument("<name>", `name of the ${kind}`)
        .option("--reason <text>", "for other operators; never published")
        .action(async (name: string, { reason = null }: { readonly reason?: string | null }) => {
          if (reason !== null && reason.length > LONGEST_REASON) {
            throw new UsageError(`--reason has more than ${LONGEST_REASON} characters`);
          }
          await using storage = await openDatabase();
          const what = await pausing(storage, kind, name);
          const isNew = await pauseNow(storage.write, { ...what, reason }).catch(
            (error: unknown) => {
              if (error instanceof NothingToPauseError) throw new UsageError(error.message);
              throw error;
            },
          );
          printMessages(
            isNew
              ? `${kind} ${name} is paused: all processes follow within seconds; \`resume ${kind} ${name}\` ends it`
              : `${kind} ${name} was paused already`,
          );
        }),
    );
  }
  return command.addCommand(listCommand());
};

/** `holderbook resume`. */
export const resumeCommand = () => {
  const command = new Command("resume");
  for (const kind of PAUSE_KINDS) {
    command.addCommand(
      new Command(kind)
        .description(WHAT[kind].resume)
        .argument("<name>", `name of the ${kind}`)
        .action(async (name: string) => {
          await using storage = await openDatabase();
          if (!(await resumeNow(storage.write, await pausing(storage, kind, name)))) {
            throw new UsageError(`no ${kind} ${name} is paused; \`pause list\` shows what is`);
          }
          printMessages(`${kind} ${name} goes on within seconds`);
        }),
    );
  }
  return command;
};

const pausing = async (
  { config }: Pick<Awaited<ReturnType<typeof openDatabase>>, "config">,
  kind: PauseKind,
  name: string,
): Promise<Pausing> => ({
  ...{ kind, name, key: null, by: `${account()} on ${hostname()}` },
  // The names of pipelines do not depend on them.
  assets: kind === "pipeline" ? { projects: [] } : await configuredAssets(config),
});

const listCommand = () =>
  new Command("list")
    .description("list what is paused, since when, by whom and why: JSON, one per line")
    .option("--ended", "list the last hundred pauses that were ended instead")
    .addOption(jsonOption())
    .action(async (options: { readonly ended?: boolean; readonly json?: boolean }) => {
      const { ended = false, json = false } = options;
      await using storage = await openDatabase({ readOnly: true });
      const { db } = storage.read;
      printList(await (ended ? endedPauses(db, 100) : activePauses(db)), json);
    });
