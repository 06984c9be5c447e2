/**
 * Restarts the embedded Postgres when it exits unexpectedly: killed, out of memory, disk full. Its
 * journal restores every commit; connections reconnect.
 */
import { aborted } from "../../waiting/aborted.ts";
import { type Backoff, fullBackoffMs, pause } from "../../waiting/backoff.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { EmbeddedPostgresError } from "./postgres-process.ts";
import { type RunningServer, stopServer } from "./postgres-server.ts";

export type Restarts = {
  /** Delay from the second consecutive start on; the first has none. */
  readonly backoff: Backoff;
  /** Uptime in ms that resets the count of starts. */
  readonly healthyMs: number;
  /** Maximum consecutive starts, failed ones included. */
  readonly most: number;
};

/** About nine minutes in all: time to free disk space. */
const RESTARTS: Restarts = {
  backoff: { firstMs: 1_000, maxMs: 5_000 },
  healthyMs: 10 * 60_000,
  most: 110,
};

/** The cluster's files are gone. Restore them, then start the service. */
export class ClusterGoneError extends EmbeddedPostgresError {
  constructor(cluster: string) {
    super(`the files of Postgres are gone from ${cluster}`);
  }
}

export const keepRunning = (settings: {
  readonly server: RunningServer;
  /** @throws when it did not start; no server is left running */
  readonly start: (signal: AbortSignal) => Promise<RunningServer>;
  readonly notice: (message: string) => void;
  /** Called once, when it gives up. */
  readonly onLost: (error: EmbeddedPostgresError) => void;
  readonly restarts?: Partial<Restarts> | undefined;
}): {
  /** Stops the server or its start. Idempotent. */
  stop(): Promise<void>;
} => {
  const { start, notice, onLost } = settings;
  const restarts = { ...RESTARTS, ...settings.restarts };
  const stopping = new AbortController();
  const { signal } = stopping;
  const stopped = aborted(signal);
  let server = settings.server;
  let running = true;
  /** Consecutive. */
  let starts = 0;

  /** The next server; undefined when it gives up. */
  const again = async (): Promise<RunningServer | undefined> => {
    let happened = `Postgres (pid ${server.pid}) exited unexpectedly`;
    while (starts < restarts.most) {
      const pauseMs = starts === 0 ? 0 : fullBackoffMs(starts, restarts.backoff);
      starts += 1;
      notice(`${happened}; starting it again${pauseMs === 0 ? "" : ` in ${pauseMs / 1_000} s`}`);
      await pause(pauseMs, signal);
      if (signal.aborted) return undefined;
      try {
        const next = await start(signal);
        notice(`Postgres runs again (pid ${next.pid})`);
        return next;
      } catch (error) {
        if (signal.aborted) return undefined;
        happened = `Postgres could not be started: ${errorOf(error).message}`;
        if (error instanceof ClusterGoneError) break;
      }
    }
    onLost(
      new EmbeddedPostgresError(
        `${happened}; gave up after ${starts} consecutive starts: fix what postgres.log in DATA_DIR reports, then restart the service`,
      ),
    );
    return undefined;
  };

  const watch = async () => {
    for (;;) {
      const since = performance.now();
      await Promise.race([server.ended.then(() => (running = false)), stopped]);
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
      // After its exit the pid may belong to another program.
      if (running) await stopServer(server.pid);
    },
  };
};
