/** What surrounds every page: where one can go, which token it is about, and how the service is. */
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "../controls/button.tsx";
import { Choose } from "../controls/select.tsx";
import { keepToken } from "../data/here.ts";
import { WatchedService } from "../data/service.tsx";
import { useSession, useSessionControl } from "../data/session.ts";
import { useSettings } from "../data/settings.ts";
import { tokenLabel, useToken, useTokens } from "../data/tokens.ts";
import { CloseIcon, MenuIcon, MoonIcon, SunIcon } from "../shown/icons.tsx";
import mark from "./mark.svg";
import { useRest } from "./rest.ts";
import { Alerts, Freshness } from "./standing.tsx";
import { useTheme } from "./theme.ts";
import { UnitsNote } from "./units-note.tsx";

const REGISTER = [
  { to: "/", label: "Today" },
  { to: "/cap-table", label: "Cap table" },
  { to: "/movements", label: "Movements" },
  { to: "/roles", label: "Roles" },
] as const;

const TRUST = [
  { to: "/status", label: "Status" },
  { to: "/proof", label: "Proof" },
] as const;

const OFFICE = [
  { to: "/requests", label: "Requests" },
  { to: "/deliveries", label: "Deliveries" },
] as const;

export const Layout = () => (
  <WatchedService>
    <Frame />
  </WatchedService>
);

const Frame = () => {
  const [open, setOpen] = useState(false);
  useRest();
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes where another page opens
  useEffect(() => setOpen(false), [pathname]);
  useEffect(() => {
    if (!open) return;
    const close = (event: KeyboardEvent) => event.key === "Escape" && setOpen(false);
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [open]);
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 flex h-12 items-center gap-3 border-b border-line bg-surface px-3 md:hidden">
        <Button
          look="quiet"
          className="px-2"
          aria-expanded={open}
          aria-controls="menu"
          aria-label={open ? "Close the menu" : "Open the menu"}
          onClick={() => setOpen(!open)}
        >
          {open ? <CloseIcon /> : <MenuIcon />}
        </Button>
        <Brand />
        <div className="ml-auto min-w-0">
          <Freshness short />
        </div>
      </header>
      <div
        id="menu"
        className={`border-line bg-surface max-md:border-b md:sticky md:top-0 md:flex md:h-dvh md:flex-col md:border-r ${open ? "" : "max-md:hidden"}`}
      >
        <div className="px-4 pt-4 pb-3 max-md:hidden">
          <Brand />
        </div>
        <div className="px-3 max-md:pt-3">
          <TokenChoice />
        </div>
        <nav aria-label="Pages" className="px-3 py-3 md:grow md:overflow-y-auto">
          <Group pages={REGISTER} />
          <Group title="Trust" pages={TRUST} />
          <Office />
        </nav>
        <Foot />
      </div>
      <div className="min-w-0">
        <DemoBar />
        <Alerts />
        <main
          id="content"
          className="mx-auto w-full max-w-7xl px-4 py-5 md:px-7 md:py-6"
          tabIndex={-1}
        >
          <UnitsNote />
          <Outlet />
        </main>
      </div>
    </div>
  );
};

const Brand = () => (
  <Link to="/" search={keepToken} className="inline-flex shrink-0 items-center gap-2">
    <img src={mark} alt="" width="24" height="24" />
    <span className="font-semibold tracking-tight">Holderbook</span>
  </Link>
);

const Group = ({
  title,
  pages,
}: {
  readonly title?: string;
  readonly pages: readonly { readonly to: string; readonly label: string }[];
}) => (
  <div className="mb-4">
    {title === undefined ? null : (
      <div className="px-2.5 pb-1 text-xs font-medium text-muted">{title}</div>
    )}
    <ul className="space-y-0.5">
      {pages.map(({ to, label }) => (
        <li key={to}>
          <Link
            to={to}
            search={keepToken}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className="block rounded-md px-2.5 py-1.5 text-sm text-muted hover:bg-sunken hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent"
          >
            {label}
          </Link>
        </li>
      ))}
    </ul>
  </div>
);

/** Shown to everybody: who may not open it is told by the page, and what key it takes. */
const Office = () => {
  const { demo } = useSettings();
  const tour = demo?.tour ? [{ to: "/tour", label: "Guided tour" }] : [];
  return <Group title="Transfer agent" pages={[...OFFICE, ...tour]} />;
};

const TokenChoice = () => {
  const tokens = useTokens().data?.tokens ?? [];
  const token = useToken();
  const navigate = useNavigate();
  if (token === null) return null;
  return (
    <Choose
      label="Token"
      className="w-full"
      value={token.coinType}
      choices={tokens.map((one) => ({
        value: one.coinType,
        label: one.name === null ? tokenLabel(one) : `${tokenLabel(one)} · ${one.name}`,
      }))}
      onChange={(coinType) =>
        void navigate({ to: ".", search: (now: object) => ({ ...now, token: coinType }) })
      }
    />
  );
};

const Foot = () => {
  const [theme, setTheme] = useTheme();
  const { session, signOut } = useSessionControl();
  const { version, network } = useSettings();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <div className="border-t border-line p-3 text-xs text-muted">
      <div className="max-md:hidden">
        <Freshness />
      </div>
      <div className="mt-1 flex items-center justify-between gap-2 px-2">
        <span className="truncate">
          {network ?? "unnamed network"} · {version}
        </span>
        <button
          type="button"
          aria-label={`Show in ${other} colours`}
          title={`Show in ${other} colours`}
          className="inline-grid size-7 shrink-0 place-items-center rounded hover:bg-sunken hover:text-ink"
          onClick={() => setTheme(other)}
        >
          {theme === "dark" ? <SunIcon /> : <MoonIcon />}
        </button>
      </div>
      <div className="flex items-center justify-between gap-2 px-2">
        <span className="truncate" title={session?.label ?? undefined}>
          {session?.kind === "operator" ? "operator key" : "read key"}
          {session?.label ? ` · ${session.label}` : ""}
        </span>
        <button
          type="button"
          className="shrink-0 rounded px-1.5 py-1 hover:bg-sunken hover:text-ink"
          onClick={signOut}
        >
          Sign out
        </button>
      </div>
    </div>
  );
};

/** On the demo ledger: what this is, so that nobody takes it for a register. */
const DemoBar = () => {
  const { demo } = useSettings();
  const { lent } = useSession();
  if (demo === null || !lent) return null;
  return (
    <Bar>
      A simulated issuer on a ledger of this machine. You are signed in with a read key that only
      the demo lends.{" "}
      {demo.tour ? (
        <Link to="/tour" search={keepToken} className="font-medium text-accent underline">
          Whitelist a wallet
        </Link>
      ) : null}
    </Bar>
  );
};

const Bar = ({ children }: { readonly children: ReactNode }) => (
  <div className="border-b border-line bg-accent-soft px-4 py-1.5 text-xs md:px-7">
    <strong className="font-semibold">Demo.</strong> {children}
  </div>
);
