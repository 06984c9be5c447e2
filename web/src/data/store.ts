/** Values outside of React: a store with watchers, and what this browser keeps. */

/** For `useSyncExternalStore(store.watch, store.get)`. */
export const createStore = <Value>(first: Value) => {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: (): Value => value,
    set: (next: Value): void => {
      value = next;
      for (const watcher of [...watchers]) watcher();
    },
    watch: (watcher: () => void): (() => void) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
};

/** A text in `localStorage`. Where the browser forbids storage nothing is kept. */
export const kept = (place: string) => ({
  get: (): string | null => unlessForbidden(() => localStorage.getItem(place)),
  set: (text: string) => unlessForbidden(() => localStorage.setItem(place, text)),
  remove: () => unlessForbidden(() => localStorage.removeItem(place)),
});

const unlessForbidden = <Value>(act: () => Value): Value | null => {
  try {
    return act();
  } catch {
    return null;
  }
};
