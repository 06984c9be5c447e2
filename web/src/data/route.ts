/** What a view's address is about, as `router.tsx` declares it. */
import { useMatches } from "@tanstack/react-router";

export type RouteAbout = {
  /** Whether the view shows one token. */
  readonly ofToken?: boolean;
  /** The parameter that holds the moment of what is shown: a moment in `at`, a bare number in `checkpoint`. */
  readonly moment?: "at" | "checkpoint";
  /** Whether it opens without a key. */
  readonly open?: boolean;
};

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    about?: RouteAbout;
  }
}

const NOTHING: RouteAbout = {};

export const useRoute = (): RouteAbout =>
  useMatches({ select: (matches) => matches.at(-1)?.staticData.about }) ?? NOTHING;
