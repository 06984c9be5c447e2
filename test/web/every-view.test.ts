// @module-tag thorough
/**
 * Every view of the demo ledger's service, at four widths and in both themes, and the search:
 * none scrolls sideways, and axe-core finds no serious fault. On narrow screens no amount breaks over two lines or is cut
 * off, and a rounded one says so. Then what each view does while its service is away.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amountsShown, faultsOfAmounts } from "./amounts.ts";
import { whileAway } from "./away.ts";
import { chromiumHere, openBrowser, PHONE, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { namedViews, PAGES, seriousFaults, settled, tooWide, WIDTHS } from "./views.ts";

const NARROW = 320;

/** Views that show amounts. */
const WITH_AMOUNTS = [
  "/",
  "/cap-table",
  "/cap-table?show=concentration",
  "/cap-table?show=compare",
  "/holder/1",
  "/movements",
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

  /** A view as it is now, at every width in both themes. */
  const looksRight = async (page: Page, view: string) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 860 });
      await settled(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.waitForFunction(
          (theme) =>
            document.documentElement.dataset.theme === theme &&
            document.getAnimations().every(({ playState }) => playState !== "running"),
          colorScheme,
        );
        expect(await tooWide(page), `${view} scrolls sideways, ${width} pixels`).toEqual([]);
        const faults = await seriousFaults(page, colorScheme);
        expect(faults, `${view}, ${colorScheme}, ${width} pixels`).toEqual([]);
      }
    }
  };

  test("every view is accessible at four widths in both themes, and breaks or cuts off no number on a narrow screen", async () => {
    await using watched = await watch(browser, `${demo.url}/health`);
    const { page, complaints, elsewhere } = watched;
    for (const path of [...PAGES, "/check", ...(await namedViews(demo))]) {
      const url = new URL(path, demo.url);
      // Not every holder of one token holds the others.
      url.searchParams.set("token", demo.coinTypes[0] ?? "");
      await page.goto(url.href);
      await looksRight(page, path);
      const shown = await amountsThatFit(page, path);
      if (WITH_AMOUNTS.includes(path)) expect(shown.get(NARROW)?.length, path).toBeGreaterThan(0);
      expect(complaints, path).toEqual([]);
      expect(elsewhere, path).toEqual([]);
    }
  }, 400_000);

  test("the search is accessible at four widths in both themes", async () => {
    await using watched = await watch(browser, demo.url);
    const { page, complaints } = watched;
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("12");
    await page.getByRole("option").first().waitFor();
    await looksRight(page, "the search");
    expect(complaints).toEqual([]);
  }, 120_000);

  test("no amount breaks, is cut off or is rounded unmarked in any view that has amounts, of tokens with 6 and with 9 decimals, on a narrow screen", async () => {
    const [six = "", nine = ""] = ["ACME", "ACMEP"].map((name) =>
      demo.coinTypes.find((type) => type.includes(name)),
    );
    // The pages are the first token's at first, and the test before looked at them.
    expect(demo.coinTypes[0]).toBe(six);
    expect(nine).not.toBe("");
    const views = [
      ...WITH_AMOUNTS.filter((view) => !PAGES.includes(view)).map((view) => ({ view, token: six })),
      ...WITH_AMOUNTS.map((view) => ({ view, token: nine })),
    ];
    const rounded = new Set<number>();
    await using watched = await watch(browser, `${demo.url}/health`, { width: PHONE, height: 844 });
    const { page, complaints } = watched;
    for (const { view, token } of views) {
      const url = new URL(view, demo.url);
      url.searchParams.set("token", token);
      await page.setViewportSize({ width: PHONE, height: 844 });
      await page.goto(url.href);
      await settled(page);
      for (const [width, shown] of await amountsThatFit(page, `${view} ${token}`)) {
        expect(shown.length, view).toBeGreaterThan(0);
        if (shown.some((text) => /^[\u2248<>]/.test(text))) rounded.add(width);
      }
      expect(complaints, view).toEqual([]);
    }
    expect(rounded).toEqual(new Set([PHONE, NARROW]));
  }, 240_000);

  // Last, as it stops the service.
  whileAway(
    () => demo,
    () => browser,
  );
});

/** The amounts that are shown on a phone and on a narrow screen, once each of them is as it should be. */
const amountsThatFit = async (
  page: Page,
  where: string,
): Promise<ReadonlyMap<number, readonly string[]>> => {
  const shown = new Map<number, readonly string[]>();
  for (const width of [PHONE, NARROW]) {
    await page.setViewportSize({ width, height: 844 });
    // Figures move meanwhile.
    await expect
      .poll(() => page.evaluate(faultsOfAmounts), { message: `${where}, ${width} pixels` })
      .toEqual([]);
    shown.set(width, await page.evaluate(amountsShown));
  }
  return shown;
};
