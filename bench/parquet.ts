/**
 * `archive export --format parquet` of a large log: rate, size of the files, and peak memory, which a log of four times
 * the size must not raise.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeDemoLedger } from "../demo/write.ts";
import type { Figure } from "./figure.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, scratchPostgres } from "./start.ts";

/** About 110 facts each. */
const ACTIONS = 50;

export const bench = async (setting?: string): Promise<Figure> => {
  const checkpoints = Number(setting ?? 10_000);
  await using scratch = await scratchPostgres();
  const { database, url, folder } = scratch;
  const ledger = join(folder, "ledger");
  await writeDemoLedger({
    ...{ dir: ledger, checkpoints, seed: "parquet", format: "binpb", investors: 5_000 },
    ...{ noise: 0, actionsPerCheckpoint: ACTIONS },
  });
  const env = { DATABASE_URL: url, LEDGER_SOURCE: `dir:${ledger}` };
  await measuredRun(LAUNCHER, ["index", "--last", String(checkpoints - 1)], env);
  const [{ facts } = { facts: 0n }] = await database.sql<{ facts: bigint }[]>`
    select count(*) as facts from log_facts`;

  const exported = async (name: string, ...args: readonly string[]) => {
    const dir = join(folder, name);
    const run = ["archive", "export", "--format", "parquet", "--dir", dir, ...args];
    const ran = await measuredRun(LAUNCHER, run, env);
    const sizes = await Promise.all(
      (await readdir(dir)).map(async (file) => [file, (await stat(join(dir, file))).size] as const),
    );
    return { ...ran, sizes };
  };
  const quarter = await exported("quarter", "--to", String(checkpoints / 4 - 1));
  const whole = await exported("whole");
  const size = (name: string) =>
    whole.sizes
      .filter(([file]) => file.startsWith(name))
      .reduce((sum, [, bytes]) => sum + bytes, 0) / 1e6;
  return {
    name: "archive export as Parquet: peak memory, whole log / a quarter of it",
    reached: (whole.mib / quarter.mib).toFixed(2),
    aim: "at most 1.2",
    detail:
      `${facts.toLocaleString("en")} facts of ${checkpoints.toLocaleString("en")} checkpoints in ${whole.seconds.toFixed(0)} s with ${Math.round(whole.mib)} MB, ` +
      `${Math.round(Number(facts) / whole.seconds).toLocaleString("en")} facts/s; facts ${size("facts").toFixed(1)} MB, movements ${size("movements").toFixed(1)} MB; ` +
      `a quarter with ${Math.round(quarter.mib)} MB`,
  };
};
