/**
 * What a reader does about its source beside reading it: it looks at the chain's newest checkpoint now
 * and then, and puts down whether the source answers (`log_source`).
 */
import type { Database } from "../../database/connect.ts";
import { noteSource } from "../../log/log-source.ts";
import { placeOf } from "../../values/place.ts";
import { pause } from "../../waiting/backoff.ts";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import type { CheckpointSource } from "../sources/source.ts";
import { heard, type SourceContact, wordsOf } from "../sources/source-contact.ts";
import type { ProgressKeeper } from "./progress.ts";
import { isOfSource } from "./source-trouble.ts";

/** A source and how it answers. */
export type WatchedSource = {
  readonly source: CheckpointSource;
  readonly contact: SourceContact;
};

/**
 * Looks at the newest checkpoint every `everyMs`; a look that fails is left to the next one. As it waits
 * for nothing but the source, a source that is gone is noticed whatever else the reader does.
 */
export const watchTip = async (
  { source, contact }: WatchedSource,
  { everyMs, onTip }: { readonly everyMs: number; readonly onTip: (newest: bigint | null) => void },
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    // Until it is answered: after a failure the question is due while the next look is waited for.
    using question = contact.asking();
    try {
      onTip(await heard(contact, source.latest(signal), signal));
      question[Symbol.dispose]();
    } catch {
      // What keeps the source from answering stops reading too, and is reported there.
    }
    await pause(everyMs, signal);
  }
};

/** The chain's id; null is no answer, for such a source was not asked. */
export const askChainId = ({ source, contact }: WatchedSource, signal: AbortSignal) =>
  ask(contact, () => source.chainId(signal), signal);

/** The checkpoint that published a package; null when the source cannot tell. */
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
  using _question = contact.asking();
  try {
    const answer = await question();
    if (answer !== null) contact.answered();
    return answer;
  } catch (error) {
    if (!signal.aborted) contact.failed(error);
    throw error;
  }
};

/** A reader's word on its source. */
export type SourceNotes = {
  /** Puts it down every few seconds until `signal` aborts. */
  keep(signal: AbortSignal): Promise<void>;
  /** Puts it down now: something has changed. Never rejects. */
  put(): Promise<void>;
  /** Puts down that this reader gave up. */
  gaveUp(reason: Error): Promise<void>;
};

/** A reader that missed this many of its notes is not heard of any more. */
const MISSED_NOTES = 6;

/** Longest wait for the last note: a database that is gone must not keep a process from ending. */
const LAST_NOTE: Deadline = { ms: 2_000 };

/** @param everyMs between two notes */
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
    // What keeps it from reading on stands although single questions are answered meanwhile.
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
      // A database that is away shows where it is needed; the next note comes soon.
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
