/**
 * Keeps a process that serves beside this one, which indexes: an overload of the one is none of the
 * other. When it ends, another one takes its place, on the same port.
 */
import type { Snapshot } from "../../http/health/indexing-process.ts";
import type { Logger } from "../../logging/logger.ts";
import { ConfigError } from "../../settings/config-error.ts";
import { type Backoff, fullBackoffMs, pause } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { type Ended, type Life, launch } from "./launch.ts";
import type { Opening } from "./messages.ts";

/**
 * The process that serves could not begin, with its own words. Stop: correct what they name, such as a
 * PORT that another program has.
 */
export class ServingProcessError extends Error {
  override readonly name: string;
  readonly remedy: Remedy = "stop";

  constructor({ failure, code, signal }: Ended) {
    super(failure?.message ?? `the process that serves ended at its start (${signal ?? code})`);
    this.name = failure?.name ?? "ServingProcessError";
  }
}

/** Settings that only the process that serves finds wrong end the program as all others do. */
const failureOf = (ended: Ended): Error =>
  ended.failure?.settings === true
    ? new ConfigError(ended.failure.message)
    : new ServingProcessError(ended);

/** Stopping it lets requests under way end. */
type ServingProcess = AsyncDisposable & {
  /** Where it listens, `http://host:port`. */
  readonly url: string;
  /**
   * Has requests answered, which until then are all refused; resolves once they are.
   * @param look asked each second for what `/health` tells of this process
   * @throws ServingProcessError (stop)
   */
  open(opening: Opening, look: () => Omit<Snapshot, "restarts">): Promise<void>;
  /** Safe to call twice. */
  stop(): Promise<void>;
};

type KeepSettings = {
  readonly logger: Logger;
  /** Of the largest request that is taken: what it becomes must fit the heap. */
  readonly bodyBytes: number;
  /** Between two snapshots, milliseconds; a second unless given. */
  readonly snapshotEveryMs?: number;
};

/** Before another one is started. */
const BACKOFF: Backoff = { firstMs: 100, maxMs: 10_000 };

/** One that lived so long was well: the pauses begin again. */
const WELL_MS = 60_000;

const SNAPSHOT_EVERY_MS = 1_000;

/**
 * Starts the first one; resolves when it has its port.
 * @throws ServingProcessError (stop) when it cannot have it
 */
export const keepServing = async (settings: KeepSettings): Promise<ServingProcess> => {
  const { logger, bodyBytes, snapshotEveryMs = SNAPSHOT_EVERY_MS } = settings;
  const stopping = new AbortController();
  const opened = Promise.withResolvers<void>();
  // A caller that never opens it does not wait for it.
  opened.promise.catch(() => undefined);
  let wasOpen = false;
  let restarts = 0;
  let tellOf: (() => { readonly opening: Opening; readonly snapshot: Snapshot }) | undefined;

  let life = launch({ bodyBytes });
  const beginning = await Promise.race([life.listening, life.ended]);
  if (!("url" in beginning)) throw failureOf(beginning);
  const { url, port } = beginning;

  const openIt = (one: Life) => {
    if (tellOf === undefined) return;
    one.tell({ kind: "open", ...tellOf() });
    void one.opened.then(() => {
      wasOpen = true;
      opened.resolve();
    });
  };

  const born = (port: number): Life | undefined => {
    try {
      return launch({ bodyBytes, port });
    } catch (err) {
      logger.error({ err }, "no process that serves could be made; trying again");
      return undefined;
    }
  };

  const tend = async () => {
    for (let ends = 1; ; ends += 1) {
      const startedAt = performance.now();
      const ended = await life.ended;
      if (stopping.signal.aborted) return;
      if (!wasOpen && ended.failure?.passing === false) {
        opened.reject(failureOf(ended));
        return;
      }
      if (performance.now() - startedAt > WELL_MS) ends = 1;
      const pauseMs = fullBackoffMs(ends, BACKOFF);
      const { code, signal, failure } = ended;
      const reason = failure && `${failure.name}: ${failure.message}`;
      logger.error(
        { code, signal, reason, pauseMs },
        "the process that serves ended; starting another one, indexing goes on",
      );
      await pause(pauseMs, stopping.signal);
      if (stopping.signal.aborted) return;
      restarts += 1;
      const next = born(port);
      // No process to be had now: as one that ended at once.
      if (next === undefined) continue;
      life = next;
      void next.listening.then(() => openIt(next));
    }
  };
  const tended = tend();

  let timer: NodeJS.Timeout | undefined;
  const stop = async () => {
    stopping.abort();
    clearInterval(timer);
    await life.end();
    await tended;
  };
  return {
    url,
    open: async (opening, look) => {
      tellOf = () => ({ opening, snapshot: { ...look(), restarts } });
      openIt(life);
      timer = setInterval(() => {
        if (tellOf !== undefined) life.tell({ kind: "snapshot", snapshot: tellOf().snapshot });
      }, snapshotEveryMs);
      await opened.promise;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
};
