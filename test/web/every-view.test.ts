// @module-tag thorough
/**
 * Every view of the demo's service, a reader's and an operator's, at four widths in both themes, with a day of history
 * and things paused: none scrolls sideways, axe-core finds no serious fault, and nothing moves while it loads. On narrow
 * screens no amount breaks over two lines or is cut off, and a rounded one says so. Then what each view does while its
 * service is away.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { haveStatusDay } from "../projections/status-day.ts";
import { amountsShown, faultsOfAmounts } from "./amounts.ts";
import { whileAway } from "./away.ts";
import { chromiumHere, openBrowser, PHONE, type Watched, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import {
  namedViews,
  noteShifts,
  PAGES,
  quiet,
  seriousFaults,
  settled,
  shiftedTooFar,
  tooWide,
  WIDTHS,
} from "./views.ts";

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

/** Where to keep pictures of what is seen; none unless set. */
const PICTURES = process.env.PICTURES;

const begun = z.object({ requestId: z.string() });
const sentTest = z.object({ deliveryId: z.string() });

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  let demo: Demo;
  let browser: Browser;
  let views: readonly { readonly path: string; readonly as: "reader" | "operator" }[] = [];
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
    await haveStatusDay(demo.database);
    const { requestId } = begun.parse(await send("POST", "/demo/tour"));
    const event = await send("POST", "/operator/receivers/ta%3Ademo-a/test-event");
    const { deliveryId } = sentTest.parse(event);
    const ofReaders = new Set([
      ...PAGES,
      ...WITH_AMOUNTS,
      "/movements?kind=transfer",
      "/check",
      ...(await namedViews(demo)),
    ]);
    const ofOperators = [
      "/status",
      "/requests",
      `/requests/${requestId}`,
      "/deliveries",
      `/deliveries?delivery=${deliveryId}`,
    ];
    views = [
      ...[...ofReaders].map((path) => ({ path, as: "reader" as const })),
      ...ofOperators.map((path) => ({ path, as: "operator" as const })),
    ];
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.[Symbol.asyncDispose]();
  });

  const send = async (method: string, path: string, body: object = {}): Promise<unknown> => {
    const response = await fetch(demo.url + path, {
      method,
      headers: { "x-api-key": demo.operatorKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    expect(response.ok, `${method} ${path}: ${text}`).toBe(true);
    return JSON.parse(text);
  };

  /** A tab that has shown nothing of the page, with the key that the demo lends. */
  const tabOf = async (as: "reader" | "operator", width: number): Promise<Watched> => {
    const watched = await watch(browser, `${demo.url}/health`, { width, height: 900 });
    await watched.context.addInitScript(noteShifts);
    await watched.page.evaluate(
      (kind) => sessionStorage.setItem("holderbook.demo-kind", kind),
      as === "operator" ? "operator" : "read",
    );
    return watched;
  };

  /** What is wrong with a view as it is now, in either theme. */
  const faultsOf = async (page: Page, name: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction(
        (theme) =>
          document.documentElement.dataset.theme === theme &&
          document.getAnimations().every(({ playState }) => playState !== "running"),
        colorScheme,
      );
      found.push(...(await tooWide(page)), ...(await seriousFaults(page, colorScheme)));
      const file = `${PICTURES}/${name.replaceAll(/\W+/g, "-")}-${colorScheme}.png`;
      if (PICTURES) await page.screenshot({ path: file, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
    return found;
  };

  describe("while things are paused", () => {
    const PAUSED = ["asset/demo-b", "receiver/ta%3Ademo-b", "pipeline/role_changes"];
    beforeAll(async () => {
      for (const what of PAUSED)
        await send("PUT", `/operator/pauses/${what}`, { reason: "a look" });
    });
    afterAll(async () => {
      for (const what of PAUSED) await send("DELETE", `/operator/pauses/${what}`);
    });

    test.each(WIDTHS)(
      "every view is accessible in both themes, fits and stays where it is while it loads, %s pixels wide",
      { timeout: 400_000 },
      async (width) => {
        const found: string[] = [];
        for (const as of ["reader", "operator"] as const) {
          await using watched = await tabOf(as, width);
          const { page, complaints, elsewhere } = watched;
          for (const { path } of views.filter((view) => view.as === as)) {
            const url = new URL(path, demo.url);
            // Not every holder of one token holds the others.
            url.searchParams.set("token", demo.coinTypes[0] ?? "");
            await page.goto(url.href);
            await page
              .locator("#menu")
              .getByText(`${as === "operator" ? "operator" : "read"} key`)
              .first()
              .waitFor({ state: "attached" });
            await quiet(page);
            const where = `${path}, ${as}`;
            found.push(...(await shiftedTooFar(page, where)));
            const faults = await faultsOf(page, `${where} ${width}`);
            found.push(...faults.map((fault) => `${where}: ${fault}`));
            expect(complaints, where).toEqual([]);
            expect(elsewhere, where).toEqual([]);
          }
        }
        expect(found).toEqual([]);
      },
    );
  });

  test("the search is accessible at four widths in both themes", async () => {
    await using watched = await watch(browser, demo.url);
    const { page, complaints } = watched;
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("12");
    await page.getByRole("option").first().waitFor();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 860 });
      expect(await faultsOf(page, `the search ${width}`), `${width} pixels`).toEqual([]);
    }
    expect(complaints).toEqual([]);
  }, 120_000);

  test("no amount breaks, is cut off or is rounded unmarked in any view, of tokens with 6 and with 9 decimals, on a narrow screen", async () => {
    const [six = "", nine = ""] = ["ACME", "ACMEP"].map((name) =>
      demo.coinTypes.find((type) => type.includes(name)),
    );
    expect(demo.coinTypes[0]).toBe(six);
    expect(nine).not.toBe("");
    const views = [
      ...[...new Set([...PAGES, ...WITH_AMOUNTS])].map((view) => ({ view, token: six })),
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
        if (WITH_AMOUNTS.includes(view)) expect(shown.length, view).toBeGreaterThan(0);
        if (shown.some((text) => /^[\u2248<>]/.test(text))) rounded.add(width);
      }
      expect(complaints, view).toEqual([]);
    }
    expect(rounded).toEqual(new Set([PHONE, NARROW]));
  }, 240_000);

  /** A view as an operator sees it. */
  const operatorAt = async (path: string): Promise<Watched> => {
    const watched = await tabOf("operator", 1280);
    await watched.page.goto(demo.url + path);
    return watched;
  };

  test("the lag of the last 24 hours is drawn with values that the keyboard reads out, for one pipeline or the slowest", async () => {
    await using watched = await operatorAt("/status");
    const { page, complaints } = watched;
    const chart = page.getByRole("slider", { name: /^Lag, last 24 hours/ });
    await chart.focus();
    await page.keyboard.press("Home");
    expect(await chart.getAttribute("aria-valuetext")).toMatch(/slowest pipeline: \d+ s$/);
    const table = page.getByRole("region", { name: "Lag, last 24 hours, values" });
    await page.getByLabel("Pipeline of the lag").selectOption("token_activity");
    await page.waitForURL(/pipeline=token_activity/);
    await table.getByText("Behind, token_activity").waitFor();
    await page.getByRole("slider", { name: /^Checkpoints a second/ }).focus();
    expect(complaints).toEqual([]);
  });

  test("while the service is away, Status says since when, what is left to do and what to run, and recovers by itself", async () => {
    await using watched = await operatorAt("/status");
    const { page } = watched;
    await settled(page);
    await demo.stop();
    await page
      .getByRole("heading", { name: /has not answered for \d+ s$/ })
      .waitFor({ timeout: 60_000 });
    await page.getByText("First request without an answer", { exact: false }).waitFor();
    for (const command of ["holderbook status", "holderbook doctor"]) {
      await page.getByRole("listitem").getByText(command, { exact: true }).first().waitFor();
    }
    expect(await page.getByText("could not be read").count()).toBe(0);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      expect(await faultsOf(page, `away-${width}`)).toEqual([]);
    }
    await demo.restart();
    await page
      .getByRole("heading", { name: /has not answered/ })
      .waitFor({ state: "detached", timeout: 120_000 });
  }, 300_000);

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
