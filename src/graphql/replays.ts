/** Replays, and what their comparisons found: `replays`. */
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import {
  type Difference,
  type Rebuilding,
  type ReplayStatus,
  readReplays,
  type StoredComparison,
  secondsLeft,
  type TableDifferences,
} from "../projections/replays.ts";
import { builder } from "./builder.ts";

/** Largest Int. */
export const MOST_SECONDS = 2_147_483_647;

export const ReplayProgress = builder.objectRef<Rebuilding>("ReplayProgress").implement({
  description:
    "Progress of rows that are made again beside the served ones: by a replay, or for tables that an upgrade added.",
  fields: (t) => ({
    checkpoint: t.string({
      description: "Last applied checkpoint, decimal; at first the one before the log's first.",
      resolve: ({ checkpoint }) => checkpoint.toString(),
    }),
    of: t.string({
      description: "Last checkpoint of the served rows, which it has to reach, decimal.",
      resolve: ({ target }) => target.toString(),
    }),
    ratePerSecond: t.exposeFloat("ratePerSecond", {
      description: "Checkpoints a second since it began; 0 before the first ones.",
    }),
    secondsLeft: t.int({
      nullable: true,
      description:
        "Whole seconds until it is there at this rate; null while the rate is 0. Indexes and a comparison may follow.",
      resolve: (progress) => {
        const seconds = secondsLeft(progress);
        return seconds === null ? null : Math.min(MOST_SECONDS, seconds);
      },
    }),
  }),
});

type Column = {
  readonly name: string;
  readonly served: string | null;
  readonly replayed: string | null;
};

const DifferingColumn = builder.objectRef<Column>("DifferingColumn").implement({
  description: "A column of a differing row, its values as texts of the database.",
  fields: (t) => ({
    name: t.exposeString("name", { description: "Its name, as in the code." }),
    served: t.exposeString("served", {
      nullable: true,
      description: "What is served; null also where the served table has no such row.",
    }),
    replayed: t.exposeString("replayed", {
      nullable: true,
      description: "What the replay made; null also where it made no such row.",
    }),
  }),
});

type Row = TableDifferences["rows"][number];

const columnsOf = ({ stored, made }: Difference, names: readonly string[]): readonly Column[] =>
  names.map((name) => ({
    name,
    served: stored?.[name] ?? null,
    replayed: made?.[name] ?? null,
  }));

const DifferingRow = builder.objectRef<Row>("DifferingRow").implement({
  description: "A row that is not the same in the served table and in the replay.",
  fields: (t) => ({
    key: t.field({
      type: [DifferingColumn],
      description: "Columns of the primary key.",
      resolve: (row) => [...columnsOf(row, row.key)],
    }),
    onlyIn: t.string({
      nullable: true,
      description: "`served` or `replay`: the other one has no such row. Null if both have it.",
      resolve: ({ stored, made }) => (made === null ? "served" : stored === null ? "replay" : null),
    }),
    columns: t.field({
      type: [DifferingColumn],
      description: "Columns that differ; all besides the key where one side has no such row.",
      resolve: (row) => {
        const { stored, made, key } = row;
        const names = Object.keys(made ?? stored ?? {}).filter((name) => !key.includes(name));
        const isWhole = stored === null || made === null;
        return columnsOf(row, names).filter(
          ({ served, replayed }) => isWhole || served !== replayed,
        );
      },
    }),
  }),
});

/** Rows that a comparison keeps at most. */
const ROWS = 100;

const DifferingTable = builder.objectRef<TableDifferences>("DifferingTable").implement({
  description: "Differing rows of one table.",
  fields: (t) => ({
    table: t.exposeString("table", { description: "Name in the database." }),
    count: t.exposeInt("count", { description: "All differing rows." }),
    rows: t.field({
      type: [DifferingRow],
      complexity: { field: 1, multiplier: ROWS },
      description: `The first ones: at most ${ROWS} over all tables of a replay, and 256 KiB per pipeline.`,
      resolve: ({ rows }) => [...rows],
    }),
  }),
});

const ReplayComparison = builder.objectRef<StoredComparison>("ReplayComparison").implement({
  description: "Rows of a replay beside the served ones, at one checkpoint.",
  fields: (t) => ({
    checkpoint: t.string({
      nullable: true,
      description: "That checkpoint, decimal; null before the first.",
      resolve: ({ checkpoint }) => checkpoint,
    }),
    timestamp: t.string({
      description: "When it ended, unix seconds, decimal.",
      resolve: ({ atSeconds }) => atSeconds,
    }),
    rows: t.exposeInt("rows", { description: "Rows of the replay." }),
    differences: t.field({
      type: [DifferingTable],
      description:
        "Tables with differing rows; empty: all rows are identical. A table that several pipelines write is " +
        "listed under the first of them.",
      resolve: ({ differences }) => [...differences],
    }),
  }),
});

const Replay = builder.objectRef<ReplayStatus>("Replay").implement({
  description: "The last time that rows of a pipeline were made again beside the served ones.",
  fields: (t) => ({
    pipeline: t.exposeString("pipeline", {
      description: "A name as indexerStatus shows it; `log` where the ledger was read again.",
    }),
    reason: t.exposeString("reason", {
      description:
        "`replay`: on command; `upgrade`: to fill tables that an upgrade added; `source`: the ledger is read again, " +
        "to compare the log with it.",
    }),
    state: t.exposeString("state", {
      description:
        "`running`; `comparing`: its rows with the served ones; `compared`: and not exchanged; `swapped`: they are " +
        "served; `dropped`; `stopped`: it ended early or made no report for 15 seconds, and can be resumed.",
    }),
    begunTimestamp: t.string({
      description: "When it began or was resumed, unix seconds, decimal.",
      resolve: ({ begunAtSeconds }) => begunAtSeconds,
    }),
    updatedTimestamp: t.string({
      description: "When it last made a report, unix seconds, decimal.",
      resolve: ({ updatedAtSeconds }) => updatedAtSeconds,
    }),
    progress: t.field({
      type: ReplayProgress,
      description: "How far it came.",
      resolve: (replay) => replay,
    }),
    comparison: t.field({
      type: ReplayComparison,
      nullable: true,
      description: "The last comparison, perhaps of an earlier replay; null before the first.",
      resolve: ({ comparison }) => comparison,
    }),
  }),
});

builder.queryField("replays", (t) =>
  t.field({
    type: [Replay],
    nullable: true,
    description: "The last replay of each pipeline that had one, by the names of the pipelines.",
    complexity: { field: 1, multiplier: ledgerPipelines.length + 1 },
    reads: { pipelines: () => [] },
    resolve: async (_root, _args, { watermarkReads }) => [...(await readReplays(watermarkReads))],
  }),
);
