/** Whether the service answers this page, and since when not. */
import { useSyncExternalStore } from "react";

type Contact = {
  /** When the service answered last, milliseconds; null before the first answer. */
  readonly heardMs: number | null;
  /** When a request first failed to get an answer, milliseconds; null while they are answered. */
  readonly lostMs: number | null;
};

let contact: Contact = { heardMs: null, lostMs: null };
const watchers = new Set<() => void>();

const become = (next: Contact) => {
  contact = next;
  for (const watcher of [...watchers]) watcher();
};

/** The service answered, with success or not. */
export const heard = (nowMs = Date.now()): void => become({ heardMs: nowMs, lostMs: null });

/** A request got no answer. */
export const unheard = (nowMs = Date.now()): void => {
  if (contact.lostMs === null) become({ ...contact, lostMs: nowMs });
};

const watch = (watcher: () => void): (() => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

export const useContact = (): Contact => useSyncExternalStore(watch, () => contact);

/** Calls back each time the service answers again after a loss; returns a function that stops it. */
export const onReturn = (back: () => void): (() => void) => {
  let lost = contact.lostMs !== null;
  return watch(() => {
    const returned = lost && contact.lostMs === null;
    lost = contact.lostMs !== null;
    if (returned) back();
  });
};

/** Resolves after so many milliseconds, or as soon as the service answers again. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, ms);
    const stop = onReturn(end);
  });
