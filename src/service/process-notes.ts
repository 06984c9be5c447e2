/** Tells other processes that this one is alive and what troubles it (`process_notes`), and counts the same. */
import { hostname } from "node:os";
import type { SignerTrouble } from "../audit/sequence/outside-signer.ts";
import type { Database } from "../database/connect.ts";
import { isUnreachable } from "../database/database-error.ts";
import { boundedLook } from "../http/bounded-look.ts";
import { NO_DATABASE } from "../http/health/health.ts";
import type { Trouble } from "../http/health/progress.ts";
import type { Queues } from "../lanes/queues.ts";
import { forgetGone, forgetProcess, noteProcess, type ProcessSaid } from "../log/process-notes.ts";
import type { Figures } from "../telemetry/figures.ts";
import { onlyPlaces } from "../values/place.ts";
import { awakeMs } from "../waiting/awake.ts";
import { pause } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { errorOf } from "../waiting/remedy.ts";

/** Disposing of it removes what was said: the process ends in order. */
export type ProcessNotes = AsyncDisposable & {
  /** Looks after the queues of this process from now on. */
  watchQueues(queues: Queues): void;
  /** Asks from now on why nothing is signed with the deployment's key; undefined while it is. */
  watchSigning(trouble: () => SignerTrouble | undefined): void;
  /** What the signers of this process still pay for. */
  saySigners(signers: ProcessSaid["signers"]): void;
  /** Why nothing can be written to the database; undefined while it can. */
  unwritable(): Trouble | undefined;
};

/** Between two notes. */
const NOTE_EVERY_MS = 5_000;

/** Without a note written for so long the database takes none. */
const UNWRITTEN_MS = 15_000;

/** The size of a database is read off its files: not with each note. Who is gone is looked for as often. */
const SIZE_EVERY_MS = 60_000;

/** A database that is gone must not keep a process from ending. */
const LAST: Deadline = { ms: 2_000 };

/** Begins at once. Nothing it does ever rejects: a database that is away shows where it is needed. */
export const keepProcessNotes = (
  { sql }: Pick<Database, "sql">,
  figures: Figures,
  everyMs: number = NOTE_EVERY_MS,
): ProcessNotes => {
  const own = { id: crypto.randomUUID(), pid: process.pid, host: hostname() };
  const ending = new AbortController();
  let queues: Queues | undefined;
  let signers: ProcessSaid["signers"] = [];
  let signing: () => SignerTrouble | undefined = () => undefined;
  let writtenMs = awakeMs();
  let refused: Error | undefined;
  const queueLook = boundedLook(async () => queues?.look(), awakeMs);

  const queueSaid = async (): Promise<ProcessSaid["queue"]> => {
    if (queues === undefined) return null;
    const { backend } = queues;
    const { trouble } = await queueLook();
    figures.set("holderbook_queue_up", { backend }, trouble === undefined ? 1 : 0);
    return { backend, lostMs: trouble === undefined ? null : awakeMs() - trouble.sinceMs };
  };

  const note = async () => {
    const saying = { queue: await queueSaid(), signers, signing: signing() ?? null };
    const beganMs = Date.now();
    const clockMs = await noteProcess(sql, own, saying);
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
      // Now, and not with the next note: until then nothing shows whether it works.
      void queueSaid();
    },
    watchSigning: (given) => {
      signing = given;
    },
    saySigners: (given) => {
      signers = given;
    },
    unwritable: () => {
      if (unwrittenMs() < UNWRITTEN_MS) return undefined;
      const why = refused === undefined ? "" : `: ${shownReason(refused)}`;
      const reason = `the database takes no writes${why}`;
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
    // Another user's is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/**
 * Of URLs only scheme and host, since the rest may hold a provider's key; of a database that is out of reach nothing
 * but that, since the driver's words may name hosts and users. The log has the whole.
 */
export const shownReason = (error: unknown): string =>
  isUnreachable(error) ? NO_DATABASE : onlyPlaces(errorOf(error).message);
