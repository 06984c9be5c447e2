import { Command } from "commander";
import { examineReplicas } from "../database/replicas/examine.ts";
import { replicaLine, shownReplica } from "../database/replicas/standing.ts";
import { stagedSoFar } from "../log/guided.ts";
import { rangesAhead } from "../log/ranges.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { LOCKED_FIRST } from "../pipelines/snapshot.ts";
import { type HeldIn, inQuarantine } from "../projections/held-coins.ts";
import { readMeta } from "../projections/meta.ts";
import { readWatermarks, type Watermark } from "../projections/read-watermarks.ts";
import { type ReplayStatus, readReplays, secondsLeft } from "../projections/replays.ts";
import { type Hold, heldToken, holdsOf } from "../transfers/holds.ts";
import { type RecordsMark, recordsMarks } from "../transfers/progress.ts";
import {
  type BackfillRanges,
  type BulkProgress,
  bulkLines,
  rangesLines,
} from "../values/bulk-progress.ts";
import { ageSeconds, duration } from "../values/seconds.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printLines } from "./output.ts";

/** `holderbook status`: progress of the log and each pipeline, from the database. */
export const statusCommand = () =>
  new Command("status")
    .option("--json", "print one JSON document instead of a table")
    .action(async ({ json }: { readonly json?: boolean }) => {
      await using storage = await openDatabase({ readOnly: true });
      const { log, pipelines, incomplete } = await readWatermarks(storage.read.db, ledgerPipelines);
      const records = await recordsMarks(storage.read.db);
      const replays = await readReplays(storage.read.db);
      const holds = await holdsOf(storage.read.db);
      const { isGuided, completeThrough } = await readMeta(storage.read.db);
      const staged = await stagedSoFar({ sql: storage.read.sql });
      const ranges = await rangesAhead(storage.read.sql);
      const { databaseReadUrls, databaseReadLagSeconds } = storage.config;
      const replicas = await examineReplicas(storage.read.sql, {
        replicas: databaseReadUrls,
        maxLagMs: databaseReadLagSeconds * 1_000,
        tables: LOCKED_FIRST,
      });
      const rows = [
        {
          ...row({ ...log, pipeline: "log" }, log.next),
          ...(isGuided && {
            readFrom: "GUIDED",
            completeThrough: completeThrough?.toString() ?? null,
          }),
          ...bulkMembers(staged, ranges, log),
          ...(replicas.length > 0 && { replicas: replicas.map(shownReplica) }),
          ...(incomplete.length > 0 && { incomplete: incomplete.map(heldMember) }),
        },
        ...pipelines.map((mark) => ({
          ...row(mark, log.next),
          ...replayMember(replays.find(({ pipeline }) => pipeline === mark.pipeline)),
        })),
        ...records.map((mark) => recordsRow(mark, holds)),
      ];
      if (json) printJson(rows);
      else {
        const held = [
          ...pipelines.flatMap(({ quarantined }) => quarantined),
          ...holds.map(heldToken),
        ];
        printLines([
          ...table(rows),
          ...(isGuided ? [guidedLine(completeThrough)] : []),
          ...(staged === null ? [] : [stagedLine(staged)]),
          ...bulkLines(log).map((line) => line.join(": ")),
          ...(ranges === null || log.backfill !== null ? [] : leftLines(ranges)),
          ...replicas.map(replicaLine),
          ...replays.map(replayLine),
          ...quarantineLines(held),
          ...incompleteLines(incomplete),
        ]);
      }
    });

type Staged = NonNullable<Awaited<ReturnType<typeof stagedSoFar>>>;

/** What the reading of a far range adds to the log's row until it is appended. */
const bulkMembers = (
  staged: Staged | null,
  ranges: BackfillRanges | null,
  { guided, backfill }: BulkProgress,
) => ({
  ...((staged !== null || guided !== null) && {
    guided: {
      ...(staged !== null && { found: `${staged.count}`, upTo: `${staged.last}` }),
      ...guided,
    },
  }),
  ...((ranges !== null || backfill !== null) && { backfill: backfill ?? ranges }),
});

const stagedLine = ({ count, last }: Staged): string =>
  `guided reading: ${count.toLocaleString("en")} checkpoints found up to ${last}, not in the log yet`;

/** Of a backfill that no process appends. */
const leftLines = (ranges: BackfillRanges): readonly string[] => [
  "Backfill: interrupted; run `holderbook backfill` again",
  ...rangesLines(ranges).map((line) => line.join(": ")),
];

/** The members that a replay adds to its pipeline's row. */
const replayMember = (status: ReplayStatus | undefined) => {
  if (status === undefined) return {};
  const { reason, state, checkpoint, target, ratePerSecond, comparison } = status;
  const left = isRunning(status) ? secondsLeft(status) : null;
  return {
    replay: { reason, state, checkpoint, of: target, ratePerSecond, secondsLeft: left, comparison },
  };
};

const isRunning = ({ state }: ReplayStatus): boolean => state === "running";

const replayLine = (status: ReplayStatus): string => {
  const { pipeline, reason, state, checkpoint, target, ratePerSecond } = status;
  const left = secondsLeft(status);
  const progress = [
    `checkpoint ${checkpoint} of ${target}`,
    ...(isRunning(status)
      ? [
          `${Math.round(ratePerSecond).toLocaleString("en")}/s`,
          `time left ${left === null ? "unknown" : duration(left)}`,
        ]
      : []),
  ].join(" · ");
  const what = reason === "source" ? "reading of the ledger again" : `${reason} of ${pipeline}`;
  return `${what} (${state}): ${progress}${comparisonText(status)}`;
};

const comparisonText = ({ comparison }: ReplayStatus): string => {
  if (comparison === null) return "";
  const { checkpoint, rows, differences } = comparison;
  const found =
    differences.length === 0
      ? `${rows.toLocaleString("en")} rows are identical`
      : `rows differ: ${differences.map(({ table, count }) => `${table} ${count.toLocaleString("en")}`).join(", ")}`;
  return `; compared at checkpoint ${checkpoint ?? "none"}: ${found}`;
};

const quarantineLines = (all: readonly Parameters<typeof inQuarantine>[0][]): readonly string[] => {
  const held = all.map(inQuarantine);
  return held.length === 0
    ? []
    : [...held, "all other coins go on; `holderbook quarantine` shows and releases what is held"];
};

const guidedLine = (completeThrough: bigint | null): string =>
  completeThrough === null
    ? "read guided; not proven complete"
    : `read guided; proven complete through checkpoint ${completeThrough}`;

const incompleteLines = (incomplete: readonly HeldIn[]): readonly string[] =>
  incomplete.length === 0
    ? []
    : [
        ...incomplete.map(inQuarantine),
        "all other coins go on; `holderbook prove complete` proves them again (docs/how-to/guided-reading.md)",
      ];

const row = (
  { pipeline, next, mark, rebuildingTo, quarantined }: Watermark,
  end: bigint | null,
) => ({
  pipeline,
  checkpoint: mark?.checkpoint.toString() ?? null,
  behindLog: end === null || next === null ? null : (end - next).toString(),
  ageSeconds: mark === null ? null : ageSeconds(mark.timestampMs, Date.now()),
  ...(rebuildingTo !== null && { rebuildingTo: rebuildingTo.toString() }),
  ...quarantineMember(quarantined),
});

type Held = Watermark["quarantined"][number];

const quarantineMember = (held: readonly Pick<Held, "coinType" | "from" | "reason" | "since">[]) =>
  held.length > 0 && {
    quarantined: held.map(heldMember),
  };

const heldMember = ({
  coinType,
  from,
  reason,
  since,
}: Pick<Held, "coinType" | "from" | "reason" | "since">) => ({
  coinType,
  checkpoint: from.toString(),
  reason,
  since,
});

/** Blocks in place of checkpoints; their age is in the chain's health. */
const recordsRow = (
  { project, chainId, network, nextBlock, headBlock }: RecordsMark,
  holds: readonly Hold[],
) => ({
  pipeline: `transfer_events ${project} ${network}`,
  checkpoint: nextBlock === 0n ? null : (nextBlock - 1n).toString(),
  behindLog: headBlock === null ? null : (headBlock + 1n - nextBlock).toString(),
  ageSeconds: null,
  ...quarantineMember(
    holds.filter((hold) => hold.project === project && hold.chainId === chainId).map(heldToken),
  ),
});

const table = (rows: readonly ReturnType<typeof row>[]) => {
  const cells = [
    ["", "checkpoint", "behind log", "age"],
    ...rows.map(({ pipeline, checkpoint, behindLog, ageSeconds: age, rebuildingTo }) => [
      rebuildingTo === undefined ? pipeline : `${pipeline} (rebuilding to ${rebuildingTo})`,
      checkpoint ?? "none",
      behindLog ?? "–",
      age === null ? "–" : duration(age),
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0),
      )
      .join("  ");
  return cells.map(line);
};
