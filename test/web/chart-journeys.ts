/** What people do with the page's charts: read their values by pointing and by keyboard, and save them. */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { watch } from "./browser.ts";
import type { Demo } from "./demo.ts";
import { seriousFaults, settled } from "./views.ts";

/** Tests for the service and the browser of the file that calls this. */
export const chartJourneys = (demo: () => Demo, browser: () => Browser): void => {
  /** As of a moment that lies behind, so that no chart moves meanwhile. */
  const open = async (show: string) => {
    const past = Math.floor(Date.now() / 1_000) - 30 * 86_400;
    const url = new URL(`/cap-table?at=${past}&show=${show}`, demo().url);
    url.searchParams.set("token", demo().coinTypes[0] ?? "");
    const watched = await watch(browser(), url.href);
    await settled(watched.page);
    return watched;
  };

  test("a chart's values are reached by arrow keys, read out, and lead to the holder", async () => {
    await using watched = await open("concentration");
    const { page, complaints } = watched;
    const map = page.getByRole("slider", { name: /^Holdings by size/ });
    await drawn(page);
    await map.focus();
    const table = page.getByRole("region", { name: "Holdings by size, values" });
    const rowTexts = await table.locator("tbody tr").allTextContents();
    const value = () => map.getAttribute("aria-valuetext");
    const first = (await value()) ?? "";
    expect(rowTexts[0]).toContain(/^(.*?), /.exec(first)?.[1]);
    expect(first).toMatch(/, [\d,.]+ ACME, \d+\.\d\d %/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(value).not.toBe(first);
    await page.keyboard.press("End");
    expect(await map.getAttribute("aria-valuenow")).toBe(await map.getAttribute("aria-valuemax"));
    await page.keyboard.press("Home");
    await expect.poll(value).toBe(first);
    expect(await seriousFaults(page, "light")).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/holder\//);
    expect(complaints).toEqual([]);
  });

  test("a chart is saved as a picture, and its values exactly", async () => {
    await using watched = await open("concentration");
    const { page } = watched;
    await drawn(page);
    const saved = async (name: string) => {
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name }).click();
      const download = await downloading;
      return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
    };
    const picture = await saved("Holdings by size as PNG");
    expect(picture.name).toMatch(/^holdings-by-size-acme-.*\.png$/);
    expect(picture.bytes.subarray(1, 4).toString()).toBe("PNG");
    // Width and height of the header: more than an empty head.
    expect(picture.bytes.readUInt32BE(16)).toBeGreaterThan(600);
    expect(picture.bytes.readUInt32BE(20)).toBeGreaterThan(600);
    const values = await saved("Holdings by size as CSV");
    const [head, ...lines] = values.bytes.toString("utf8").trimEnd().split("\r\n");
    expect(head).toBe("Holder,Label,Balance (ACME),Share,State");
    const [largest = ""] = lines;
    expect(largest).toMatch(/^\d+,.*,\d+\.\d{6},0\.\d+,/);
  });

  test("activity and concentration over time have marked axes, a legend, a table, and say where they begin", async () => {
    await using watched = await open("history");
    const { page, complaints } = watched;
    await page.getByText(/All [\d,]+ movements|The newest [\d,]+ movements, from/).waitFor();
    const activity = page.getByRole("slider", { name: /^Activity/ });
    expect(await activity.getAttribute("aria-valuetext")).toMatch(/Issued: [\d,]+, Burned: [\d,]+/);
    await page.getByRole("button", { name: "Show amounts" }).click();
    await expect
      .poll(() => activity.getAttribute("aria-valuetext"))
      .toMatch(/Issued: [\d,.]+ ACME/);
    const shares = page.getByRole("region", { name: "Concentration over time, values" });
    await shares.locator("tbody tr").first().waitFor();
    expect(await shares.locator("tbody tr").count()).toBe(13);
    for (const title of ["Supply", "Holders"]) {
      const chart = page.getByRole("slider", { name: new RegExp(`^${title}:`) });
      expect(await chart.getAttribute("aria-valuetext")).toMatch(/(?:Issued|Holders): [\d,.]+/);
    }
    await shares.getByText("Largest 10", { exact: false }).first().waitFor();
    await drawn(page);
    expect(await seriousFaults(page, "light")).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("today has three figures whose trends are read out, events that open whole, unlocks with sums, and every token", async () => {
    const url = new URL("/", demo().url);
    url.searchParams.set("token", demo().coinTypes[0] ?? "");
    url.searchParams.set("since", `${Math.floor(Date.now() / 1_000) - 60 * 86_400}`);
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    await page.getByRole("img", { name: /^Issued from .*: from [\d,.]+ to [\d,.]+$/ }).waitFor();
    await page.getByRole("img", { name: /^Holders from .*: from \d+ to \d+$/ }).waitFor();
    await page
      .getByRole("img", { name: /Moved since then, in 12|newest 5,000 movements/ })
      .waitFor();
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: /^Changes of the holder register/ }),
    });
    expect(await card.getByRole("listitem").count()).toBe(9);
    // Every row leads to the holder that it is about.
    const heading = (await card.getByRole("heading").textContent()) ?? "";
    const all = Number((/: ([\d,]+)$/.exec(heading)?.[1] ?? "").replaceAll(",", ""));
    expect(all).toBeGreaterThan(8);
    await card.getByRole("button", { name: /^Show/ }).click();
    await expect
      .poll(() => card.getByRole("listitem").getByRole("link").count())
      .toBeGreaterThanOrEqual(Math.min(all, 208));
    await page.getByRole("heading", { name: `${demo().coinTypes.length} tokens` }).waitFor();
    // Of common shares nothing vests.
    url.searchParams.set("token", demo().coinTypes.find((type) => /Options/.test(type)) ?? "");
    await page.goto(url.href);
    for (const days of [7, 30, 90]) await page.getByText(`in ${days} days`).waitFor();
    await settled(page);
    expect(await seriousFaults(page, "light")).toEqual([]);
    expect(complaints).toEqual([]);
  });
};

/** Until each chart is on its canvas. */
const drawn = (page: Page) =>
  page.waitForFunction(() => {
    const charts = [...document.querySelectorAll("[role=slider][aria-roledescription=chart]")];
    return charts.length > 0 && charts.every((chart) => chart.querySelector("canvas") !== null);
  });
