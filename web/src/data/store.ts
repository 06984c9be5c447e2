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

/** A text that the browser keeps for this tab or, without `tab`, for all. Where it forbids storage nothing is kept. */
export const kept = (place: string, { tab = false }: { readonly tab?: boolean } = {}) => {
  const storage = () => (tab ? sessionStorage : localStorage);
  return {
    get: (): string | null => unlessForbidden(() => storage().getItem(place)),
    set: (text: string) => unlessForbidden(() => storage().setItem(place, text)),
    remove: () => unlessForbidden(() => storage().removeItem(place)),
  };
};

const unlessForbidden = <Value>(act: () => Value): Value | null => {
  try {
    return act();
  } catch {
    return null;
  }
};
