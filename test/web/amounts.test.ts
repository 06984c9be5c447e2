/** Amounts on narrow screens: none breaks over two lines or is cut off, and a rounded one says so. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumHere, openBrowser, PHONE, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";

const NARROW = 320;

const LATE = { timeout: 30_000 };

/** Views that show amounts. */
const WITH_AMOUNTS = [
  "/",
  "/cap-table",
  "/cap-table?show=concentration",
  "/cap-table?show=compare",
  "/holder/1",
  "/movements",
];

/** The others have numbers alone. */
const WITHOUT = ["/status", "/roles", "/proof", "/requests", "/deliveries", "/tour"];

/** Tokens of 6 and of 9 decimals. */
const TOKENS = /ACME|BIRCH/;

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

  test("no amount breaks, is cut off or is rounded unmarked in any view of a narrow screen", async () => {
    const rounded = new Set<number>();
    for (const [index, coinType] of demo.coinTypes.filter((one) => TOKENS.test(one)).entries()) {
      for (const view of index === 0 ? [...WITH_AMOUNTS, ...WITHOUT] : WITH_AMOUNTS) {
        const url = new URL(view, demo.url);
        url.searchParams.set("token", coinType);
        await using watched = await watch(browser, url.href, { width: PHONE, height: 844 });
        const { page } = watched;
        await page.locator("#content h1").first().waitFor();
        await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
        for (const width of [PHONE, NARROW]) {
          await page.setViewportSize({ width, height: 844 });
          // Figures move meanwhile.
          await expect
            .poll(() => page.evaluate(faultsOfAmounts), {
              message: `${view} ${coinType} at ${width} pixels`,
            })
            .toEqual([]);
          const shown = await page.evaluate(amountsShown);
          if (WITH_AMOUNTS.includes(view)) expect(shown.length, view).toBeGreaterThan(0);
          if (shown.some((text) => /^[\u2248<>]/.test(text))) rounded.add(width);
        }
      }
    }
    expect(rounded).toEqual(new Set([PHONE, NARROW]));
  }, 240_000);

  test("a rounded amount is complete for screen readers, on focus and on touch, and is copied whole", async () => {
    const coinType = demo.coinTypes.find((type) => type.includes("BIRCH")) ?? "";
    const url = new URL("/cap-table", demo.url);
    url.searchParams.set("token", coinType);
    await using watched = await watch(browser, url.href, { width: PHONE, height: 844 });
    const { page } = watched;
    const amount = page.locator("[data-amount] button[aria-label]").first();
    await amount.waitFor();
    // What is read here must not move meanwhile.
    await page.context().setOffline(true);
    const text = (await amount.textContent()) ?? "";
    const [, whole = ""] = ((await amount.getAttribute("aria-label")) ?? "").split(", exactly ");
    expect(text).toMatch(/^\u2248 /);
    const cut = text.slice(2);
    expect(whole.startsWith(cut)).toBe(true);
    expect(whole.length).toBeGreaterThan(cut.length);
    const shown = page.locator("[popover]:popover-open");
    const heading = page.getByRole("heading", { level: 1 });
    for (const open of [() => amount.focus(), () => amount.click()]) {
      // A scroll that comes late, such as of the click before, hides what is shown.
      await expect
        .poll(async () => {
          await heading.click();
          await open();
          return shown.getByText(whole).isVisible();
        }, LATE)
        .toBe(true);
      await shown.getByRole("button", { name: "Copy amount" }).click();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(whole);
      await page.keyboard.press("Escape");
      await shown.waitFor({ state: "detached" });
    }
  });
});

const amountsShown = (): readonly string[] =>
  [...document.querySelectorAll("[data-amount]")].flatMap((element) => {
    const [shown] = element.querySelectorAll("button");
    const isVisible = element.getClientRects().length > 0;
    return isVisible ? [(shown ?? element).textContent ?? ""] : [];
  });

/** Numbers that stand on two lines, amounts that are not wholly in sight, and digits that are not the amount's. */
const faultsOfAmounts = (): readonly string[] => {
  const faults: string[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.textContent ?? "";
    for (const found of text.matchAll(
      /[+\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+\u2212]?\d+\.\d+/g,
    )) {
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) faults.push(`on ${lines.size} lines: ${found[0]}`);
    }
  }
  for (const element of document.querySelectorAll<HTMLElement>("[data-amount]")) {
    if (element.getClientRects().length === 0) continue;
    const shown = (element.querySelector("button") ?? element).textContent ?? "";
    const whole = element.dataset.amount ?? "";
    const { left, right } = element.getBoundingClientRect();
    const around = (element.closest("section") ?? document.body).getBoundingClientRect();
    const isInside = left >= around.left - 1 && right <= Math.min(around.right, innerWidth) + 1;
    if (!isInside || element.scrollWidth > element.clientWidth) faults.push(`cut off: ${shown}`);
    // Unless it says that it is rounded, it is the amount but for zeros at its end.
    const isExact = whole.startsWith(shown) && /^[.0]*$/.test(whole.slice(shown.length));
    if (!/^[\u2248<>] /.test(shown) && !isExact && !/ [KMBT]$/.test(shown)) {
      const [first = ""] = shown.split(" ");
      if (first !== whole) faults.push(`${shown} is not ${whole}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page scrolls sideways");
  return faults;
};
