/** How much room the window has, for what cannot be left to style sheets. */
import { useSyncExternalStore } from "react";

/** In steps of the page's breakpoints, pixels: below 360, below 768, below 1400, and wider. */
export const WIDTHS = ["tiny", "phone", "desk", "wide"] as const;

export type Width = (typeof WIDTHS)[number];

const edges = [360, 768, 1400].map((pixels) => matchMedia(`(width >= ${pixels}px)`));

const widthNow = (): Width => WIDTHS[edges.filter(({ matches }) => matches).length] ?? "wide";

const watchWidth = (changed: () => void): (() => void) => {
  for (const edge of edges) edge.addEventListener("change", changed);
  return () => {
    for (const edge of edges) edge.removeEventListener("change", changed);
  };
};

export const useWidth = (): Width => useSyncExternalStore(watchWidth, widthNow);

/** Whether the window is a phone's. */
export const isPhone = (width: Width): boolean => width === "tiny" || width === "phone";
