/**
 * Notes for other processes that this one is alive, with its troubles (`process_notes`), and
 * metrics.
 */
import { hostname } from "node:os";
import type { SignerTrouble } from "../audit/sequence/outside-signer.ts";
import type { Database } from "../database/connect.ts";
import { isUnreachable } from "../database/database-error.ts";
import { NO_DATABASE } from "../http/health/health.ts";
import type { Trouble } from "../http/health/progress.ts";
import type { Queues } from "../lanes/queues.ts";
import { forgetGone, forgetProcess, noteProcess, type ProcessState } from "../log/process-notes.ts";
import type { Figures } from "../telemetry/figures.ts";
import { type BulkProgress, NO_BULK } from "../values/bulk-progress.ts";
import { onlyPlaces } from "../values/place.ts";
import { awakeMs } from "../waiting/awake.ts";
import { pause } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { createProbe } from "../waiting/probe.ts";
import { errorOf } from "../waiting/remedy.ts";

/** Disposal removes the note: the process ends in order. */
export type ProcessNotes = AsyncDisposable & {
  watchQueues(queues: Queues): void;
  /** Polls why signing with the deployment's key fails; undefined while it works. */
  watchSigning(trouble: () => SignerTrouble | undefined): void;
  /** Polls how far the reading of a far range is. */
  watchBulk(progress: () => BulkProgress): void;
  /** Notes the transactions that this process's signers can pay for. */
  noteSigners(signers: ProcessState["signers"]): void;
  /** Notes the assets that this process runs with, now. */
  noteAssets(assets: ProcessState["assets"]): void;
  /** Why writes to the database fail; undefined while they work. */
  unwritable(): Trouble | undefined;
};

const NOTE_EVERY_MS = 5_000;

/** After this long without a successful note the database counts as unwritable. */
const UNWRITTEN_MS = 15_000;

/** The database's size is read from its files, and dead processes are looked for, less often. */
const SIZE_EVERY_MS = 60_000;

/** Bounds the end of the process while the database is gone. */
const LAST: Deadline = { ms: 2_000 };

/** Starts writing notes. Never rejects: other code reports an unavailable database. */
export const keepProcessNotes = (
  { sql }: Pick<Database, "sql">,
  figures: Figures,
  everyMs: number = NOTE_EVERY_MS,
): ProcessNotes => {
  const own = { id: crypto.randomUUID(), pid: process.pid, host: hostname() };
  const ending = new AbortController();
  let queues: Queues | undefined;
  let signers: ProcessState["signers"] = [];
  let assets: ProcessState["assets"];
  let signing: () => SignerTrouble | undefined = () => undefined;
  let bulk: () => BulkProgress = () => NO_BULK;
  let writtenMs = awakeMs();
  let refused: Error | undefined;
  const queueProbe = createProbe(async () => queues?.ping(), awakeMs);

  const queueState = async (): Promise<ProcessState["queue"]> => {
    if (queues === undefined) return null;
    const { backend } = queues;
    const { trouble } = await queueProbe();
    figures.set("holderbook_queue_up", { backend }, trouble === undefined ? 1 : 0);
    return { backend, lostMs: trouble === undefined ? null : awakeMs() - trouble.sinceMs };
  };

  const note = async () => {
    const queue = await queueState();
    const state = { queue, signers, signing: signing() ?? null, assets, ...bulk() };
    const beganMs = Date.now();
    const clockMs = await noteProcess(sql, own, state);
    writtenMs = awakeMs();
    refused = undefined;
    const midMs = (beganMs + Date.now()) / 2;
    figures.set("holderbook_clock_ahead_seconds", {}, (midMs - clockMs) / 1_000);
  };

  const measure = async () => {
    const [row] = await sql<{ bytes: string }[]>`
      select pg_database_size(current_database())::text as bytes`;
    if (row !== undefined) figures.set("holderbook_database_bytes", {}, Number(row.bytes));
  };

  const keep = async (work: () => Promise<void>, pauseMs: number) => {
    while (!ending.signal.aborted) {
      await work().catch((error: unknown) => {
        refused = errorOf(error);
      });
      await pause(pauseMs, ending.signal);
    }
  };

  const unwrittenMs = () => awakeMs() - writtenMs;
  figures.beforeLook(() =>
    figures.set("holderbook_database_writable", {}, unwrittenMs() < UNWRITTEN_MS ? 1 : 0),
  );
  const kept = Promise.all([
    keep(note, everyMs),
    keep(() => measure().catch(() => undefined), SIZE_EVERY_MS),
    keep(() => forgetGone(sql, own, isRunning).catch(() => undefined), SIZE_EVERY_MS),
  ]);
  return {
    watchQueues: (given) => {
      queues = given;
      // Now rather than with the next note: its state is unknown until then.
      void queueState();
    },
    watchSigning: (given) => {
      signing = given;
    },
    watchBulk: (given) => {
      bulk = given;
    },
    noteSigners: (given) => {
      signers = given;
    },
    noteAssets: (given) => {
      assets = given;
      void note().catch(() => undefined);
    },
    unwritable: () => {
      if (unwrittenMs() < UNWRITTEN_MS) return undefined;
      const why = refused === undefined ? "" : `: ${shownReason(refused)}`;
      const reason = `the database accepts no writes${why}`;
      return { gaveUp: false, reason, sinceMs: Date.now() - unwrittenMs() };
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      const forgotten = kept.then(() => forgetProcess(sql, own.id));
      await withinDeadline(forgotten, LAST).catch(() => undefined);
    },
  };
};

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/**
 * Shortens URLs to scheme and host, because the rest may hold a provider's key, and hides the
 * driver's message, which may name hosts and users. The log has the whole.
 */
export const shownReason = (error: unknown): string =>
  isUnreachable(error) ? NO_DATABASE : onlyPlaces(errorOf(error).message);
