/**
 * Every page of the demo ledger's service as a visitor opens it, by its address, with nothing on the console and
 * nothing asked of other hosts. Then what people do on it, and what it does when parts of it fail: with the same
 * service and browser, whose starts cost as much as all that.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILT_PAGE } from "../../src/page-api/site.ts";
import { whilePartsFail } from "./away.ts";
import { chromiumHere, openBrowser, PHONE, watch } from "./browser.ts";
import { chartJourneys } from "./chart-journeys.ts";
import { type Demo, startDemo } from "./demo.ts";
import { frameJourneys } from "./frame.ts";
import { journeys } from "./journeys.ts";
import { searchJourneys } from "./search-journeys.ts";
import { tableJourneys } from "./table-journeys.ts";
import { PAGES, seriousFaults, settled, tooWide } from "./views.ts";

const LATE = { timeout: 30_000 };

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

  test("every page opens signed in on the demo and is accessible, with nothing on its console and nothing asked of other hosts", async () => {
    await using watched = await watch(browser, `${demo.url}/health`);
    const { page, complaints, elsewhere } = watched;
    for (const path of PAGES) {
      await page.goto(demo.url + path);
      await settled(page);
      expect(await tooWide(page), `${path} scrolls sideways`).toEqual([]);
      expect(await seriousFaults(page, "light"), path).toEqual([]);
      expect(complaints, path).toEqual([]);
      expect(elsewhere, path).toEqual([]);
    }
  }, 180_000);

  test("a rounded amount is complete for screen readers, on focus and on touch, and is copied whole", async () => {
    const coinType = demo.coinTypes.find((type) => type.includes("ACMEP")) ?? "";
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

  test("a visitor without a key is asked for one, told why a wrong one fails, and admitted with a right one", async () => {
    await using watched = await watch(browser, `${demo.url}/roles`);
    const { page } = watched;
    await settled(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    const key = page.getByLabel("API key");
    await key.fill("hb_graphql_nobody");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Not signed in").waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Holderbook");
    await key.fill(demo.operatorKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("operator key").first().waitFor();
    // The address was kept, and a key is nowhere to be found once the page is left.
    expect(new URL(page.url()).pathname).toBe("/roles");
    const kept = await page.evaluate(() =>
      JSON.stringify([
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        document.cookie,
      ]),
    );
    expect(kept).not.toContain("hb_");
  });

  test("the first page travels in less than 150 KB, without any chart code, and the code of all others is loaded once it is shown", async () => {
    await using watched = await watch(browser, demo.url);
    await settled(watched.page);
    await watched.page.waitForFunction(() => performance.getEntriesByName("first view").length > 0);
    // What comes later is for views that nobody opened yet.
    const loaded = await watched.page.evaluate(() => {
      const until = performance.getEntriesByName("first view")[0]?.startTime ?? 0;
      return [
        ...performance.getEntriesByType("navigation"),
        ...performance.getEntriesByType("resource"),
      ]
        .filter(({ startTime }) => startTime < until)
        .map(({ name }) => name)
        .filter((name) => name.includes("/assets/") || new URL(name).pathname === "/");
    });
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.filter((name) => name.includes("echarts"))).toEqual([]);
    // As behind TLS, where browsers take brotli; here they ask for gzip.
    const headers = { "accept-encoding": "br", accept: "text/html" };
    const bytes = await Promise.all(
      [...new Set(loaded)].map(async (name) => {
        const answer = await fetch(name, { headers });
        expect(answer.headers.get("content-encoding"), name).toBe("br");
        return Number(answer.headers.get("content-length"));
      }),
    );
    const all = bytes.reduce((sum, one) => sum + one, 0);
    expect(all).toBeGreaterThan(50_000);
    expect(all).toBeLessThan(150_000);

    const parts = (await readdir(join(BUILT_PAGE, "assets"))).filter((name) =>
      name.endsWith(".js"),
    );
    const missing = async () => {
      const loaded = await watched.page.evaluate(() =>
        performance.getEntriesByType("resource").map(({ name }) => name),
      );
      return parts.filter((part) => !loaded.some((name) => name.endsWith(part)));
    };
    await expect.poll(missing).toEqual([]);
  });

  test("the printed link opens the page signed in, once; a reload and a second tab are signed in, too", async () => {
    await using watched = await watch(browser, demo.link, { stranger: true });
    const { page, context, complaints } = watched;
    await page.getByText("with a demo read key").waitFor();
    // Nothing of it is left in the address bar, nor where a bookmark or the history would find it.
    expect(page.url()).toBe(`${demo.url}/`);
    await page.reload();
    await page.getByText("with a demo read key").waitFor();
    const second = await context.newPage();
    await second.goto(`${demo.url}/roles`);
    await second.getByText("with a demo read key").waitFor();
    // Who clicks on it again in this browser gets the page, and so does GraphiQL.
    await second.goto(demo.link);
    await second.getByText("with a demo read key").waitFor();
    await second.goto(`${demo.url}/graphiql`);
    await second.waitForFunction(() => document.querySelector("input[type=password]") !== null);
    expect(await second.locator("#key").inputValue()).toBe(demo.readKey);
    // The browser's own word for the link that was used.
    expect(complaints.filter((text) => !text.includes("403"))).toEqual([]);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.reload();
    await page.getByText("This is the demo").waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("hb_");

    // Only what is behind the # changes then: no page is loaded by itself.
    await page.goto(demo.link);
    await page.getByText("This link is no longer valid").waitFor();

    await using other = await watch(browser, demo.link, { stranger: true });
    await other.page.getByText("This link is no longer valid").waitFor();
    await other.page.getByText("demo link", { exact: false }).first().waitFor();
    expect(other.page.url()).toBe(`${demo.url}/`);
  });

  test("a stranger is not signed in anywhere, and told where the link is", async () => {
    await using watched = await watch(browser, `${demo.url}/roles`, { stranger: true });
    await watched.page.getByText("This is the demo").waitFor();
    expect(await watched.page.getByLabel("API key").isVisible()).toBe(true);
    expect(watched.complaints).toEqual([]);
  });

  test("an unknown address says so and leads back", async () => {
    await using watched = await watch(browser, `${demo.url}/nothing-here`);
    await watched.page.getByText("Page not found").waitFor();
    await watched.page.getByRole("link", { name: "Go to Today" }).click();
    await watched.page.waitForURL(`${demo.url}/`);
    const answer = await fetch(`${demo.url}/nothing-here`, { headers: { accept: "text/html" } });
    expect(answer.status).toBe(404);
    expect((await fetch(`${demo.url}/nothing-here`)).headers.get("content-type")).toMatch(/json/);
  });

  describe("what every view gives", () =>
    frameJourneys(
      () => demo,
      () => browser,
    ));

  describe("what people do", () =>
    journeys(
      () => demo,
      () => browser,
    ));

  describe("what people do with its tables", () =>
    tableJourneys(
      () => demo,
      () => browser,
    ));

  describe("what people find", () =>
    searchJourneys(
      () => demo,
      () => browser,
    ));

  describe("what people do with its charts", () =>
    chartJourneys(
      () => demo,
      () => browser,
    ));

  describe("while parts of it fail", () =>
    whilePartsFail(
      () => demo,
      () => browser,
    ));
});
