import { Command, InvalidArgumentError, Option } from "commander";
import { type NewAct, recordAct } from "../audit/sequence/acts.ts";
import { BEFORE_SCHEMA, REPLAY_SCHEMA } from "../database/work-schemas.ts";
import { factSource } from "../log/log.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import { type Comparison, type ReplayProgress, replay } from "../pipelines/replay/replay.ts";
import { dropTables, groupOf, tableNames } from "../pipelines/replay/tables.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, jsonOption, printJson, printLines, printMessages } from "./output.ts";
import { duration, progressTerminal, redrawnLine } from "./progress-line.ts";

const NAMES = ledgerPipelines.map(({ name }) => name);

const shareArgument = (text: string): number => {
  const share = Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError("a number above 0, at most 1");
  return share;
};

/** Groups that hold these pipelines, all of them by default. */
const groupsWith = (names: readonly string[]): readonly (readonly Pipeline[])[] => {
  const groups = new Map<string, readonly Pipeline[]>();
  for (const pipeline of ledgerPipelines) {
    if (names.length > 0 && !names.includes(pipeline.name)) continue;
    const group = groupOf(pipeline);
    groups.set(
      group
        .map(({ name }) => name)
        .sort()
        .join(" "),
      group,
    );
  }
  return [...groups.values()];
};

const collected = (name: string, before: readonly string[] = []): readonly string[] => {
  if (!NAMES.includes(name)) throw new InvalidArgumentError(`one of ${NAMES.join(", ")}`);
  return [...before, name];
};

const pipelineOption = () =>
  new Option("--pipeline <name>", "replay this one, may be repeated (default: all)").argParser(
    collected,
  );

type ReplayOptions = {
  readonly pipeline?: readonly string[];
  readonly share: number;
  readonly swap?: boolean;
  readonly json?: boolean;
};

/** `holderbook replay`: builds projections beside the served ones, compares both, and can change over. */
export const replayCommand = () =>
  new Command("replay")
    .addOption(pipelineOption())
    .option("--share <part>", "part of the time that it works", shareArgument, 0.25)
    .option("--swap", "then serve the replayed rows, if they are identical")
    .addOption(jsonOption())
    .action(async ({ pipeline = [], share, swap = false, json = false }: ReplayOptions) => {
      await using opened = await openDatabase({ by: "owner" });
      const { write, signal, config } = opened;
      const line = redrawnLine(progressTerminal(config));
      const results: Comparison[] = [];
      for (const pipelines of groupsWith(pipeline)) {
        const shown = progressOf(line.draw);
        await using replayed = await replay({
          pipelines,
          database: write,
          log: factSource(write),
          share,
          signal,
          onProgress: shown,
        });
        line.clear();
        const compared = await replayed.compare();
        results.push(compared);
        if (!json) printLines(inWords(compared));
        if (!swap || compared.differences.length > 0) continue;
        const names = pipelines.map(({ name }) => name).join(", ");
        const act: NewAct = {
          command: "replay",
          details: { pipelines: names, swap },
          on: "deployment",
        };
        await using session = await write.session();
        await replayed.swap(session, ({ sql }) => recordAct(sql, act));
        printMessages(
          `${names}: the replayed rows are served; \`holderbook replay drop\` removes the former ones`,
        );
      }
      if (json) printJson(results);
      endCheck({
        isFalse: results.some(({ differences }) => differences.length > 0),
        isUnshown: false,
      });
    })
    .addCommand(dropCommand());

/** `holderbook replay drop`: removes the tables of replays, and those that were exchanged for them. */
const dropCommand = () =>
  new Command("drop")
    .description("remove the tables of replays, and those that were exchanged for them")
    .addOption(pipelineOption())
    .action(async ({ pipeline = [] }: Pick<ReplayOptions, "pipeline">) => {
      await using opened = await openDatabase({ by: "owner" });
      for (const group of groupsWith(pipeline)) {
        for (const place of [REPLAY_SCHEMA, BEFORE_SCHEMA] as const) {
          await dropTables(opened.write.sql, place, tableNames(group));
        }
      }
      printMessages("the tables of replays are removed");
    });

/** Draws checkpoint, rate and time left. */
const progressOf = (draw: (text: string) => void) => {
  const begun = new Map<string, { readonly next: bigint; readonly atMs: number }>();
  return ({ pipeline, next, of }: ReplayProgress): void => {
    const first = begun.get(pipeline) ?? { next, atMs: performance.now() };
    begun.set(pipeline, first);
    const seconds = (performance.now() - first.atMs) / 1_000;
    const rate = seconds > 0 ? Number(next - first.next) / seconds : 0;
    const left = rate > 0 ? duration(Number(of - next) / rate) : "unknown";
    draw(
      `replaying ${pipeline}: checkpoint ${next - 1n} of ${of - 1n} · ${Math.round(rate).toLocaleString("en")}/s · time left ${left}`,
    );
  };
};

const inWords = ({ checkpoints, rows, differences }: Comparison): readonly string[] => {
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
