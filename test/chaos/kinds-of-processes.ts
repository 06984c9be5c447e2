/** Processes that are killed, or stand still. */
import { setTimeout as delay } from "node:timers/promises";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { until } from "../lanes/until.ts";
import type { FaultKind } from "./fault.ts";
import { oneOf } from "./lasting.ts";
import type { World } from "./world.ts";

/** What a standby has for everything that the killed process did. */
const TAKE_OVER_MS = 5_000;
/** A lane's lease is 20 s, and no other is longer. */
const LONGER_THAN_LEASES_MS = 22_000;
/** A process starts, and reads what the killed one had under way. */
const WITHIN_MS = 60_000;

/** The log and every pipeline have one each. */
const WRITERS = 1 + ledgerPipelines.length;

const nothing = async () => undefined;

type Indexing = World["processes"]["start"];

/** Waits until a process holds the lock of every writer, or asks for it. */
const isReady = ({ writersOf }: World, process: Indexing) =>
  until(
    `a writer or standby of ${process.name} for everything`,
    () => writersOf(process),
    (writers) => writers >= WRITERS,
    WITHIN_MS,
  );

/** The process that reads, and the one beside it, ready to take over. */
const readerOf = async (world: World) => {
  const { start, index } = world.processes;
  const found = await until(
    "a reader",
    () => world.holder("log"),
    (holder) => holder !== undefined,
    WITHIN_MS,
  );
  const [reader, standby] = found === start ? [start, index] : [index, start];
  await isReady(world, standby);
  return { reader, standby };
};

/** Waits until every pipeline has a checkpoint that was made after now. */
const takeOver = async ({ marks, ledger }: World) => {
  const next = ledger.newest() + 1n;
  await until(
    `checkpoint ${next} in every pipeline, by the standby`,
    () => `${marks.lowest()}`,
    (lowest) => BigInt(lowest) > next,
    TAKE_OVER_MS,
  );
};

const killedReader: FaultKind = {
  name: "kill -9 of the reader",
  withinMs: WITHIN_MS,
  strike: async (world) => {
    const { reader } = await readerOf(world);
    await reader.kill();
    await takeOver(world);
    return { what: reader.name, end: nothing };
  },
};

const killedStandby: FaultKind = {
  name: "kill -9 of the standby and its workers",
  withinMs: WITHIN_MS,
  strike: async (world) => {
    const { standby } = await readerOf(world);
    await standby.kill();
    await takeOver(world);
    return { what: standby.name, end: nothing };
  },
};

const killedBoth: FaultKind = {
  name: "kill -9 of both indexing processes",
  withinMs: WITHIN_MS,
  strike: async ({ processes: { start, index } }) => {
    await Promise.all([start.kill(), index.kill()]);
    return { what: "start and index", end: nothing };
  },
};

const killedApi: FaultKind = {
  name: "kill -9 of the API",
  withinMs: WITHIN_MS,
  strike: async ({ processes: { serve } }) => {
    await serve.kill();
    return { what: "serve", end: nothing };
  },
};

const killedServing: FaultKind = {
  name: "kill -9 of the process that serves under start",
  withinMs: WITHIN_MS,
  strike: async ({ processes: { start } }) => {
    process.kill(await start.serving(), "SIGKILL");
    return { what: "serving process of start", end: nothing };
  },
};

const killedTree: FaultKind = {
  name: "kill -9 of a command and all of its processes",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { start, index, serve } = world.processes;
    const one = oneOf(random, start, index, serve);
    await one.worker();
    await one.killAll();
    return { what: one.name, end: nothing };
  },
};

const anotherIndexer: FaultKind = {
  name: "a third indexing process, then kill -9 of the others",
  withinMs: WITHIN_MS,
  strike: async (world) => {
    const { start, index } = world.processes;
    const another = await world.runAnother();
    try {
      await isReady(world, another);
      await Promise.all([start.kill(), index.kill()]);
      await takeOver(world);
    } finally {
      await another[Symbol.asyncDispose]();
    }
    return { what: "start and index", end: nothing };
  },
};

const stopped = (which: "reader" | "standby"): FaultKind => ({
  name: `SIGSTOP of the ${which} for longer than every lease`,
  isLong: true,
  withinMs: WITHIN_MS,
  strike: async (world) => {
    const process = (await readerOf(world))[which];
    await process.signal("SIGSTOP");
    await delay(LONGER_THAN_LEASES_MS);
    return { what: process.name, end: () => process.signal("SIGCONT") };
  },
});

/** Those that may strike whatever else does. */
export const processCrashes: readonly FaultKind[] = [
  killedBoth,
  killedApi,
  killedServing,
  killedTree,
];

export const processKinds: readonly FaultKind[] = [
  killedReader,
  killedStandby,
  ...processCrashes,
  anotherIndexer,
  stopped("reader"),
  stopped("standby"),
];
