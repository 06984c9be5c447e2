/** Whether the page is being printed: lists then draw all their rows, not only those in view. */
import { useSyncExternalStore } from "react";
import { flushSync } from "react-dom";
import { createStore } from "./store.ts";

const printing = createStore(false);

// The browser lays the print out as soon as the event is over.
const become = (now: boolean) => flushSync(() => printing.set(now));

const media = matchMedia("print");
media.addEventListener("change", () => become(media.matches));
addEventListener("beforeprint", () => become(true));
addEventListener("afterprint", () => become(false));

export const usePrinting = (): boolean => useSyncExternalStore(printing.watch, printing.get);
