/** The frame of every page: menu, choice of token, state of the service, alerts. */
import { useIsFetching } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Button, buttonClass, Choose, useAction } from "../controls/controls.tsx";
import { onReturn } from "../data/contact.ts";
import { isLent } from "../data/lent.ts";
import { isReplaced, loadRest } from "../data/part.ts";
import { useRoute } from "../data/route.ts";
import { useService, WatchedService } from "../data/service.tsx";
import { useSession, useSessionControl, useSettings } from "../data/session.ts";
import { keepToken, tokenLabel, useChangeAddress, useToken, useTokens } from "../data/tokens.ts";
import { countText } from "../shown/amount.ts";
import { CloseIcon, MenuIcon, MoonIcon, SunIcon } from "../shown/icons.tsx";
import { clockText } from "../shown/moment.ts";
import mark from "./mark.svg";
import { SearchField, useSearchDialog } from "./search/search.tsx";
import { SignIn } from "./sign-in.tsx";
import { useTheme } from "./theme.ts";

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

const TRANSFER_AGENT = [
  { to: "/requests", label: "Requests" },
  { to: "/deliveries", label: "Deliveries" },
] as const;

const ALL_PAGES = [
  ...REGISTER,
  ...TRUST,
  ...TRANSFER_AGENT,
  { to: "/check", label: "Check a file" },
];

export const Layout = () => {
  const { session } = useSessionControl();
  const { open = false } = useRoute();
  if (session !== null) {
    return (
      <WatchedService>
        <Frame />
      </WatchedService>
    );
  }
  return open ? <OpenFrame /> : <SignIn />;
};

/** Around a view that needs no key. */
const OpenFrame = () => (
  <div className="mx-auto min-h-dvh max-w-5xl">
    <header className="flex h-14 items-center gap-3 border-b border-line px-4 print:hidden">
      <Brand />
      <span className="ml-auto">
        <ThemeButton />
      </span>
      <Link to="/" className={buttonClass()}>
        Sign in
      </Link>
    </header>
    <main id="content" className="px-4 py-5 print:p-0" tabIndex={-1}>
      <Outlet />
    </main>
  </div>
);

const Frame = () => {
  const [open, setOpen] = useState(false);
  const search = useSearchDialog(ALL_PAGES);
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
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)] print:block">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 print:hidden flex h-12 items-center gap-3 border-b border-line bg-surface px-3 md:hidden">
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
        <div className="ml-auto flex min-w-0 items-center">
          <SearchField short onOpen={search.show} />
          <Freshness short />
        </div>
      </header>
      {search.shown}
      <div
        id="menu"
        className={`border-line bg-surface max-md:border-b md:sticky md:top-0 md:flex md:h-dvh md:flex-col md:border-r print:hidden ${open ? "" : "max-md:hidden"}`}
      >
        <div className="px-4 pt-4 pb-3 max-md:hidden">
          <Brand />
        </div>
        <div className="px-3 pb-2 max-md:hidden">
          <SearchField onOpen={search.show} />
        </div>
        <div className="px-3 max-md:pt-3">
          <TokenChoice />
        </div>
        <nav aria-label="Pages" className="px-3 py-3 md:grow md:overflow-y-auto">
          <Group pages={REGISTER} />
          <Group title="Trust" pages={TRUST} />
          <TransferAgent />
        </nav>
        <Foot />
      </div>
      <div className="min-w-0">
        <DemoBar />
        <Alerts />
        <main
          id="content"
          className="mx-auto w-full max-w-7xl px-4 py-5 md:px-7 md:py-6 print:max-w-none print:p-0"
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

/** Shown with every key: the pages themselves ask for an operator key. */
const TransferAgent = () => {
  const { demo } = useSettings();
  const tour = demo?.tour ? [{ to: "/tour", label: "Guided tour" }] : [];
  return <Group title="Transfer agent" pages={[...TRANSFER_AGENT, ...tour]} />;
};

const TokenChoice = () => {
  const tokens = useTokens().data?.tokens ?? [];
  const token = useToken();
  const change = useChangeAddress();
  // Its room is kept: the menu below must not move.
  if (token === null) return <div className="h-8" />;
  return (
    <Choose
      label="Token"
      className="w-full"
      value={token.coinType}
      choices={tokens.map((one) => ({
        value: one.coinType,
        label: one.name === null ? tokenLabel(one) : `${tokenLabel(one)} · ${one.name}`,
      }))}
      onChange={(coinType) => change({ token: coinType })}
    />
  );
};

const ThemeButton = () => {
  const [theme, setTheme] = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      aria-label={`Show in ${other} colours`}
      title={`Show in ${other} colours`}
      className="inline-grid size-7 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink"
      onClick={() => setTheme(other)}
    >
      {theme === "dark" ? <SunIcon /> : <MoonIcon />}
    </button>
  );
};

const Foot = () => {
  const { session, signOut } = useSessionControl();
  const { version, network } = useSettings();
  return (
    <div className="border-t border-line p-3 text-xs text-muted">
      <div className="max-md:hidden">
        <Freshness />
      </div>
      <div className="mt-1 flex items-center justify-between gap-2 px-2">
        <span className="truncate">
          {network ?? "unnamed network"} · {version}
        </span>
        <ThemeButton />
      </div>
      <div className="flex items-center justify-between gap-2 px-2">
        <span className="truncate" title={session?.label ?? undefined}>
          {session?.kind === "operator" ? "operator key" : "read key"}
          {session?.label ? ` · ${session.label}` : ""}
          {session?.untilMs == null ? null : (
            <span className="block truncate">until {clockText(session.untilMs, Date.now())}</span>
          )}
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

/** Tells demo data from a real register. */
const DemoBar = () => {
  const { demo } = useSettings();
  const { kind, lent } = useSession();
  const { lend } = useSessionControl();
  const { busy, fault, run } = useAction();
  if (demo === null) return null;
  const other = !isLent()
    ? null
    : !lent || kind === "operator"
      ? "graphql"
      : demo.operator
        ? "operator"
        : null;
  const key = `${lent ? "a demo" : "your own"} ${kind === "operator" ? "operator" : "read"} key`;
  return (
    <div className="border-b border-line bg-accent-soft px-4 py-1.5 text-xs md:px-7 print:hidden">
      <strong className="font-semibold">Demo.</strong> The register of a made-up issuer, read from a
      simulated ledger. You are signed in with {key}.{" "}
      {other === null ? null : (
        <>
          <button
            type="button"
            disabled={busy}
            className="font-medium text-accent underline"
            onClick={() => void run(() => lend(other))}
          >
            Use the {other === "operator" ? "operator" : "read"} key
          </button>{" "}
        </>
      )}
      {fault === null ? null : (
        <span role="alert" className="text-bad">
          {fault}{" "}
        </span>
      )}
      {demo.tour ? (
        <Link to="/tour" search={keepToken} className="font-medium text-accent underline">
          Whitelist a wallet
        </Link>
      ) : null}
    </div>
  );
};

const DOTS = { plain: "bg-muted", good: "bg-good", warn: "bg-warn", bad: "bg-bad" } as const;

/** The state of the service in words, and its newest checkpoint. */
const Freshness = ({ short = false }: { readonly short?: boolean }) => {
  const {
    state: { word, tone, detail },
    checkpoint,
  } = useService();
  return (
    <Link
      to="/status"
      search={keepToken}
      className="inline-flex items-center gap-2 rounded-md px-2 py-1 text-xs hover:bg-sunken"
      aria-live="polite"
      title={detail ?? undefined}
    >
      <span className={`size-2 shrink-0 rounded-full ${DOTS[tone]}`} aria-hidden="true" />
      <span className="font-medium">{word}</span>
      {short || checkpoint === null ? null : (
        <span className="figures text-muted">{countText(checkpoint)}</span>
      )}
    </Link>
  );
};

/** On every view: the service does not answer, or has a newer page. */
const Alerts = () => {
  const {
    state: { kind, word, detail },
  } = useService();
  const [replaced, setReplaced] = useState(false);
  // After a loss the service may be a newer one.
  useEffect(
    () =>
      onReturn(() => {
        void isReplaced().then((isSo) => isSo && setReplaced(true));
      }),
    [],
  );
  return (
    <div role="status" className="print:hidden">
      {kind === "lost" ? (
        <div className="border-b border-line bg-bad-soft px-4 py-1.5 text-xs md:px-7">
          <strong className="font-semibold text-bad">{word}.</strong> {detail}
        </div>
      ) : null}
      {replaced ? (
        <div className="border-b border-line bg-warn-soft px-4 py-1.5 text-xs md:px-7">
          <strong className="font-semibold text-warn">
            A newer version of this page is available.
          </strong>{" "}
          Reload when it suits you; you will be asked for the key again.
        </div>
      ) : null}
    </div>
  );
};

/** Without decimals, amounts must not be read as tokens. */
const UnitsNote = () => {
  const token = useToken();
  if (token === null || token.decimals !== null) return null;
  return (
    <p role="note" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm">
      The decimals of {tokenLabel(token)} are not known: amounts are in its smallest unit.
    </p>
  );
};

/** The first view counts as complete once no query runs, or after so many milliseconds. */
const FIRST_VIEW_MS = 5_000;

/** Loads the rest of the page after the first view. */
const useRest = () => {
  const isFetching = useIsFetching() > 0;
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), FIRST_VIEW_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (isFetching && !late) return;
    const timer = setTimeout(loadRest, 200);
    return () => clearTimeout(timer);
  }, [isFetching, late]);
};
