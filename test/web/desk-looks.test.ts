// @module-tag thorough
/**
 * An operator's views at four widths in both themes, with a day of history behind them and things paused: accessible,
 * no wider than the window, and nothing moves while they load. Then what Status says while the service is away.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { haveStatusDay } from "../projections/status-day.ts";
import { chromiumHere, openBrowser, type Watched, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { noteShifts, seriousFaults, settled, shiftedTooFar, tooWide } from "./views.ts";

const WIDTHS = [360, 768, 1280, 1920];

/** Where to keep pictures of what is seen; none unless set. */
const PICTURES = process.env.PICTURES;

const begun = z.object({ requestId: z.string() });
const sentTest = z.object({ deliveryId: z.string() });

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  let demo: Demo;
  let browser: Browser;
  let paths: readonly string[] = [];
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
    await haveStatusDay(demo.database);
    const { requestId } = begun.parse(await send("POST", "/demo/tour"));
    const event = await send("POST", "/operator/receivers/ta%3Ademo-a/test-event");
    const { deliveryId } = sentTest.parse(event);
    await send("PUT", "/operator/pauses/asset/demo-b", { reason: "incident 12" });
    await send("PUT", "/operator/pauses/receiver/ta%3Ademo-b");
    await send("PUT", "/operator/pauses/pipeline/role_changes", { reason: "a look at its rows" });
    paths = [
      "/status",
      "/requests",
      `/requests/${requestId}`,
      "/deliveries",
      `/deliveries?delivery=${deliveryId}`,
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

  /** Opens the page signed in with the demo's operator key. */
  const open = async (path: string, width = 1280): Promise<Watched> => {
    const watched = await watch(browser, `${demo.url}/health`, { width, height: 900 });
    await watched.context.addInitScript(noteShifts);
    await watched.context.addInitScript(() =>
      sessionStorage.setItem("holderbook.demo-kind", "operator"),
    );
    await watched.page.goto(demo.url + path);
    return watched;
  };

  /** Faults in either theme. */
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
      const file = `${PICTURES}/${name}-${colorScheme}.png`;
      if (PICTURES) await page.screenshot({ path: file, fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
    return found;
  };

  test.each(WIDTHS)(
    "an operator's views are accessible, fit and stay where they are, %s pixels wide",
    { timeout: 300_000 },
    async (width) => {
      await using watched = await open("/check", width);
      const { page, complaints } = watched;
      const found: string[] = [];
      for (const [index, path] of paths.entries()) {
        await page.goto(demo.url + path);
        await page
          .locator("#menu")
          .getByText("operator key")
          .first()
          .waitFor({ state: "attached" });
        await settled(page);
        await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
        found.push(...(await shiftedTooFar(page, path)));
        found.push(
          ...(await faultsOf(page, `${index}-${width}`)).map((fault) => `${path}: ${fault}`),
        );
      }
      expect(found).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );

  test("the lag of the last 24 hours is drawn with values that the keyboard reads out, for one pipeline or the slowest", async () => {
    await using watched = await open("/status");
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
    await using watched = await open("/status");
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
});
