/** The same ledger read by a service that nothing happens to. */
import { ownDigests } from "../../src/audit/reconcile/own-digests.ts";
import type { Database } from "../../src/database/connect.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { contentsOf } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { runProgram, type Settings, temporaryFolder } from "../service/process.ts";
import type { Told } from "./answers.ts";
import type { World } from "./world.ts";

/** Digests of all pipelines, every row, and the whole log. */
const readingOf = async (database: Database, last: bigint) => ({
  digests: await ownDigests(database.db, ledgerPipelines, last),
  rows: await projectedRows(database),
  log: await contentsOf(database),
});

export type Reading = Awaited<ReturnType<typeof readingOf>>;

/** So many of the answers are held against the other service: a digest of the past takes a while. */
const MOST_ANSWERS = 300;

/** Answers that readers got, evenly over the run, that are not what the other service has at their checkpoint. */
const falseAnswers = async (database: Database, told: readonly Told[]) => {
  const every = Math.ceil(told.length / MOST_ANSWERS);
  const found: string[] = [];
  for (const { pipeline, checkpoint, digest } of told.filter((_, n) => n % every === 0)) {
    const own = ledgerPipelines.filter(({ name }) => name === pipeline);
    const [right] = await ownDigests(database.db, own, checkpoint);
    if (right?.digest !== digest) found.push(`${pipeline} at ${checkpoint}: ${digest}`);
  }
  return found;
};

/** What the disturbed service has, and what another one reads from the ledger's last checkpoint down. */
export const bothReadings = async (
  {
    settings,
    database,
    ledger,
    answers,
  }: Pick<World, "database" | "ledger" | "answers"> & { readonly settings: Settings },
  last: bigint,
) => {
  await using other = await freshDatabase();
  await using folder = await temporaryFolder();
  const { code, stderr } = await runProgram(["index", "--last", `${last}`], {
    ...settings,
    LEDGER_SOURCE: ledger.store.base.href,
    DATABASE_URL: other.url,
    DATA_DIR: folder.path,
  });
  if (code !== 0) throw new Error(`the undisturbed run ended with ${code}: ${stderr}`);
  return {
    disturbed: await readingOf(database, last),
    undisturbed: await readingOf(other, last),
    falseAnswers: await falseAnswers(other, answers.told()),
  };
};
