/**
 * Peak memory of `holderbook index` over a million facts from a folder: the kernel's largest
 * resident set, without Postgres.
 */
import { join } from "node:path";
import { writeDemoLedger } from "../demo/write.ts";
import { type Figure, single } from "./figure.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, scratchPostgres } from "./start.ts";

/** Dense checkpoints: about 200 facts each. */
const CHECKPOINTS = 9_000;
const ACTIONS = 50;

export const bench = async (): Promise<Figure> => {
  await using scratch = await scratchPostgres();
  const { database, url } = scratch;
  const ledger = join(scratch.folder, "ledger");
  await writeDemoLedger({
    dir: ledger,
    checkpoints: CHECKPOINTS,
    seed: "memory",
    format: "binpb",
    investors: 5_000,
    noise: 0,
    actionsPerCheckpoint: ACTIONS,
  });
  const { seconds, mib: peak } = await measuredRun(
    LAUNCHER,
    ["index", "--last", String(CHECKPOINTS - 1)],
    { DATABASE_URL: url, LEDGER_SOURCE: `dir:${ledger}` },
  );

  const [{ facts } = { facts: 0n }] = await database.sql<{ facts: bigint }[]>`
    select count(*) as facts from log_facts`;
  return {
    name: "index",
    what: "Memory: peak of `index` over a million facts, without Postgres",
    ...single("MB", peak),
    ...{ better: "less", aim: 350 },
    detail: `${facts.toLocaleString("en")} facts of ${CHECKPOINTS.toLocaleString("en")} checkpoints in ${seconds.toFixed(0)} s, ${Math.round(Number(facts) / seconds).toLocaleString("en")} facts/s with all five pipelines`,
  };
};
