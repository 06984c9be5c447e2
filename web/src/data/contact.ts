/** Whether the service answers this page, and since when not. */
import { useSyncExternalStore } from "react";
import { createStore } from "./store.ts";

type Contact = {
  /** When the service answered last, milliseconds; null before the first answer. */
  readonly heardMs: number | null;
  /** When a request first failed to get an answer, milliseconds; null while they are answered. */
  readonly lostMs: number | null;
};

const contact = createStore<Contact>({ heardMs: null, lostMs: null });

/** The service answered, with success or not. */
export const markAnswered = (nowMs = Date.now()): void =>
  contact.set({ heardMs: nowMs, lostMs: null });

/** A request got no answer. */
export const markUnanswered = (nowMs = Date.now()): void => {
  const now = contact.get();
  if (now.lostMs === null) contact.set({ ...now, lostMs: nowMs });
};

export const useContact = (): Contact => useSyncExternalStore(contact.watch, contact.get);

/** Calls back each time the service answers again after a loss; returns a function that stops it. */
export const onReturn = (back: () => void): (() => void) => {
  const isLost = () => contact.get().lostMs !== null;
  let lost = isLost();
  return contact.watch(() => {
    const returned = lost && !isLost();
    lost = isLost();
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
