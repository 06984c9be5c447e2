/** A large log to be written to files. */
import { join } from "node:path";
import { writeDemoLedger } from "../demo/write.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, type scratchPostgres } from "./start.ts";

/** About 110 to 200 facts in each checkpoint. */
const ACTIONS = 50;

/** Indexes so many checkpoints. `env` is that of commands on the log. */
export const indexedLog = async (
  { database, url, folder }: Awaited<ReturnType<typeof scratchPostgres>>,
  { checkpoints, seed }: { readonly checkpoints: number; readonly seed: string },
) => {
  const ledger = join(folder, "ledger");
  await writeDemoLedger({
    ...{ dir: ledger, checkpoints, seed, format: "binpb", investors: 5_000 },
    ...{ noise: 0, actionsPerCheckpoint: ACTIONS },
  });
  const env = { DATABASE_URL: url, LEDGER_SOURCE: `dir:${ledger}` };
  await measuredRun(LAUNCHER, ["index", "--last", String(checkpoints - 1)], env);
  const [{ facts } = { facts: 0n }] = await database.sql<{ facts: bigint }[]>`
    select count(*) as facts from log_facts`;
  return { env, facts };
};
