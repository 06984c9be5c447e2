/** Every page and its address. The address holds what a page shows, so that it can be shared. */
import { createRootRoute, createRoute, createRouter, Link } from "@tanstack/react-router";
import { Loading } from "./blocks/answered.tsx";
import { Empty } from "./blocks/blocks.tsx";
import { Broken, view } from "./blocks/view.tsx";
import { isMoment } from "./data/moment.ts";
import type { RouteAbout } from "./data/route.ts";
import { Layout } from "./shell/layout.tsx";

/** Text of a search parameter; numbers in an address are read as numbers. */
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;

/** Parameters that are moments: unix seconds, or `c` and a checkpoint. */
const MOMENTS: ReadonlySet<string> = new Set(["at", "with"]);
/** Parameters in unix seconds. */
const TIMES: ReadonlySet<string> = new Set(["since"]);

const isValid = (name: string, value: string): boolean =>
  MOMENTS.has(name) || TIMES.has(name)
    ? isMoment(value) && (MOMENTS.has(name) || !value.startsWith("c"))
    : true;

/** The valid parameters among the given ones. */
const given = <Names extends string>(
  search: Record<string, unknown>,
  names: readonly Names[],
): { [Name in Names]?: string } => {
  const found: { [Name in Names]?: string } = {};
  for (const name of names) {
    const value = text(search[name]);
    if (value !== undefined && isValid(name, value)) found[name] = value;
  }
  return found;
};

/** What a view's table shows: order, columns, the text of its search. */
const TABLE = ["sort", "columns", "find"] as const;

const root = createRootRoute({
  component: Layout,
  validateSearch: (search: Record<string, unknown>) => given(search, ["token"]),
  notFoundComponent: () => (
    <Empty title="Page not found">
      <Link to="/" className="text-accent underline">
        Go to Today
      </Link>
    </Empty>
  ),
});

/** A page, with the parameters of its search. */
const page = <const Path extends string, const Name extends string = never>({
  path,
  search: names = [],
  about,
  load,
}: {
  readonly path: Path;
  readonly search?: readonly Name[];
  readonly about?: RouteAbout;
  readonly load: Parameters<typeof view>[0];
}) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search: Record<string, unknown>) => given(search, [...names, ...TABLE]),
    ...(about !== undefined && { staticData: { about } }),
    component: view(load),
  });

const routeTree = root.addChildren([
  page({
    path: "/",
    search: ["since"],
    about: { ofToken: true },
    load: () => import("./pages/today/page.tsx"),
  }),
  page({
    path: "/status",
    // `pipeline`: whose lag is drawn.
    search: ["pipeline"],
    load: () => import("./pages/status/page.tsx"),
  }),
  page({
    path: "/cap-table",
    // `at`, `with`: two moments to compare; `show`: the view; `only`: a filter of rows.
    search: ["at", "with", "show", "only"],
    about: { ofToken: true, moment: "at" },
    load: () => import("./pages/cap-table/page.tsx"),
  }),
  // A holder's number, or a wallet's address.
  page({
    path: "/holder/$holder",
    search: ["at"],
    about: { ofToken: true, moment: "at" },
    load: () => import("./pages/holder/page.tsx"),
  }),
  page({
    path: "/wallet/$address",
    search: ["at"],
    about: { moment: "at" },
    load: () => import("./pages/wallet/page.tsx"),
  }),
  page({
    path: "/movements",
    // `from`, `to`: days.
    search: ["kind", "wallet", "order", "from", "to"],
    about: { ofToken: true },
    load: () => import("./pages/movements/page.tsx"),
  }),
  page({
    path: "/roles",
    search: ["at"],
    about: { ofToken: true, moment: "at" },
    load: () => import("./pages/roles/page.tsx"),
  }),
  page({
    path: "/proof",
    search: ["checkpoint"],
    about: { ofToken: true, moment: "checkpoint" },
    load: () => import("./pages/proof/page.tsx"),
  }),
  page({
    path: "/transaction/$digest",
    load: () => import("./pages/transaction/page.tsx"),
  }),
  page({
    path: "/check",
    about: { open: true },
    load: () => import("./pages/check/page.tsx"),
  }),
  page({
    path: "/requests",
    // `after`: the cursor of the page; `wallet`, `id`: what is looked for; `days`: of the chart.
    search: ["status", "asset", "after", "wallet", "id", "days"],
    load: () => import("./pages/requests/page.tsx"),
  }),
  page({ path: "/requests/$id", load: () => import("./pages/request/page.tsx") }),
  page({
    path: "/deliveries",
    // `delivery`: opens its attempts.
    search: ["state", "receiver", "after", "delivery"],
    load: () => import("./pages/deliveries/page.tsx"),
  }),
  page({ path: "/tour", search: ["tour"], load: () => import("./pages/tour/page.tsx") }),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading lines={6} />,
  defaultErrorComponent: Broken,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
  interface HistoryState {
    /** Of Requests: the investor looked for. In no address, because servers on the way may log those. */
    investor?: string | undefined;
  }
}
