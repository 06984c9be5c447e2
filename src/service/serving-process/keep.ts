/**
 * Runs a serving process beside this indexing one, to isolate overload; restarts it on the same
 * port.
 */

import type { Logger } from "../../logging/logger.ts";
import { ConfigError } from "../../settings/config-error.ts";
import { type Backoff, fullBackoffMs, pause } from "../../waiting/backoff.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Snapshot } from "../health/snapshot.ts";
import { type Ended, type Life, launch } from "./launch.ts";
import type { Opening } from "./messages.ts";

/**
 * The serving process could not start. Stop: correct what its message names, such as a taken PORT.
 */
export class ServingProcessError extends Error {
  override readonly name: string;
  readonly remedy: Remedy = "stop";

  constructor({ failure, code, signal }: Ended) {
    super(failure?.message ?? `the process that serves ended at its start (${signal ?? code})`);
    this.name = failure?.name ?? "ServingProcessError";
  }
}

/** Faulty settings end the program like all others. */
const failureOf = (ended: Ended): Error =>
  ended.failure?.settings === true
    ? new ConfigError(ended.failure.message)
    : new ServingProcessError(ended);

/** Stopping it lets requests under way end. */
type ServingProcess = AsyncDisposable & {
  /** `http://host:port` */
  readonly url: string;
  /**
   * Opens the port for requests, which are refused before; resolves once they are answered.
   * @param look called each second for this process's part of `/health`
   * @throws ServingProcessError (stop)
   */
  open(opening: () => Opening, look: () => Omit<Snapshot, "restarts">): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
};

type KeepSettings = {
  readonly logger: Logger;
  /** Largest accepted request, which must fit the heap. */
  readonly bodyBytes: number;
  /** Interval of snapshots, milliseconds; a second by default. */
  readonly snapshotEveryMs?: number;
};

const BACKOFF: Backoff = { firstMs: 100, maxMs: 10_000 };

/** A process that lived this long resets the pauses. */
const WELL_MS = 60_000;

const SNAPSHOT_EVERY_MS = 1_000;

/**
 * Starts the first process; resolves when it has its port.
 * @throws ServingProcessError (stop) when it cannot have it
 */
export const keepServing = async (settings: KeepSettings): Promise<ServingProcess> => {
  const { logger, bodyBytes, snapshotEveryMs = SNAPSHOT_EVERY_MS } = settings;
  const stopping = new AbortController();
  const opened = Promise.withResolvers<void>();
  // Unhandled if `open` is never called.
  opened.promise.catch(() => undefined);
  let wasOpen = false;
  let restarts = 0;
  let currentState: (() => { readonly opening: Opening; readonly snapshot: Snapshot }) | undefined;

  let life = launch({ bodyBytes });
  const beginning = await Promise.race([life.listening, life.ended]);
  if (!("url" in beginning)) throw failureOf(beginning);
  const { url, port } = beginning;

  const openIt = (one: Life) => {
    if (currentState === undefined) return;
    one.tell({ kind: "open", ...currentState() });
    void one.opened.then(() => {
      wasOpen = true;
      opened.resolve();
    });
  };

  const born = (port: number): Life | undefined => {
    try {
      return launch({ bodyBytes, port });
    } catch (err) {
      logger.error({ err }, "cannot start the serving process; retrying");
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
        "the process that serves ended; starting another one while indexing continues",
      );
      await pause(pauseMs, stopping.signal);
      if (stopping.signal.aborted) return;
      restarts += 1;
      const next = born(port);
      // No process could be started: pause and try again.
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
      currentState = () => ({ opening: opening(), snapshot: { ...look(), restarts } });
      openIt(life);
      timer = setInterval(() => {
        if (currentState !== undefined)
          life.tell({ kind: "snapshot", snapshot: currentState().snapshot });
      }, snapshotEveryMs);
      await opened.promise;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
};
