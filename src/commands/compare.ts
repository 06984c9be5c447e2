import { readFile } from "node:fs/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import { compareDeployments } from "../audit/compare/compare.ts";
import { otherDeployment } from "../audit/compare/other-deployment.ts";
import type { Progress } from "../audit/compare/progress.ts";
import type { Step } from "../audit/compare/steps.ts";
import { answerHere } from "../graphql/answer-here.ts";
import { watchPackages } from "../log/packages.ts";
import { shownForeign } from "../logging/foreign-text.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { LAYOUT } from "../projections/progress-tables.ts";
import { VERSION } from "../telemetry/version.ts";
import { checkpointArgument } from "./arguments.ts";
import { asJson, exitCodeOf, inWords } from "./compare-report.ts";
import { pipelineOption } from "./digest.ts";
import { printJson, printLines } from "./output.ts";
import { progressPlace } from "./progress-line.ts";
import { openReading } from "./reading.ts";
import { openRuntime, type Runtime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly key?: string;
  readonly keyFile?: string;
  readonly pipeline?: string;
  readonly through?: bigint;
  readonly full?: boolean;
  readonly resume?: string;
  readonly json?: boolean;
};

const EXIT_CODES = `
Exit codes: 0 identical, 1 a difference, 2 wrong usage, 3 no difference found, but the other one is more than
100 checkpoints behind, or shows less than was asked.`;

/** `holderbook compare`: compares what another deployment serves with this one. */
export const compareCommand = () =>
  new Command("compare")
    .argument("<url>", "where the other deployment serves GraphQL", urlArgument)
    .addOption(
      new Option(
        "--key <key>",
        "a key of kind graphql there; others on this machine may see it: better --key-file or the environment",
      ).env("HOLDERBOOK_COMPARE_KEY"),
    )
    .option("--key-file <file>", "read the key from a file")
    .addOption(pipelineOption())
    .option(
      "--through <checkpoint>",
      "compare up to here; up to the newest that both have unless given",
      checkpointArgument,
    )
    .option(
      "--full",
      "compare every row, however many there are; a sample of longer lists without it",
    )
    .option(
      "--resume <file>",
      "keep how far it is in this file, and go on from there when the file exists; removed at the end",
    )
    .option("--json", "one JSON document instead of text")
    .addHelpText("after", EXIT_CODES)
    .action(async (url: URL, options: Options) => {
      const { pipeline, through, full = false, resume: file, json } = options;
      const secret = await keyIn(options);
      const runtime = await openRuntime();
      const { logger, signal } = runtime;
      await using storage = await openReading(runtime);
      const here = answerHere(
        {
          readers: storage.readers,
          packages: watchPackages(storage.read.db, []),
          pipelines: ledgerPipelines,
          now: Date.now,
        },
        { log: logger, signal },
      );
      const shown = progressOf(runtime);
      const compared = await compareDeployments(
        storage.read.db,
        here,
        otherDeployment(url, secret, signal),
        {
          pipelines: ledgerPipelines.filter(({ name }) => name === (pipeline ?? name)),
          isPart: pipeline !== undefined,
          through,
          isFull: full,
          version: VERSION,
          layout: LAYOUT,
          file,
          url: url.href,
          signal,
          onProgress: shown.report,
        },
      ).finally(shown.clear);
      if (json) printJson(asJson(compared));
      else printLines(inWords(compared));
      process.exitCode = exitCodeOf(compared);
    });

/** @throws UsageError without one */
const keyIn = async ({ key, keyFile }: Options): Promise<string> => {
  const secret = keyFile === undefined ? key : (await readFile(keyFile, "utf8")).trim();
  if (secret === undefined || secret === "") {
    throw new UsageError(
      "give a key of the other deployment: --key-file or HOLDERBOOK_COMPARE_KEY",
    );
  }
  return secret;
};

const urlArgument = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("It must be an address, such as https://register.example.com");
  }
  return url;
};

/** Intervals of the terminal's line and, off a terminal, of log lines. */
const DRAW_EVERY_MS = 200;
const LOG_EVERY_MS = 10_000;

/** Shows progress: a redrawn line on a terminal, occasional log lines elsewhere. */
const progressOf = ({ config, logger }: Pick<Runtime, "config" | "logger">) => {
  const terminal = progressPlace(config);
  let [shownAt, drawn] = [performance.now(), false];
  return {
    report: (step: Step, number: number, of: number, { tallies }: Progress) => {
      const now = performance.now();
      if (now - shownAt < (terminal ? DRAW_EVERY_MS : LOG_EVERY_MS)) return;
      shownAt = now;
      const rows = [...tallies.values()].reduce((sum, tally) => sum + tally.rows, 0);
      if (terminal === undefined) {
        logger.info({ rows, step: number + 1, of, comparing: step.name }, "comparing");
        return;
      }
      const line = `${rows.toLocaleString("en")} rows · step ${number + 1} of ${of} · ${shownForeign(step.name)}`;
      terminal.write(`\r\u001b[2K${line.slice(0, Math.max(20, (terminal.columns ?? 80) - 1))}`);
      drawn = true;
    },
    clear: () => {
      if (drawn) terminal?.write("\r\u001b[2K");
    },
  };
};
