/**
 * Starts the embedded Postgres again when it ends without being told to: killed, out of memory, or on a
 * full disk. Its journal brings back everything committed, and connections come back by themselves.
 */
import { aborted } from "../../waiting/aborted.ts";
import { type Backoff, fullBackoffMs, pause } from "../../waiting/backoff.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { EmbeddedPostgresError } from "./postgres-process.ts";
import { type RunningServer, stopServer } from "./postgres-server.ts";

/** When it is started again, and when no more; milliseconds. */
export type Restarts = {
  /** Before the second start in a row and those after it; the first is at once. */
  readonly backoff: Backoff;
  /** A server that ran this long has come to itself: what happens next is counted anew. */
  readonly healthyMs: number;
  /** Starts in a row, those that failed too; after them an operator is needed. */
  readonly most: number;
};

/** Nine minutes of pauses in all: long enough to make room on a disk. Then work goes on within seconds. */
const RESTARTS: Restarts = {
  backoff: { firstMs: 1_000, maxMs: 5_000 },
  healthyMs: 10 * 60_000,
  most: 110,
};

/** The cluster's files are gone: no start can succeed. Put them back, then start the service. */
export class ClusterGoneError extends EmbeddedPostgresError {
  constructor(cluster: string) {
    super(`the files of Postgres are gone from ${cluster}`);
  }
}

/** Keeps `server` running until told to stop. */
export const keepRunning = (settings: {
  readonly server: RunningServer;
  /** @throws why it did not come up, having left none behind */
  readonly start: (signal: AbortSignal) => Promise<RunningServer>;
  readonly notice: (message: string) => void;
  /** It is not started any more; told once. */
  readonly onLost: (error: EmbeddedPostgresError) => void;
  readonly restarts?: Partial<Restarts> | undefined;
}): {
  /** Ends the server, or starting it. Safe to call twice. */
  stop(): Promise<void>;
} => {
  const { start, notice, onLost } = settings;
  const restarts = { ...RESTARTS, ...settings.restarts };
  const stopping = new AbortController();
  const { signal } = stopping;
  const told = aborted(signal);
  let server = settings.server;
  let running = true;
  /** In a row. */
  let starts = 0;

  /** The next server; undefined when there is none any more. */
  const again = async (): Promise<RunningServer | undefined> => {
    let happened = `Postgres (pid ${server.pid}) ended by itself`;
    while (starts < restarts.most) {
      const pauseMs = starts === 0 ? 0 : fullBackoffMs(starts, restarts.backoff);
      starts += 1;
      notice(`${happened}; starting it again${pauseMs === 0 ? "" : ` in ${pauseMs / 1_000} s`}`);
      await pause(pauseMs, signal);
      if (signal.aborted) return undefined;
      try {
        return await start(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        happened = `Postgres could not be started: ${errorOf(error).message}`;
        if (error instanceof ClusterGoneError) break;
      }
    }
    onLost(
      new EmbeddedPostgresError(
        `${happened}; it is not started any more (${starts} tries in a row): mend what postgres.log in DATA_DIR says, then start the service again`,
      ),
    );
    return undefined;
  };

  const watch = async () => {
    for (;;) {
      const since = performance.now();
      await Promise.race([server.ended.then(() => (running = false)), told]);
      if (signal.aborted) return;
      if (performance.now() - since >= restarts.healthyMs) starts = 0;
      const next = await again();
      if (next === undefined) return;
      server = next;
      running = true;
    }
  };
  const watching = watch();
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      // Of one that has ended the number may be another program's by now.
      if (running) await stopServer(server.pid);
    },
  };
};
