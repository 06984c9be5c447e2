/** Every page and its address. The address holds what a page shows, so that it can be shared. */
import { createRootRoute, createRoute, createRouter, Link } from "@tanstack/react-router";
import { Loading } from "./blocks/answered.tsx";
import { Empty } from "./blocks/blocks.tsx";
import { Broken, view } from "./blocks/view.tsx";
import { Layout } from "./shell/layout.tsx";

/** Text of a search parameter; numbers in an address are read as numbers. */
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;

/** Parameters in unix seconds. */
const TIMES: ReadonlySet<string> = new Set(["at", "since", "with"]);

const isTime = (value: string): boolean => /^\d{1,13}$/.test(value) && Number(value) <= 8.64e12;

/** The valid parameters among the given ones. */
const given = <Names extends string>(
  search: Record<string, unknown>,
  names: readonly Names[],
): { [Name in Names]?: string } => {
  const found: { [Name in Names]?: string } = {};
  for (const name of names) {
    const value = text(search[name]);
    if (value !== undefined && (!TIMES.has(name) || isTime(value))) found[name] = value;
  }
  return found;
};

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

const getParentRoute = () => root;

const routeTree = root.addChildren([
  createRoute({
    getParentRoute,
    path: "/",
    validateSearch: (search) => given(search, ["since"]),
    component: view(() => import("./pages/today/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/status",
    component: view(() => import("./pages/status/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/cap-table",
    // `at`, `with`: two dates to compare, unix seconds; `show`: the view; `only`: a filter of rows.
    validateSearch: (search) => given(search, ["at", "with", "show", "only"]),
    component: view(() => import("./pages/cap-table/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    // A holder's number, or a wallet's address.
    path: "/holder/$holder",
    validateSearch: (search) => given(search, ["at"]),
    component: view(() => import("./pages/holder/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/movements",
    validateSearch: (search) => given(search, ["kind", "wallet", "order"]),
    component: view(() => import("./pages/movements/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/roles",
    validateSearch: (search) => given(search, ["at"]),
    component: view(() => import("./pages/roles/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/proof",
    validateSearch: (search) => given(search, ["checkpoint"]),
    component: view(() => import("./pages/proof/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/requests",
    // `after`: the cursor of the page.
    validateSearch: (search) => given(search, ["status", "asset", "after"]),
    component: view(() => import("./pages/requests/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/requests/$id",
    component: view(() => import("./pages/request/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/deliveries",
    // `delivery`: opens its attempts.
    validateSearch: (search) => given(search, ["state", "receiver", "after", "delivery"]),
    component: view(() => import("./pages/deliveries/page.tsx")),
  }),
  createRoute({
    getParentRoute,
    path: "/tour",
    validateSearch: (search) => given(search, ["tour"]),
    component: view(() => import("./pages/tour/page.tsx")),
  }),
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
}
