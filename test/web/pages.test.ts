/**
 * Every page of the demo ledger's service as a visitor opens it: at both widths and in both themes, by its
 * address, with nothing on the console, nothing asked of other hosts, and nothing that keeps anybody out. On
 * narrow screens no amount breaks over two lines or is cut off, and a rounded one says so.
 * Then what people do on it, and what it does while its service is away: with the same service and browser, whose
 * starts cost as much as all that.
 */
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { BUILT_PAGE } from "../../src/page-api/site.ts";
import { amountsShown, faultsOfAmounts } from "./amounts.ts";
import { whileAway } from "./away.ts";
import { chromiumHere, DESK, openBrowser, PHONE, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { journeys } from "./journeys.ts";

const PAGES = [
  "/",
  "/status",
  "/cap-table",
  "/holder/1",
  "/movements",
  "/roles",
  "/proof",
  "/requests",
  "/deliveries",
  "/tour",
];

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

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

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

  test("every page opens signed in on the demo, is accessible at both widths in both themes, and breaks or cuts off no number on a narrow screen", async () => {
    await using watched = await watch(browser, `${demo.url}/health`);
    const { page, complaints, elsewhere } = watched;
    for (const path of PAGES) {
      for (const width of [DESK, PHONE]) {
        await page.setViewportSize({ width, height: 860 });
        await page.goto(demo.url + path);
        await settled(page);
        await page.evaluate(axe);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await page.waitForFunction(
            (theme) =>
              document.documentElement.dataset.theme === theme &&
              document.getAnimations().every(({ playState }) => playState !== "running"),
            colorScheme,
          );
          expect(await tooWide(page), `${path} scrolls sideways`).toEqual([]);
          const faults = await seriousFaults(page, colorScheme);
          expect(faults, `${path}, ${colorScheme}, ${width} pixels`).toEqual([]);
        }
      }
      const shown = await amountsThatFit(page, path);
      if (WITH_AMOUNTS.includes(path)) expect(shown.get(NARROW)?.length, path).toBeGreaterThan(0);
      expect(complaints, path).toEqual([]);
      expect(elsewhere, path).toEqual([]);
    }
  }, 180_000);

  test("no amount breaks, is cut off or is rounded unmarked in any view that has amounts, of tokens with 6 and with 9 decimals, on a narrow screen", async () => {
    const [six = "", nine = ""] = ["ACME", "BIRCH"].map((name) =>
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

  describe("what people do", () =>
    journeys(
      () => demo,
      () => browser,
    ));

  // Last, as it stops the service.
  describe("while the service is away", () =>
    whileAway(
      () => demo,
      () => browser,
    ));
});

/** Until nothing is being asked for and no part says that it is loading. */
const settled = async (page: Page) => {
  await page.locator("#content h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
};

const found = z.array(
  z.object({
    id: z.string(),
    impact: z.string().nullable(),
    nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);

/** axe-core's colour rules that are on by default. */
const RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"];

/**
 * What axe-core calls serious or critical, with the element. Themes differ in their colours only, and the dark one
 * comes after the light one, so only its colours need checking.
 */
const seriousFaults = async (page: Page, theme: "light" | "dark"): Promise<readonly string[]> => {
  const options = {
    // What passed is not worth describing.
    resultTypes: ["violations"],
    ...(theme === "dark" && { runOnly: { type: "rule", values: RULES_OF_COLOUR } }),
  };
  const told: unknown = await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return found
    .parse(told)
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 300)}`));
};

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

/** What makes the page wider than its window; nothing when it is not. */
const tooWide = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    return [...document.querySelectorAll("body *")]
      .map((element) => ({ element, right: element.getBoundingClientRect().right }))
      .filter(({ right }) => right > innerWidth)
      .map(({ element, right }) => `${Math.round(right)}: ${element.outerHTML.slice(0, 200)}`)
      .slice(0, 20);
  });
