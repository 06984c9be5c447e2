/** Running test pipelines over a real log. */
import { factSource, openLog } from "../../src/log/log.ts";
import type { Pipeline } from "../../src/pipelines/pipeline.ts";
import { type RunnerOptions, runPipelines } from "../../src/pipelines/runner.ts";
import type { PipelineStatus } from "../../src/pipelines/status.ts";
import { until } from "../lanes/until.ts";
import { PACKAGE } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { createTables, silent, standing } from "./test-pipelines.ts";

/** What test logs are of. */
const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** A database with an open log and tables for pipelines of these names. */
export const withLog = async (...names: readonly string[]) => {
  const database = await freshDatabase({ max: 8 });
  await createTables(database, ...names);
  const log = await openLog(database, identity);
  return { database, log, [Symbol.asyncDispose]: () => database.close() };
};

/** Runs pipelines until the end of the scope. */
export const running = (
  database: TestDatabase,
  pipelines: readonly Pipeline[],
  options: Partial<RunnerOptions> = {},
) => {
  const ending = new AbortController();
  const statuses = new Map<string, PipelineStatus>();
  const history: string[] = [];
  const done = runPipelines({
    database,
    log: factSource(database),
    pipelines,
    bounds: { maxFacts: 100, maxBytes: 1_000_000 },
    signal: ending.signal,
    logger: silent,
    onProgress: (status) => {
      statuses.set(status.pipeline, status);
      if (history.at(-1) !== status.state) history.push(status.state);
    },
    ...options,
  });
  const end = async () => {
    ending.abort();
    return done;
  };
  return { statuses, history, done, end, [Symbol.asyncDispose]: async () => void (await end()) };
};

/** Waits until a pipeline expects at least this checkpoint; returns where it stands. */
export const reached = (database: TestDatabase, name: string, next: bigint) =>
  until(
    `${name} to reach ${next}`,
    () => standing(database, name),
    (at) => at.next !== null && at.next >= next,
  );
