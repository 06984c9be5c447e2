/** Watches a source: asks for the newest checkpoint, records whether it answers (`log_source`). */
import type { Database } from "../../database/connect.ts";
import { noteSource } from "../../log/log-source.ts";
import { placeOf } from "../../values/place.ts";
import { pause } from "../../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { reporting, type SourceContact, wordsOf } from "../sources/source-contact.ts";
import type { ProgressKeeper } from "./progress.ts";
import { isOfSource } from "./source-trouble.ts";

type WatchedSource = {
  readonly source: CheckpointSource;
  readonly contact: SourceContact;
};

/** Asks for the newest checkpoint besides the reader, so that a lost source is always noticed. */
export const watchTip = async (
  { source, contact }: WatchedSource,
  { everyMs, onTip }: { readonly everyMs: number; readonly onTip: (newest: bigint | null) => void },
  signal: AbortSignal,
): Promise<void> => {
  contact.asked();
  while (!signal.aborted) {
    try {
      onTip(await reporting(contact, source.latest(signal), signal));
    } catch {
      // Reading fails for the same reason and reports it.
    }
    await pause(everyMs, signal);
  }
};

/** The chain's id. It does not prove contact: with several sources, another one may have given it earlier. */
export const askChainId = ({ source, contact }: WatchedSource, signal: AbortSignal) =>
  ask(contact, () => source.chainId(signal), signal);

/** The checkpoint that published a package; null when unknown. */
export const askPublication = async (
  { source, contact }: WatchedSource,
  address: string,
  signal: AbortSignal,
): Promise<bigint | null> =>
  ask(contact, async () => (await source.publishedAt?.(address, signal)) ?? null, signal);

const ask = async <Answer>(
  contact: SourceContact,
  question: () => Promise<Answer | null>,
  signal: AbortSignal,
): Promise<Answer | null> => {
  try {
    return await question();
  } catch (error) {
    if (!signal.aborted) contact.failed(error);
    throw error;
  }
};

type SourceNotes = {
  /** Writes a note every few seconds until `signal` aborts. */
  keep(signal: AbortSignal): Promise<void>;
  /** Writes a note now. Never rejects. */
  put(): Promise<void>;
  /** Records that this reader gave up. */
  gaveUp(reason: Error): Promise<void>;
};

/** Missed notes after which a reader counts as gone. */
const MISSED_NOTES = 6;

/** A lost database must not block shutdown. */
const LAST_NOTE: Deadline = { ms: 2_000 };

/** @param everyMs interval of notes */
export const openSourceNotes = (
  database: Pick<Database, "sql">,
  { source, contact }: WatchedSource,
  progress: Pick<ProgressKeeper, "now">,
  everyMs: number,
): SourceNotes => {
  const reader = crypto.randomUUID();
  const note = (gaveUp: boolean) => {
    const { state, error } = progress.now();
    const said = contact.now();
    // A reading error stays although single requests succeed.
    const trouble = isOfSource(error) ? wordsOf(error) : null;
    return noteSource(
      database.sql,
      {
        source: placeOf(source.description),
        reader,
        reading: state === "reading" && trouble === null,
        gaveUp,
        ...said,
        error: said.error ?? trouble,
      },
      MISSED_NOTES * everyMs,
    ).catch(() => {
      // A lost database is reported elsewhere; the next note follows soon.
    });
  };
  return {
    put: () => note(false),
    keep: async (signal) => {
      while (!signal.aborted) {
        await note(false);
        await pause(everyMs, signal);
      }
    },
    gaveUp: async (reason) => {
      contact.failed(reason);
      await withinDeadline(note(true), LAST_NOTE).catch(() => undefined);
    },
  };
};
