/** The page in a real Chromium, driven by Playwright, against the program as a user starts it. */
import type { Browser, BrowserContext, Page } from "playwright-core";
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
];

/** Undefined where this machine has no `chromium`: such tests skip, and say so by that. */
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
};

/** Widths of a desk and of a phone, pixels. */
export const DESK = 1280;
export const PHONE = 390;

/** Opens an address; its answers are not waited for. */
export const watch = async (
  browser: Browser,
  url: string,
  { theme = "light", width = DESK, height = 860, stranger = false }: Look = {},
): Promise<Watched> => {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const { host } = new URL(url);
  const key = lent.get(host);
  if (key !== undefined && !stranger) {
    await context.addInitScript((kept) => {
      // Once: whoever signs out of the page forgets it.
      if (sessionStorage.getItem("lent") !== null) return;
      sessionStorage.setItem("lent", "");
      localStorage.setItem("holderbook.demo-key", kept);
    }, key);
  }
  const page = await context.newPage();
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (!["blob:", "data:"].includes(asked.protocol) && asked.host !== host) {
      elsewhere.push(request.url());
    }
  });
  await page.goto(url);
  return {
    page,
    context,
    complaints,
    elsewhere,
    [Symbol.asyncDispose]: async () => {
      // A route whose answer is under way would fail behind the test's end, and the whole run with it.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    },
  };
};
