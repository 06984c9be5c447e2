/** A service's resources and progress, seen from outside during an attack. */
import { setTimeout as delay } from "node:timers/promises";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import { readWatermarks } from "../src/projections/read-watermarks.ts";
import { lowest } from "../src/values/bigints.ts";
import { processesOf, residentMb, sharedMb } from "./attack-processes.ts";
import type { StartedService } from "./whole-service.ts";

/** Maxima since the last `take`. */
export type Seen = {
  /** All Node processes, and Postgres, MB. */
  readonly nodeMb: number;
  readonly postgresMb: number;
  /** Ms since the newest checkpoint committed by all pipelines became available. */
  readonly ageMs: number;
  /** Times that another serving process took over. */
  readonly restarts: number;
};

export type Watch = AsyncDisposable & {
  take(): Seen;
};

const LOOK_EVERY_MS = 100;
/** Reading a Postgres's pages is slow. */
const POSTGRES_EVERY = 10;

const NOTHING: Seen = { nodeMb: 0, postgresMb: 0, ageMs: 0, restarts: 0 };

/** Samples ten times a second until disposed of. */
export const watchService = (service: StartedService): Watch => {
  const ending = new AbortController();
  let seen = NOTHING;
  let served: number | undefined;

  const look = async (n: number) => {
    const { node, serving } = await processesOf(service.pid);
    const { ageMs } = await progressOf(service);
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
  // Disposal reports the failure.
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

export type Progress = {
  /** The next checkpoint of the slowest. */
  readonly next: bigint;
  /** Age of the newest checkpoint committed by all, ms. */
  readonly ageMs: number;
};

/** Read from the database, since the serving process may be under test. */
export const progressOf = async ({ database }: Pick<StartedService, "database">) => {
  // Before the query, so that its time is not counted.
  const now = Date.now();
  const { log, pipelines } = await readWatermarks(database.db, ledgerPipelines);
  const all = [log, ...pipelines];
  const least = ([first = 0n, ...others]: readonly bigint[]) => lowest(first, ...others);
  const progress: Progress = {
    next: least(all.map(({ next }) => next ?? 0n)),
    ageMs: now - Number(least(all.map(({ mark }) => mark?.timestampMs ?? 0n))),
  };
  return progress;
};
