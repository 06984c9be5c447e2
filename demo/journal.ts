/** What a live demo ledger cannot derive from its seed: times of checkpoints, and submissions. */
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { makeDataDir } from "../src/settings/data-dir.ts";
import type { Remedy } from "../src/waiting/remedy.ts";
import { EDITION, type LedgerOptions, type LedgerSettings, ledgerOptions } from "./edition.ts";
import type { Submission, TransactionReceipt } from "./issuer/submissions.ts";
import type { Timeline } from "./timeline.ts";

type SubmittedAt = { readonly checkpoint: bigint; readonly submission: Submission };

/** The data folder holds another demo ledger. Stop. */
export class OtherDemoLedgerError extends Error {
  override readonly name = "OtherDemoLedgerError";
  readonly remedy: Remedy = "stop";

  constructor(path: string, found: LedgerOptions) {
    super(
      `${path} belongs to a demo ledger with seed ${found.seed}, ${found.investors} investors and ` +
        `noise ${found.noise}${found.story === undefined ? "" : `, and the story ${found.story}`}; ` +
        "use these, or another data folder",
    );
  }
}

/**
 * The data folder holds a ledger of another edition, which cannot be made again. Stop; delete it.
 */
export class FormerDemoLedgerError extends Error {
  override readonly name = "FormerDemoLedgerError";
  readonly remedy: Remedy = "stop";

  constructor(dataDir: string, edition: number) {
    super(
      `${dataDir} holds data of a demo ledger of edition ${edition}, and this version makes edition ` +
        `${EDITION}, with other checkpoints; delete ${dataDir}, and empty the database if DATABASE_URL names one`,
    );
  }
}

/** A journal file is invalid. Stop; restore it, or use a new data folder. */
export class JournalDamagedError extends Error {
  override readonly name = "JournalDamagedError";
  readonly remedy: Remedy = "stop";

  constructor(path: string, reason: string) {
    super(`${path} is damaged (${reason}); restore it, or start with a new data folder`);
  }
}

const LINE_END = 0x0a;

type Journal = {
  /** Undefined in a new folder. */
  readTimeline(): Timeline | undefined;
  writeTimeline(timeline: Timeline): void;
  readSubmissions(): readonly SubmittedAt[];
  appendSubmission(submitted: SubmittedAt): void;
  /** Results of transactions signed outside. */
  readReceipts(): readonly TransactionReceipt[];
  appendReceipt(receipt: TransactionReceipt): void;
};

/** Writes nothing yet. */
export const openJournal = (dataDir: string, options: LedgerOptions): Journal => {
  const timelinePath = join(dataDir, "demo-ledger.json");
  const submissionsPath = join(dataDir, "demo-ledger-submissions.jsonl");
  const receiptsPath = join(dataDir, "demo-ledger-receipts.jsonl");
  const { seed, investors, noise } = options;

  /** Files whose last line this process wrote completely. */
  const whole = new Set<string>();
  const append = (path: string, value: object) => {
    mkdirSync(dataDir, { recursive: true });
    if (!whole.delete(path)) cutTornLine(path);
    appendFileSync(path, `${JSON.stringify(value, toJson)}\n`);
    whole.add(path);
  };

  return {
    readTimeline: () => {
      const text = readIfThere(timelinePath);
      if (text === undefined) return undefined;
      const value = parse(timelinePath, text);
      if (!isTimelineFile(value))
        throw new JournalDamagedError(timelinePath, "members are missing");
      const { edition = FIRST_EDITION } = value;
      if (edition !== EDITION) throw new FormerDemoLedgerError(dataDir, edition);
      const found = value.options;
      const story = value.timeline.foundedMs === undefined ? "chance" : "company";
      const isOurs =
        found.seed === seed &&
        found.investors === investors &&
        found.noise === noise &&
        (options.story === undefined || options.story === story);
      if (!isOurs) throw new OtherDemoLedgerError(timelinePath, { ...found, story });
      return value.timeline;
    },
    writeTimeline: (timeline) => {
      mkdirSync(dataDir, { recursive: true });
      const temporary = `${timelinePath}.${process.pid}.part`;
      writeFileSync(
        temporary,
        `${JSON.stringify({ edition: EDITION, options: { seed, investors, noise }, timeline }, toJson, 2)}\n`,
      );
      renameSync(temporary, timelinePath);
    },
    readSubmissions: () => readLines(submissionsPath, isSubmittedAt),
    appendSubmission: (submitted) => append(submissionsPath, submitted),
    readReceipts: () => readLines(receiptsPath, isReceipt),
    appendReceipt: (receipt) => append(receiptsPath, receipt),
  };
};

/**
 * Checks that the data folder can hold this ledger, before it is made.
 * @throws ConfigError naming DATA_DIR, FormerDemoLedgerError, OtherDemoLedgerError,
 * JournalDamagedError
 */
export const checkDemoFolder = (dataDir: string, settings: LedgerSettings): void => {
  if (!holdsDemoLedger(dataDir, settings)) makeDataDir(dataDir);
};

/** @throws FormerDemoLedgerError, OtherDemoLedgerError, JournalDamagedError */
export const holdsDemoLedger = (dataDir: string, settings: LedgerSettings): boolean =>
  openJournal(dataDir, ledgerOptions(settings)).readTimeline() !== undefined;

/** One value per line. */
const readLines = <Value>(path: string, fits: (value: unknown) => value is Value): Value[] =>
  (readIfThere(path) ?? "")
    .split("\n")
    // A crash may have cut the last line, which was never confirmed.
    .slice(0, -1)
    .map((line) => {
      const value = parse(path, line);
      if (!fits(value)) throw new JournalDamagedError(path, "members are missing");
      return value;
    });

/** Only before appending: while this process reads, another one may complete the line. */
const cutTornLine = (path: string): void => {
  const bytes = bytesIfThere(path);
  if (bytes === undefined || bytes.at(-1) === LINE_END) return;
  truncateSync(path, bytes.lastIndexOf(LINE_END) + 1);
};

const NOT_THERE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

const readIfThere = (path: string): string | undefined => bytesIfThere(path)?.toString("utf8");

const bytesIfThere = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (error) {
    // With a parent that is no folder, writing fails clearly.
    if (error instanceof Error && "code" in error && NOT_THERE.has(String(error.code)))
      return undefined;
    throw error;
  }
};

const parse = (path: string, text: string): unknown => {
  try {
    return JSON.parse(text, fromJson);
  } catch (error) {
    throw new JournalDamagedError(path, error instanceof Error ? error.message : "no JSON");
  }
};

/** Big integers as `{"bigint": "123"}`. */
const toJson = (_key: string, value: unknown): unknown =>
  typeof value === "bigint" ? { bigint: String(value) } : value;

const fromJson = (_key: string, value: unknown): unknown =>
  isObject(value) && typeof value.bigint === "string" ? BigInt(value.bigint) : value;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Its journal has no edition. */
const FIRST_EDITION = 1;

type TimelineFile = {
  readonly edition?: number;
  readonly options: LedgerOptions;
  readonly timeline: Timeline;
};

const isTimelineFile = (value: unknown): value is TimelineFile =>
  isObject(value) &&
  (value.edition === undefined || typeof value.edition === "number") &&
  isObject(value.options) &&
  isObject(value.timeline) &&
  typeof value.timeline.settledUntil === "bigint" &&
  ["bigint", "undefined"].includes(typeof value.timeline.foundedMs) &&
  Array.isArray(value.timeline.stretches) &&
  value.timeline.stretches.every(
    (stretch: unknown) =>
      isObject(stretch) &&
      ["from", "startMs", "spanMs", "count"].every((name) => typeof stretch[name] === "bigint"),
  );

const isSubmittedAt = (value: unknown): value is SubmittedAt =>
  isObject(value) &&
  typeof value.checkpoint === "bigint" &&
  isObject(value.submission) &&
  typeof value.submission.sender === "string" &&
  Array.isArray(value.submission.calls);

const isReceipt = (value: unknown): value is TransactionReceipt =>
  isObject(value) &&
  typeof value.digest === "string" &&
  typeof value.checkpoint === "bigint" &&
  typeof value.transactionIndex === "number" &&
  (value.error === null || typeof value.error === "string");
