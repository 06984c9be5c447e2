/**
 * Results of benches: `bench/results/DATE.json` has the last run of each bench on that day (UTC), by the bench's name
 * and setting.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Bench } from "./benches.ts";
import { conditions, conditionsSchema } from "./conditions.ts";
import { figureSchema } from "./figure.ts";

export const RESULTS = fileURLToPath(new URL("./results", import.meta.url));

const runSchema = z.strictObject({
  ...conditionsSchema.shape,
  seconds: z.number(),
  figures: z.array(figureSchema).nonempty(),
});

/** One run of one bench. */
export type Run = z.infer<typeof runSchema>;

const daySchema = z.record(z.string(), runSchema);

/** The newest run of each bench in a folder, by name and setting ("graphql", "guided=1000"). */
export const newestRuns = async (folder: string): Promise<ReadonlyMap<string, Run>> => {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
  const days = await Promise.all(files.map((file) => readDay(join(folder, file))));
  return new Map(days.flatMap((day) => Object.entries(day)));
};

/** @throws for a file that is not of this form, with its name */
const readDay = async (file: string): Promise<Readonly<Record<string, Run>>> => {
  const day = daySchema.safeParse(JSON.parse(await readFile(file, "utf8")));
  if (day.success) return day.data;
  throw new Error(`${file}: ${z.prettifyError(day.error)}`);
};

/** Puts the run into its day's file, in place of an earlier one of that bench. */
export const record = async (folder: string, bench: string, run: Run): Promise<void> => {
  const name = `${run.at.slice(0, 10)}.json`;
  const file = join(folder, name);
  const day = (await readdir(folder)).includes(name) ? await readDay(file) : {};
  await writeFile(file, `${JSON.stringify({ ...day, [bench]: run }, null, 2)}\n`);
};

/** Runs a bench. @throws if two figures have one name, or a value is not a number */
export const measured = async ({ bench }: Bench, setting?: string): Promise<Run> => {
  const ended = conditions();
  const started = performance.now();
  const figures = [await bench(setting)].flat();
  const seconds = Math.round((performance.now() - started) / 1_000);
  const twice = figures.find(({ name }, n) => figures.findIndex((f) => f.name === name) !== n);
  if (twice !== undefined) throw new Error(`two figures are named "${twice.name}"`);
  const run: Run = runSchema.parse({ ...ended(), seconds, figures });
  // Four digits: more are noise.
  const digits = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value;
  return runSchema.parse(JSON.parse(JSON.stringify(run, digits)));
};
