/**
 * `archive export --format parquet` of a large log: rate, size of the files, and peak memory, which a log of four times
 * the size must not raise.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { indexedLog } from "./archived-log.ts";
import { type Figure, ratioOf } from "./figure.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, scratchPostgres } from "./start.ts";

export const bench = async (setting?: string): Promise<Figure> => {
  const checkpoints = Number(setting ?? 10_000);
  await using scratch = await scratchPostgres();
  const { folder } = scratch;
  const { env, facts } = await indexedLog(scratch, { checkpoints, seed: "parquet" });

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
    name: "memory",
    what: "Memory: peak of `archive export --format parquet` of a million facts / of a quarter of them",
    ...ratioOf("MB", [whole.mib], [quarter.mib]),
    ...{ better: "less", aim: 1.2 },
    detail:
      `${facts.toLocaleString("en")} facts of ${checkpoints.toLocaleString("en")} checkpoints in ${whole.seconds.toFixed(0)} s, ` +
      `${Math.round(Number(facts) / whole.seconds).toLocaleString("en")} facts/s; facts ${size("facts").toFixed(1)} MB, movements ${size("movements").toFixed(1)} MB`,
  };
};
