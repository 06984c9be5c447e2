/** The circumstances of a run, without which its figures cannot be compared with another's. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { availableParallelism, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { zstdCompressSync } from "node:zlib";
import { z } from "zod";
import { median } from "./figure.ts";
import { spentMs } from "./processes.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const ROUNDS = 15;

export const conditionsSchema = z.strictObject({
  /** When the run began, ISO 8601. */
  at: z.string(),
  commit: z.string(),
  /** Whether anything but results and documentation differed from the commit. */
  isChanged: z.boolean(),
  node: z.string(),
  cores: z.number(),
  memoryGib: z.number(),
  /** Processes that ran or waited to run in the minute before; on an idle machine near 0. */
  load: z.number(),
  /** Processor time of a fixed piece of work, mean of before and after the run: times and rates are compared in it. */
  machineMs: z.number(),
});

export type Conditions = z.infer<typeof conditionsSchema>;

const ROWS = Array.from({ length: 4_000 }, (_, n) => ({
  position: n,
  owner: createHash("sha256").update(`${n}`).digest("hex"),
}));

/** What the service spends its time on: printing, parsing, hashing, compression. */
const work = (): number => {
  const started = spentMs();
  const text = JSON.stringify(ROWS);
  const rows: typeof ROWS = JSON.parse(text);
  for (const { owner } of rows) createHash("sha256").update(owner).digest();
  zstdCompressSync(text);
  return spentMs() - started;
};

const workMs = (): number => {
  work();
  return median(Array.from({ length: ROUNDS }, work));
};

/** Call it before the run, and what it returns after. */
export const conditions = (): (() => Conditions) => {
  const git = ["-C", ROOT, "rev-parse", "--short=12", "HEAD"];
  const commit = execFileSync("git", git, { encoding: "utf8" }).trim();
  const unlike = ["diff", "--quiet", "HEAD", "--", ".", ":!bench/results", ":!docs"];
  const isChanged = spawnSync("git", ["-C", ROOT, ...unlike]).status !== 0;
  const begun = {
    at: new Date().toISOString(),
    ...{ commit, isChanged, node: process.versions.node, cores: availableParallelism() },
    memoryGib: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? 0,
  };
  const before = workMs();
  return () => ({ ...begun, machineMs: (before + workMs()) / 2 });
};
