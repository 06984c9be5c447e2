import { readFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { type Comparison, compareDeployments } from "../audit/compare/compare.ts";
import {
  NotAnsweredError,
  otherDeployment,
  type Register,
} from "../audit/compare/other-deployment.ts";
import { OWN_PAST } from "../audit/compare/present.ts";
import type { Progress } from "../audit/compare/progress.ts";
import type { Difference } from "../audit/compare/rows.ts";
import { SAMPLE, type Step } from "../audit/compare/steps.ts";
import { answerHere, HeldHereError } from "../graphql/answer-here.ts";
import { watchPackages } from "../log/packages.ts";
import { shownForeign } from "../logging/foreign-text.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { LAYOUT } from "../projections/progress-tables.ts";
import { VERSION } from "../telemetry/version.ts";
import { checkpointArgument, urlArgument } from "./arguments.ts";
import { pipelineOption } from "./digest.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, printJson, printLines } from "./output.ts";
import { DRAW_EVERY_MS, progressTerminal, redrawnLine } from "./progress-line.ts";
import type { Runtime } from "./runtime.ts";
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
Exit codes: 0 identical, 1 a difference, 2 wrong usage, 3 no difference found, but the other deployment is more than
100 checkpoints behind, or returned less than requested.`;

/** `holderbook compare`: compares another deployment's answers with this one. */
export const compareCommand = () =>
  new Command("compare")
    .argument("<url>", "URL of the other deployment", urlArgument("https://register.example.com"))
    .addOption(
      new Option(
        "--key <key>",
        "a key of kind graphql there; visible to other users of this machine, so prefer --key-file or the environment",
      ).env("HOLDERBOOK_COMPARE_KEY"),
    )
    .option("--key-file <file>", "read the key from a file")
    .addOption(pipelineOption())
    .option(
      "--through <checkpoint>",
      "last checkpoint to compare; default: the newest that both have",
      checkpointArgument,
    )
    .option("--full", "compare every row; default: a sample of longer lists")
    .option(
      "--resume <file>",
      "record progress in this file, and continue from it if it exists; removed at the end",
    )
    .option("--json", "print one JSON document instead of text")
    .addHelpText("after", EXIT_CODES)
    .action(async (url: URL, options: Options) => {
      const { pipeline, through, full = false, resume: file, json } = options;
      const secret = await keyIn(options);
      await using storage = await openDatabase({ readOnly: true, spread: true });
      const { logger, signal } = storage;
      const answering = answerHere(
        {
          readers: storage.readers,
          packages: watchPackages(storage.read.db, []),
          pipelines: ledgerPipelines,
          now: Date.now,
        },
        { log: logger, signal },
      );
      const here: Register = {
        ask: (...asked) =>
          answering.ask(...asked).catch((error: unknown) => {
            throw error instanceof HeldHereError ? new NotAnsweredError(error.message) : error;
          }),
      };
      const shown = progressOf(storage);
      const compared = await compareDeployments(
        storage.readers.for(signal),
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
      const { differences, missing } = compared;
      endCheck({ isFalse: differences.length > 0, isUnshown: missing.length > 0 });
    });

/** @throws UsageError without a key */
const keyIn = async ({ key, keyFile }: Options): Promise<string> => {
  const secret = keyFile === undefined ? key : (await readFile(keyFile, "utf8")).trim();
  if (secret === undefined || secret === "") {
    throw new UsageError(
      "give a key of the other deployment: --key-file FILE or HOLDERBOOK_COMPARE_KEY",
    );
  }
  return secret;
};

const LOG_EVERY_MS = 10_000;

/** Shows progress: a redrawn line on a terminal, log lines elsewhere. */
const progressOf = ({ config, logger }: Pick<Runtime, "config" | "logger">) => {
  const terminal = progressTerminal(config);
  const { draw, clear } = redrawnLine(terminal);
  let shownAt = performance.now();
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
      draw(
        `${rows.toLocaleString("en")} rows · step ${number + 1} of ${of} · ${shownForeign(step.name)}`,
      );
    },
    clear,
  };
};

/** Taken on faith, because no query shows it. */
const ON_FAITH: readonly string[] = [
  "that it answers other keys as it answers this one, and queries with other arguments (order, offset, one owner, a time) from the same rows",
  "that its exports, statements, packs and streams are made of the rows that these queries serve",
  "signatures of its roots and heads, and that it lists all of them: docs/how-to/audit.md says how its sequence is checked",
  "data other than rows of a coin: facts of its log, signatures of validators, the grants behind causes (token_grants), the times that sinceTimestamp searches by (reached_ms); run reconcile and verify --log there",
];

/** Adds the rows of one comparison that are taken on faith. */
const onFaith = ({ tallies }: Comparison): readonly string[] => {
  const rows = tallies.get(OWN_PAST)?.rows ?? 0;
  const own = `its current answers, ${rows} rows: it was ahead of this deployment, so they were compared only with its own past`;
  return rows === 0 ? ON_FAITH : [own, ...ON_FAITH];
};

const SHOWN_OF_EACH = 5;

const side = (of: Difference["here"]): string => {
  if (of === null) return "none";
  const members = Object.entries(of).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return shownForeign(members.join(", "));
};

const differenceLines = (differences: readonly Difference[], more: number): readonly string[] => [
  ...[...Map.groupBy(differences, ({ what, coinType }) => `${what} ${coinType}`).values()].flatMap(
    (same) => {
      const left = same.length - SHOWN_OF_EACH;
      return [
        ...same.slice(0, SHOWN_OF_EACH).map(({ what, coinType, row, here, there }) => {
          const of = coinType === null ? "" : ` of ${shownForeign(coinType)}`;
          return `${shownForeign(what)}${of}, ${shownForeign(row)}: here ${side(here)}; there ${side(there)}`;
        }),
        ...(left > 0 ? [`  and ${left} more like it`] : []),
      ];
    },
  ),
  ...(more > 0 ? [`and ${more} more differences`] : []),
];

const verdict = (comparison: Comparison): string => {
  const { differences, more, missing, through } = comparison;
  if (differences.length > 0) {
    return `different: ${differences.length + more} differences through checkpoint ${through}`;
  }
  if (missing.length > 0)
    return `not shown: no difference found, but less was returned than requested`;
  return isWhole(comparison)
    ? `identical through checkpoint ${through}`
    : `identical through checkpoint ${through} in what was compared; some lists were compared in part, see below`;
};

/** Whether every row of every list was compared. */
const isWhole = ({ tallies }: Comparison): boolean =>
  [...tallies.values()].every(({ inPart }) => inPart === 0);

const comparedLines = ({ tallies }: Comparison): readonly string[] =>
  [...tallies].map(([name, { rows, lists, inPart }]) => {
    const many = lists > 1 ? ` in ${lists} lists` : "";
    const part = inPart > 0 ? `, ${lists > 1 ? `${inPart} of them ` : ""}in part` : "";
    return `  ${shownForeign(name)}: ${rows}${many}${part}`;
  });

const inWords = (comparison: Comparison): readonly string[] => {
  const { isFull, here, there, through, differences, more, missing, notes } = comparison;
  return [
    ...differenceLines(differences, more),
    ...missing.map(shownForeign),
    verdict(comparison),
    `compared through checkpoint ${through} (here ${here}, there ${there}), row by row${isFull ? "" : "; longer lists in part (--full compares everything)"}:`,
    ...comparedLines(comparison),
    "not compared, taken on faith:",
    ...onFaith(comparison).map((line) => `  ${line}`),
    ...notes.map(shownForeign),
  ];
};

const asJson = (comparison: Comparison) => {
  const { through, here, there, isFull, tallies, differences, more, missing, notes } = comparison;
  return {
    identical: differences.length === 0 && missing.length === 0,
    through,
    here,
    there,
    full: isFull,
    whole: isWhole(comparison),
    sample: isFull ? null : SAMPLE,
    compared: [...tallies].map(([what, tally]) => ({ what, ...tally })),
    differences,
    more,
    missing,
    onFaith: onFaith(comparison),
    notes,
  };
};
