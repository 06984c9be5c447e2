import { Command, InvalidArgumentError, Option } from "commander";
import type { CorrectedBy } from "../audit/sequence/root-corrections.ts";
import { BEFORE_SCHEMA, REPLAY_SCHEMA } from "../database/work-schemas.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { noteDropped } from "../pipelines/replay/progress.ts";
import type { Comparison } from "../pipelines/replay/replay.ts";
import { dropTables, tableNames } from "../pipelines/replay/tables.ts";
import { configuredKey } from "../service/configured-keys.ts";
import { byOption, checkpointArgument, reasonArgument, retryForOption } from "./arguments.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { endCheck, jsonOption, printJson, printLines, printMessages } from "./output.ts";
import { type Correcting, groupsWith, lockReplay, namesOf, replayGroup } from "./replay-group.ts";
import { UsageError } from "./usage.ts";

const NAMES = ledgerPipelines.map(({ name }) => name);

const shareArgument = (text: string): number => {
  const share = Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError("a number above 0, at most 1");
  return share;
};

const collected = (name: string, before: readonly string[] = []): readonly string[] => {
  if (!NAMES.includes(name)) throw new InvalidArgumentError(`one of ${NAMES.join(", ")}`);
  return [...before, name];
};

const pipelineOption = () =>
  new Option("--pipeline <name>", "only this one, may be repeated (default: all)").argParser(
    collected,
  );

type Chosen = { readonly pipeline?: readonly string[] };
type Accepting = { readonly accept?: boolean; readonly by?: string; readonly why?: string };

const BY = "with --accept: who corrects published roots; published";

const whyOption = () =>
  new Option("--why <text>", "with --accept: why published roots change; published").argParser(
    reasonArgument,
  );

/** @throws UsageError for --by or --why without the others */
const correctingBy = ({ accept, by, why }: Accepting): CorrectedBy | undefined => {
  if (by === undefined && why === undefined) return undefined;
  if (accept && by !== undefined && why !== undefined) return { by, why };
  throw new UsageError("--accept, --by and --why correct published roots together");
};

const correcting = async (
  opened: OpenDatabase,
  who: CorrectedBy | undefined,
): Promise<Correcting | undefined> =>
  who && { ...who, key: await configuredKey(opened.config, { existing: true }).open(opened) };

type ReplayOptions = Chosen &
  Accepting & {
    readonly share: number;
    readonly swap?: boolean;
    readonly json?: boolean;
    readonly from: "log" | "source";
    readonly to?: bigint;
    readonly retryFor: number;
  };

const EXIT_CODES = `
Exit codes: 0 the replayed rows are identical, or served, 1 some differ, 2 wrong usage, 3 the source
lacks checkpoints, and nothing differs.`;

/** `holderbook replay`: builds projections beside the served ones, compares both, and can change over. */
export const replayCommand = () =>
  new Command("replay")
    .addOption(pipelineOption())
    .option("--share <part>", "part of the time that it works", shareArgument, 0.25)
    .option("--swap", "then serve the replayed rows, if they are identical")
    .option(
      "--accept",
      "with --swap: also if they differ; where published roots would change, with --by and --why only",
    )
    .addOption(byOption(BY))
    .addOption(whyOption())
    .addOption(
      new Option(
        "--from <where>",
        "with source: also read the ledger again from LEDGER_SOURCE, compare it with the log, and sign a record",
      )
        .choices(["log", "source"])
        .default("log"),
    )
    .option(
      "--to <checkpoint>",
      "with --from source: the last checkpoint to read (default: as far as the rows go)",
      checkpointArgument,
    )
    .addOption(retryForOption())
    .addOption(jsonOption())
    .addHelpText("after", EXIT_CODES)
    .action(async (options: ReplayOptions) => {
      const { pipeline = [], share, swap, accept, json, from, to, retryFor } = options;
      if (accept && !swap) throw new UsageError("--accept is for --swap");
      const who = correctingBy(options);
      if (from === "source") {
        if (swap) throw new UsageError("--from source only checks: run `replay --swap` after it");
        const groups = groupsWith(pipeline);
        const rowsInWords = json ? undefined : inWords;
        const { replayFromSource } = await import("./replay-from-source.ts");
        return replayFromSource({ groups, share, to, retryFor, rowsInWords });
      }
      if (to !== undefined) throw new UsageError("--to needs --from source");
      await using opened = await openDatabase({ by: "owner" });
      const correct = await correcting(opened, who);
      const results: Comparison[] = [];
      let isFalse = false;
      for (const pipelines of groupsWith(pipeline)) {
        const onCompared = (compared: Comparison) => {
          results.push(compared);
          if (!json) printLines(inWords(compared));
        };
        const act = {
          command: "replay",
          pipelines: namesOf(pipelines),
          accept: accept === true,
        };
        const mode = swap ? (accept ? "accepted" : "identical") : "no";
        const group = { pipelines, share, act, swap: mode, correct, onCompared } as const;
        const isServed = await replayGroup(opened, group);
        isFalse ||= !isServed && results.at(-1)?.differences.length !== 0;
        if (isServed)
          printMessages(
            `${namesOf(pipelines)}: the replayed rows are served; \`replay swap --back\` returns to the former ones until \`replay drop\` removes them`,
          );
      }
      if (json) printJson(results);
      endCheck({ isFalse, isUnshown: false });
    })
    .addCommand(swapCommand())
    .addCommand(dropCommand());

/** `holderbook replay swap --back`: serves the former tables again, once they have caught up. */
const swapCommand = () =>
  new Command("swap")
    .description("serve the former rows again, once they have caught up with the log")
    .addOption(pipelineOption())
    .requiredOption("--back", "return to the former rows")
    .option("--accept", "also where published roots would change, with --by and --why")
    .addOption(byOption(BY))
    .addOption(whyOption())
    .action(async ({ pipeline = [], ...accepting }: Chosen & Accepting) => {
      const who = correctingBy(accepting);
      await using opened = await openDatabase({ by: "owner" });
      const correct = await correcting(opened, who);
      for (const pipelines of groupsWith(pipeline)) {
        const act = { command: "replay swap", pipelines: namesOf(pipelines), back: true };
        await replayGroup(opened, {
          pipelines,
          share: 1,
          act,
          swap: "accepted",
          correct,
          place: BEFORE_SCHEMA,
        });
        printMessages(`${namesOf(pipelines)}: the former rows are served again`);
      }
    });

/** `holderbook replay drop`: removes the tables of replays, and those that were exchanged for them. */
const dropCommand = () =>
  new Command("drop")
    .description("remove the tables of replays, and those that were exchanged for them")
    .addOption(pipelineOption())
    .action(async ({ pipeline = [] }: Chosen) => {
      await using opened = await openDatabase({ by: "owner" });
      for (const group of groupsWith(pipeline)) {
        await using _lock = await lockReplay(opened, group);
        for (const place of [REPLAY_SCHEMA, BEFORE_SCHEMA] as const) {
          await dropTables(opened.write.sql, place, tableNames(group));
        }
        await noteDropped(opened.write.sql, group);
      }
      printMessages("the tables of replays are removed");
    });

export const inWords = ({ checkpoints, rows, differences }: Comparison): readonly string[] => {
  const at = Object.entries(checkpoints)
    .map(([name, checkpoint]) => `${name} at checkpoint ${checkpoint ?? "none"}`)
    .join(", ");
  if (differences.length === 0) return [`${at}: ${rows.toLocaleString("en")} rows are identical`];
  return [
    `${at}: rows differ`,
    ...differences.flatMap(({ table, count, rows }) => [
      `${table}: ${count.toLocaleString("en")}`,
      ...rows.map(({ stored, made, key }) => {
        const row = made ?? stored ?? {};
        const where = key.map((name) => `${name} ${row[name]}`).join(", ");
        if (stored === null) return `  ${where}: only in the replay: ${JSON.stringify(made)}`;
        if (made === null) return `  ${where}: only in the served table: ${JSON.stringify(stored)}`;
        const changed = Object.keys(made).filter((name) => made[name] !== stored[name]);
        return `  ${where}: ${changed.map((name) => `${name} is ${stored[name]}, replayed ${made[name]}`).join("; ")}`;
      }),
    ]),
  ];
};
