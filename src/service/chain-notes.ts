/** Tells processes that do not read an EVM chain how it stands (`evm_chain_notes`). */
import type { Database } from "../database/connect.ts";
import { noteChain } from "../evm/log/chain-notes.ts";
import type { ChainStanding } from "../http/health/evm-standing.ts";
import { pause } from "../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../waiting/deadline.ts";
import { followingAbort } from "../waiting/following-abort.ts";

export type ChainNotes = {
  /** Puts it down every few seconds until it is disposed of or `signal` aborts. Never rejects. */
  keep(signal: AbortSignal): AsyncDisposable;
  /** Puts it down a last time. Never rejects. */
  last(): Promise<void>;
};

/** Between two notes. */
const NOTE_EVERY_MS = 5_000;

/** Longest wait for a note at the end: a database that is gone must not keep a process from ending. */
const LAST_NOTE: Deadline = { ms: 2_000 };

export const openChainNotes = (
  database: Pick<Database, "sql">,
  chainId: number,
  standing: () => ChainStanding,
): ChainNotes => {
  const note = async () => {
    const { trouble, endpoints, doubts } = standing();
    await noteChain(database, { chainId, trouble, endpoints, doubts });
  };
  // A database that is away shows where it is needed; the next note comes soon.
  const ended = (noted: Promise<void>) => withinDeadline(noted, LAST_NOTE).catch(() => undefined);
  return {
    keep: (signal) => {
      const own = followingAbort(signal);
      const keeping = async () => {
        while (!own.signal.aborted) {
          await note().catch(() => undefined);
          await pause(NOTE_EVERY_MS, own.signal);
        }
      };
      const kept = keeping();
      return {
        [Symbol.asyncDispose]: async () => {
          own[Symbol.dispose]();
          await ended(kept);
        },
      };
    },
    last: () => ended(note()),
  };
};
