import { Command, InvalidArgumentError, Option } from "commander";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { announceLedger, findLedger } from "../service/ledger-source.ts";
import { keepProcessNotes } from "../service/process-notes.ts";
import { openStorage, watchPools } from "../service/storage.ts";
import { guidedConfig } from "../settings/config.ts";
import { watchProcess } from "../telemetry/process-figures.ts";
import {
  bigintArgument,
  checkpointArgument,
  namesArgument,
  RETRY_FOR_MS,
  retryForOption,
} from "./arguments.ts";
import { progressLine, progressTerminal } from "./progress-line.ts";
import { reloadOnHangUp } from "./reload-on-hang-up.ts";
import { openRuntime } from "./runtime.ts";
import { shownFigures } from "./shown-figures.ts";
import { UsageError } from "./usage.ts";

type IndexOptions = {
  readonly pipelines?: readonly string[];
  readonly first?: bigint;
  readonly last?: bigint;
  readonly retryFor?: number;
  readonly guided?: boolean;
  /** Checkpoints of a range; present: workers read them. */
  readonly range?: bigint;
};

type BackfillOptions = Pick<IndexOptions, "first" | "retryFor" | "guided"> & {
  readonly from?: bigint;
  readonly range: bigint;
  readonly to?: bigint;
  readonly audit?: number;
};

const NAMES = ledgerPipelines.map(({ name }) => name);

/** `holderbook index`: reads and projects, serves nothing. */
export const indexCommand = () =>
  new Command("index")
    .option(
      "--pipelines <names>",
      `only these, separated by commas: ${NAMES.join(", ")}; none: all work but pipelines`,
      (text) => (text === "none" ? [] : namesArgument(NAMES)(text)),
    )
    .option(
      "--first <checkpoint>",
      "first checkpoint of an empty log (FIRST_CHECKPOINT)",
      checkpointArgument,
    )
    .option("--last <checkpoint>", "end once every pipeline has committed it", checkpointArgument)
    .addOption(retryForOption().default(undefined, "10m with --last, else without end"))
    .action(indexUpTo);

/** `holderbook backfill`: reads up to a checkpoint, then ends. */
export const backfillCommand = () =>
  new Command("backfill")
    .option("--to <checkpoint>", "last checkpoint to read", checkpointArgument)
    .addOption(
      new Option(
        "--from <checkpoint>",
        "read every checkpoint from here on with the help of `holderbook work backfill`",
      )
        .argParser(checkpointArgument)
        .conflicts(["guided", "first"]),
    )
    .addOption(
      new Option(
        "--range <checkpoints>",
        "with --from and --audit: how many checkpoints are read as one range",
      )
        .argParser(bigintArgument(/^[1-9]\d{0,4}$/, "a number from 1 to 99999"))
        .default(1_000n, "1000"),
    )
    .addOption(
      new Option(
        "--audit <share>",
        "instead of appending: read random ranges of the log, such as 1% of it, from the source again, every checkpoint of them, and compare their facts",
      )
        .argParser(shareArgument)
        .conflicts(["to", "from", "guided", "first"]),
    )
    .option("--guided", "ask a full node's lists which checkpoints to read (READING=guided)")
    .option(
      "--first <checkpoint>",
      "first checkpoint of an empty log (FIRST_CHECKPOINT)",
      checkpointArgument,
    )
    .addOption(retryForOption().default(undefined, "10m"))
    .action(async ({ from, to, range, audit, ...options }: BackfillOptions) => {
      if (audit !== undefined) {
        const { auditRanges } = await import("./audit-ranges.ts");
        await auditRanges({
          share: audit,
          size: range,
          retryFor: options.retryFor ?? RETRY_FOR_MS,
        });
        return;
      }
      if (to === undefined) throw new UsageError("backfill needs --to, or --audit");
      await indexUpTo({ ...options, ...(from !== undefined && { first: from, range }), last: to });
    });

/** A share such as `1%`, from 0 to 1. */
const shareArgument = (text: string): number => {
  const percent = /^(\d{1,3}(?:\.\d{1,4})?)%$/.exec(text)?.[1];
  const share = Number(percent) / 100;
  if (percent !== undefined && share > 0 && share <= 1) return share;
  throw new InvalidArgumentError("It must be a share of the log, such as 1% or 0.01%.");
};

/** Reads and projects, up to a checkpoint or without end. */
const indexUpTo = async (options: IndexOptions) => {
  const { pipelines, first, last, retryFor, guided, range } = options;
  if (retryFor !== undefined && last === undefined) {
    throw new UsageError("--retry-for needs --last: without an end, retries never stop");
  }
  const runtime = await openRuntime("indexing");
  const { logger, telemetry, giveUp, signal } = runtime;
  const config = guided ? guidedConfig(runtime.config) : runtime.config;
  await using _tracing = telemetry.tracing;
  if (range !== undefined) (await import("../service/backfill.ts")).assertDivisible(config);
  await announceLedger(config, logger);
  await (await import("../service/settings-checks.ts")).checkSettings(config, "index");
  const found = await findLedger(config, logger, telemetry.figures);
  const firstCheckpoint = first ?? found.firstCheckpoint;
  if (last !== undefined && firstCheckpoint !== undefined && last < firstCheckpoint) {
    throw new UsageError(
      `the last checkpoint, ${last}, is before the first one, ${firstCheckpoint}`,
    );
  }
  await using storage = await openStorage(config, logger, { onLost: giveUp });
  // Loaded late: the first connection to the database must not wait for this code.
  const ledger = await found.open();
  watchPools(telemetry.figures, "indexing", storage);
  using _watched = watchProcess(telemetry.figures, {
    process: "indexing",
    dataDir: storage.kind === "embedded" ? config.dataDir : undefined,
  });
  await using _shown = await shownFigures(config, telemetry, logger);
  const { startIndexing } = await import("../service/indexing.ts");
  await ledger.recordDecimals(storage);
  await using notes = keepProcessNotes(storage.write, telemetry.figures);
  // A run up to a checkpoint, or of some pipelines, covers the Sui ledger only.
  const live = last === undefined && !pipelines?.length;
  const { startBackgroundWork } = await import("../service/background-work.ts");
  await using work = live
    ? await startBackgroundWork({ ...runtime, storage, notes, ledger })
    : undefined;
  await using _agent = await work?.startAgent({ opensData: false });
  if (live) reloadOnHangUp(runtime, storage);
  await using joining =
    range === undefined
      ? undefined
      : (await import("../service/backfill.ts")).openJoining(config, logger, storage, range);
  const line = progressLine(logger, progressTerminal(config));
  const { ended, bulk } = startIndexing({
    ...runtime,
    ...{ config, storage, ledger, firstCheckpoint, last, pipelines, guide: joining?.guide },
    retryForMs: last === undefined ? undefined : (retryFor ?? RETRY_FOR_MS),
    onProgress: line.report,
  });
  notes.watchBulk(bulk);
  try {
    const { failures } = await ended;
    line.clear();
    const [failure] = failures;
    if (failure !== undefined) throw failure;
    if (last !== undefined && !signal.aborted) logger.info(`committed checkpoint ${last}`);
  } finally {
    await ledger.source.close();
  }
};
