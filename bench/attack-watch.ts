/** What a service takes and how far it is, seen from outside during an attack. */
import { setTimeout as delay } from "node:timers/promises";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import { readWatermarks } from "../src/projections/read-watermarks.ts";
import { lowest } from "../src/values/bigints.ts";
import { processesOf, residentMb, sharedMb } from "./attack-processes.ts";
import type { StartedService } from "./whole-service.ts";

/** The most that was seen since it was last taken. */
export type Seen = {
  /** Of our Node processes together, and of Postgres, MB. */
  readonly nodeMb: number;
  readonly postgresMb: number;
  /** Since the newest checkpoint that all pipelines have committed became available, milliseconds. */
  readonly ageMs: number;
  /** Times that another process took the place of the one that serves. */
  readonly restarts: number;
};

export type Watch = AsyncDisposable & {
  take(): Seen;
};

const LOOK_EVERY_MS = 100;
/** Looking at all pages of a Postgres takes it some time. */
const POSTGRES_EVERY = 10;

const NOTHING: Seen = { nodeMb: 0, postgresMb: 0, ageMs: 0, restarts: 0 };

/** Looks ten times a second until disposed of. */
export const watchService = (service: StartedService): Watch => {
  const ending = new AbortController();
  let seen = NOTHING;
  let served: number | undefined;

  const look = async (n: number) => {
    const { node, serving } = await processesOf(service.pid);
    const { ageMs } = await standingOf(service);
    const nodeMb = await residentMb(node);
    const postgresMb = n % POSTGRES_EVERY === 0 ? await sharedMb(service.postgresPid) : 0;
    const another = served !== undefined && serving !== undefined && serving !== served;
    served = serving ?? served;
    seen = {
      nodeMb: Math.max(seen.nodeMb, nodeMb),
      postgresMb: Math.max(seen.postgresMb, postgresMb),
      ageMs: Math.max(seen.ageMs, ageMs),
      restarts: seen.restarts + (another ? 1 : 0),
    };
  };
  const watch = async () => {
    for (let n = 0; !ending.signal.aborted; n += 1) {
      await look(n);
      await delay(LOOK_EVERY_MS);
    }
  };
  const watching = watch();
  // A failure is reported where the watch is disposed of.
  watching.catch(() => undefined);
  return {
    take: () => {
      const taken = seen;
      seen = NOTHING;
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await watching;
    },
  };
};

/** How far all of the reader and the pipelines are. */
export type Standing = {
  /** Checkpoint that the last of them expects. */
  readonly next: bigint;
  /** Age of the newest checkpoint that all have committed, milliseconds. */
  readonly ageMs: number;
};

/** Read from the database: what serves may be what is being looked into. */
export const standingOf = async ({ database }: Pick<StartedService, "database">) => {
  // Before asking, so that the time of asking is not counted.
  const now = Date.now();
  const { log, pipelines } = await readWatermarks(database.db, ledgerPipelines);
  const all = [log, ...pipelines];
  const least = ([first = 0n, ...others]: readonly bigint[]) => lowest(first, ...others);
  const standing: Standing = {
    next: least(all.map(({ next }) => next ?? 0n)),
    ageMs: now - Number(least(all.map(({ mark }) => mark?.timestampMs ?? 0n))),
  };
  return standing;
};
