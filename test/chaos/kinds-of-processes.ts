/** Processes that are killed or stand still. */
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { until } from "../lanes/until.ts";
import type { FaultKind } from "./fault.ts";
import type { World } from "./world.ts";

/** What a standby has for everything that the killed process did. */
const TAKE_OVER_MS = 5_000;

/** The log and every pipeline have one each. */
const WRITERS = 1 + ledgerPipelines.length;

/** The process that reads, once the other indexing process stands by for all that it writes. */
const readerOf = async (world: World) => {
  const { start, index } = world.processes;
  const reader = await until(
    "a reader",
    () => world.holder("log"),
    (found) => found !== undefined,
  );
  if (reader === undefined) throw new Error("no process reads");
  await until(
    "a standby for every writer",
    () => world.writersOf(reader === start ? index : start),
    (writers) => writers >= WRITERS,
    60_000,
  );
  return reader;
};

/** kill -9 of the process that reads, and with it its pipelines and workers. */
const killedReader: FaultKind = {
  name: "kill -9 of the reader",
  withinMs: 60_000,
  strike: async (world) => {
    const { marks, ledger } = world;
    const reader = await readerOf(world);
    await reader.kill();
    const killedMs = performance.now();
    // The first checkpoint that the killed process cannot have read.
    const next = ledger.newest() + 1n;
    await until(
      `checkpoint ${next} in every pipeline, by the standby`,
      () => marks.lowest(),
      (lowest) => lowest > next,
      TAKE_OVER_MS - (performance.now() - killedMs),
    );
    return { what: reader.name, end: async () => undefined };
  },
};

export const processKinds: readonly FaultKind[] = [killedReader];
