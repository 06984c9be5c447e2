// @module-tag thorough
/** Nothing moves under the reader's eyes while a view loads: the browser's own measure, over all views and widths. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumHere, openBrowser, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { noteShifts, PAGES, settled, shiftedTooFar } from "./views.ts";

const WIDTHS = [360, 768, 1280, 1920];

const VIEWS = [
  ...PAGES,
  "/check",
  "/cap-table?show=concentration",
  "/cap-table?show=compare",
  "/movements?kind=transfer",
];

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
      await context.addInitScript(noteShifts);
      const found: string[] = [];
      for (const path of VIEWS) {
        await page.goto(demo.url + path);
        const holder = path === "/holder/1";
        if (holder) await firstHolder(page, demo.url);
        await settled(page);
        await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
        found.push(...(await shiftedTooFar(page, path)));
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
