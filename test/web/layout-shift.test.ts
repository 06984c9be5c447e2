// @module-tag thorough
/** Nothing moves under the reader's eyes while a view loads: the browser's own measure, over all views and widths. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { chromiumHere, openBrowser, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { PAGES, settled } from "./views.ts";

/** Of the share of the window that moved, times how far: the sum over the loading of a view. */
const MOST = 0.05;

const WIDTHS = [360, 768, 1280, 1920];

const VIEWS = [
  ...PAGES,
  "/check",
  "/cap-table?show=concentration",
  "/cap-table?show=compare",
  "/movements?kind=transfer",
];

const shifts = z.array(z.object({ value: z.number(), moved: z.array(z.string()) }));

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  let demo: Demo;
  let browser: Browser;
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.[Symbol.asyncDispose]();
  });

  test.each(WIDTHS)(
    "no view shifts by more than 0.05 while it loads, %s pixels wide",
    { timeout: 240_000 },
    async (width) => {
      await using watched = await watch(browser, `${demo.url}/health`, { width, height: 900 });
      const { page, context } = watched;
      await context.addInitScript(observe);
      const found: string[] = [];
      for (const path of VIEWS) {
        await page.goto(demo.url + path);
        const holder = path === "/holder/1";
        if (holder) await firstHolder(page, demo.url);
        await settled(page);
        await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
        const seen = shifts.parse(await page.evaluate("window.shifts"));
        const sum = seen.reduce((all, { value }) => all + value, 0);
        const worst = seen.toSorted((a, b) => b.value - a.value).slice(0, 3);
        if (sum > MOST) found.push(`${path}: ${sum.toFixed(3)} ${JSON.stringify(worst)}`);
      }
      expect(found).toEqual([]);
    },
  );
});

/** A holder that there is, opened by its address as from a link. */
const firstHolder = async (page: Page, url: string) => {
  await page.goto(`${url}/cap-table`);
  const link = page.getByRole("region", { name: "Holders" }).getByRole("link").first();
  await page.goto(new URL((await link.getAttribute("href")) ?? "", url).href);
};

/** In the page, before anything of its own: notes each shift and what moved. */
const observe = () => {
  const noted: { value: number; moved: string[] }[] = [];
  Object.assign(window, { shifts: noted });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (Reflect.get(entry, "hadRecentInput") === true) continue;
      const sources: { node: Node | null }[] = Reflect.get(entry, "sources") ?? [];
      noted.push({
        value: Number(Reflect.get(entry, "value")),
        moved: sources.map(({ node }) => {
          const element = node instanceof Element ? node : node?.parentElement;
          return `${element?.tagName ?? "?"} ${(element?.textContent ?? "").slice(0, 40)}`;
        }),
      });
    }
  }).observe({ type: "layout-shift", buffered: true });
};
