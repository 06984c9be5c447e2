/** The page in a real Chromium, driven by Playwright, against the program as a user starts it. */
import type { Browser, BrowserContext, ConsoleMessage, Page, Request } from "playwright-core";
import { chromium } from "playwright-core";
import { chromiumPath } from "../chromium.ts";
import { buildPage } from "./build-page.ts";

/** How Chromium is started where nothing outside can be reached and nobody looks. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Tabs of a window share what they compiled.
  "--process-per-site",
];

/** Undefined where this machine has no Chromium: such tests skip, and say so by that. */
export const chromiumHere = await chromiumPath();

/** A page and everything that went wrong on it. */
export type Watched = AsyncDisposable & {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings of the console, uncaught errors, and what the page's policy forbade. */
  readonly complaints: readonly string[];
  /** Addresses that were asked for on other hosts than the page's. */
  readonly elsewhere: readonly string[];
};

/** A browser for the tests of a file, and the page as it stands in the sources. */
export const openBrowser = async (): Promise<Browser> => {
  await buildPage();
  return chromium.launch({ executablePath: chromiumHere ?? "", args: ARGUMENTS });
};

/** Keys that the demos of a test lend, by their hosts. */
const lent = new Map<string, string>();

/** Pages of this service are opened by a browser that was lent this key before. */
export const lendTo = (url: string, key: string): void => void lent.set(new URL(url).host, key);

export type Look = {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** Opens the page as a browser that was lent nothing. */
  readonly stranger?: boolean;
  /** Opens it in another tab of the same window, which costs half as much as another window. */
  readonly beside?: Watched;
};

/** Widths of a desk and of a phone, pixels. */
export const DESK = 1280;
export const PHONE = 390;

type Tab = { readonly page: Page; readonly context: BrowserContext };

/**
 * Tabs that a test has left, by the host whose key they were lent. The next test that asks for one saves the start
 * of a process and the compilation of the page; what it must not find there is cleared.
 */
const left = new WeakMap<Browser, Map<string, Tab[]>>();

const newTab = async (browser: Browser, host: string, isStranger: boolean): Promise<Tab> => {
  const context = await browser.newContext({
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const key = lent.get(host);
  if (key !== undefined && !isStranger) {
    await context.addInitScript((kept) => {
      // Once: whoever signs out of the page forgets it.
      if (sessionStorage.getItem("lent") !== null) return;
      sessionStorage.setItem("lent", "");
      localStorage.setItem("holderbook.demo-key", kept);
    }, key);
  }
  return { context, page: await context.newPage() };
};

/** Makes a tab as good as new. @param quiet address of its host that runs no script */
const clear = async ({ page, context }: Tab, quiet: string) => {
  // A route whose answer is under way would fail behind the test's end, and the whole run with it.
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.unrouteAll({ behavior: "ignoreErrors" });
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.setOffline(false);
  await page.emulateMedia({ media: null });
  await context.clearCookies();
  await page.goto(quiet);
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
  await page.goto("about:blank");
};

/** Opens an address; its answers are not waited for. */
export const watch = async (
  browser: Browser,
  url: string,
  { theme = "light", width = DESK, height = 860, stranger = false, beside }: Look = {},
): Promise<Watched> => {
  const { host } = new URL(url);
  const byHost = left.get(browser) ?? new Map<string, Tab[]>();
  left.set(browser, byHost);
  const resting = byHost.get(host) ?? [];
  byHost.set(host, resting);
  const tab = beside
    ? { context: beside.context, page: await beside.context.newPage() }
    : ((stranger ? undefined : resting.pop()) ?? (await newTab(browser, host, stranger)));
  const { page, context } = tab;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme });
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  const onConsole = (message: ConsoleMessage) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  };
  const onError = (error: Error) => void complaints.push(error.message);
  const onRequest = (request: Request) => {
    const asked = new URL(request.url());
    if (!["blob:", "data:"].includes(asked.protocol) && asked.host !== host) {
      elsewhere.push(request.url());
    }
  };
  page.on("console", onConsole).on("pageerror", onError).on("request", onRequest);
  await page.goto(url);
  return {
    page,
    context,
    complaints,
    elsewhere,
    [Symbol.asyncDispose]: async () => {
      page.off("console", onConsole).off("pageerror", onError).off("request", onRequest);
      if (beside !== undefined) {
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await page.close();
        return;
      }
      if (stranger) {
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await context.unrouteAll({ behavior: "ignoreErrors" });
        await context.close();
        return;
      }
      await clear(tab, new URL("/health", url).href);
      resting.push(tab);
    },
  };
};
