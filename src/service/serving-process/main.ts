/**
 * The serving process of `start`: it binds the port first, and ends when the channel to `start`
 * closes.
 */
import { databaseRemedy, databaseRetries } from "../../database/database-error.ts";
import { createFront } from "../../http/edge/front.ts";
import { ConfigError } from "../../settings/config-error.ts";
import { aborted } from "../../waiting/aborted.ts";
import type { Backoff } from "../../waiting/backoff.ts";
import { retrying } from "../../waiting/retrying.ts";
import { type IndexingWatch, watchIndexing } from "../health/indexing-process.ts";
import { openProcess } from "../process.ts";
import { type FromServing, type Opening, toServing } from "./messages.ts";

/** Deadline of an orderly end; longer than requests are waited for. */
const END_WITHIN_MS = 13_000;

const tell = (message: FromServing): Promise<void> =>
  new Promise((resolve) => {
    // The parent is gone.
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, undefined, {}, () => resolve());
  });

const ending = new AbortController();
const end = () => {
  if (ending.signal.aborted) return;
  ending.abort();
  setTimeout(() => process.exit(1), END_WITHIN_MS).unref();
};
process.on("disconnect", end);
if (!process.connected) end();
process.on("SIGTERM", end);
// A terminal signals all processes; the indexing process decides when to end.
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);

const run = async (): Promise<void> => {
  const { config, logger, telemetry } = await openProcess("serving", { process: "serving" });
  await using _tracing = telemetry.tracing;
  const opened = Promise.withResolvers<{ opening: Opening; indexing: IndexingWatch }>();
  let indexing: IndexingWatch | undefined;
  process.on("message", (message) => {
    const received = toServing.parse(message);
    void tell({ kind: "alive" });
    if (indexing !== undefined) return indexing.take(received.snapshot);
    if (received.kind !== "open") return;
    indexing = watchIndexing(received.snapshot);
    opened.resolve({ opening: received.opening, indexing });
  });

  await using front = createFront({ logger });
  const url = await front.listen(config);
  await tell({ kind: "listening", url, port: front.port });
  // Loads while the parent opens the database: it takes longer than all of the above.
  const { serve } = await import("./serve.ts");
  const ended = aborted(ending.signal);
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => undefined);
  const open = await Promise.race([opened.promise, ended.then(() => undefined)]);
  if (open === undefined) return;
  await using _serving = await onceThereIsADatabase(
    () => serve({ config, logger, telemetry, front, ...open, giveUp: lost.reject }),
    (err) => logger.warn({ err }, "cannot serve yet; every request gets 503"),
  );
  if (ending.signal.aborted) return;
  await tell({ kind: "opened" });
  await Promise.race([ended, lost.promise]);
};

const AGAIN: Backoff = { firstMs: 1_000, maxMs: 1_000 };

/** Retries while the database is away; the port stays open. Undefined: the process is to end. */
const onceThereIsADatabase = (
  begin: () => Promise<AsyncDisposable>,
  tell: (error: Error) => void,
): Promise<AsyncDisposable | undefined> => {
  let reported = false;
  const onTrouble = (error: Error) => {
    if (!reported) tell(error);
    reported = true;
  };
  return retrying(begin, { backoff: AGAIN, ...databaseRetries, onTrouble }, ending.signal);
};

try {
  await run();
} catch (error) {
  if (!(error instanceof Error)) throw error;
  // The parent reports it.
  const passing = databaseRemedy(error) !== "stop";
  const { name, message } = error;
  const settings = error instanceof ConfigError;
  await tell({ kind: "failed", name, message, settings, passing });
  process.exitCode = 1;
}
if (process.connected) process.disconnect();
