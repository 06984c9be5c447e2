/**
 * Parts of the page that its first view does not need, each a chunk of its own. All are loaded after the first view, so
 * that other views open while the service is away. A failed part is retried; a reload would lose the key.
 */
import { useEffect, useSyncExternalStore } from "react";
import { markAnswered, markUnanswered, pause } from "./contact.ts";
import { createStore } from "./store.ts";

type PartState<Module> =
  | { readonly state: "waiting" }
  | { readonly state: "loaded"; readonly module: Module }
  /** Retried automatically. `replaced`: the service has a newer page, whose parts have other names. */
  | { readonly state: "failed"; readonly replaced: boolean };

export const REPLACED =
  "The service has a newer version of this page. Reload it; you will be asked for the key again.";

/** A part could not be loaded, and is retried: keep the page open, and try again in a moment. */
export class PartError extends Error {
  override readonly name = "PartError";
  constructor(replaced: boolean) {
    super(
      replaced
        ? REPLACED
        : "A part of this page could not be loaded. The page keeps trying: leave it open, and try again in a moment.",
    );
  }
}

export type Part<Module> = {
  /** @throws PartError */
  load(): Promise<Module>;
  /** Retries now. */
  again(): void;
  get(): PartState<Module>;
  watch(watcher: () => void): () => void;
};

/** First and longest pause between attempts, milliseconds. */
const AGAIN_MS = 1_000;
const AGAIN_MOST_MS = 15_000;

const all = new Set<{ load(): Promise<unknown> }>();
let begun = false;

/** Declares a part: `part(() => import("./x.ts"))`. It is loaded on use, or with all others. */
export const part = <Module>(load: () => Promise<Module>): Part<Module> => {
  const { get, set, watch } = createStore<PartState<Module>>({ state: "waiting" });
  let loading: Promise<Module> | undefined;
  let failures = 0;
  let resting = false;
  const attempt = async (): Promise<Module> => {
    try {
      const module = await load();
      set({ state: "loaded", module });
      return module;
    } catch {
      const replaced = await isReplaced();
      loading = undefined;
      set({ state: "failed", replaced });
      void rest();
      throw new PartError(replaced);
    }
  };
  const rest = async () => {
    if (resting) return;
    resting = true;
    await pause(Math.min(AGAIN_MS * 2 ** failures, AGAIN_MOST_MS));
    failures += 1;
    resting = false;
    one.again();
  };
  const one: Part<Module> = {
    load: () => {
      loading ??= attempt();
      return loading;
    },
    again: () => void one.load().catch(() => undefined),
    get,
    watch,
  };
  all.add(one);
  // A part of a part is declared when the outer one is loaded.
  if (begun) one.again();
  return one;
};

/** Loads all parts. The mark ends what counts as the first view. */
export const loadRest = (): void => {
  if (begun) return;
  begun = true;
  performance.mark("first view");
  for (const one of all) void one.load().catch(() => undefined);
};

/** Whether the service has another build of the page now; false when it does not answer. */
export const isReplaced = async (): Promise<boolean> => {
  const own = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  if (own === null) return false;
  try {
    const answer = await fetch("/", { headers: { accept: "text/html" }, cache: "no-store" });
    const text = await answer.text();
    const isPage = answer.ok && text.includes('id="page"');
    if (isPage) markAnswered();
    return isPage && !text.includes(new URL(own.src).pathname);
  } catch {
    markUnanswered();
    return false;
  }
};

/** The state of a part; loads it. */
export const usePart = <Module>(one: Part<Module>): PartState<Module> => {
  useEffect(() => one.again(), [one]);
  return useSyncExternalStore(one.watch, one.get);
};
