// @module-tag thorough
/** What a person sees of a token in quarantine: the line on Status, and the token's own views. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumHere, openBrowser, PHONE, watch } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { seriousFaults, settled, tooWide } from "./views.ts";

/** Where to keep pictures of what is seen; none unless set. */
const PICTURES = process.env.PICTURES;

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  let demo: Demo;
  let browser: Browser;
  let coinType = "";
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
    coinType = demo.coinTypes.find((type) => type.includes("BIRCH")) ?? "";
    const held = {
      from: "400",
      reason: "shared_token_objects: cannot read the object SharedToken at checkpoint 400",
      since: new Date().toISOString(),
    };
    for (const pipeline of ["shared_token_objects", "token_activity"]) {
      await demo.database.sql`
        update ${demo.database.sql(`${pipeline}_watermark`)}
        set held = ${JSON.stringify({ [coinType]: held })}::text::jsonb`;
    }
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.[Symbol.asyncDispose]();
  });

  const open = (path: string, width?: number) => {
    const url = new URL(path, demo.url);
    url.searchParams.set("token", coinType);
    return watch(browser, url.href, width === undefined ? {} : { width, height: 844 });
  };

  test.each([undefined, PHONE])(
    "Status names it with what to run, at a desk and on a phone (%s)",
    async (width) => {
      await using watched = await open("/status", width);
      const { page, complaints } = watched;
      await page.getByText("BIRCH is in quarantine since checkpoint 400").first().waitFor();
      await page.getByText(`holderbook quarantine retry ${coinType}`).first().waitFor();
      expect(await tooWide(page)).toEqual([]);
      expect(await seriousFaults(page, "light")).toEqual([]);
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/status-${width ?? "desk"}.png` });
      expect(complaints).toEqual([]);
    },
  );

  test("its views say so in place of figures, and lead to the state before", async () => {
    await using watched = await open("/cap-table");
    const { page, complaints } = watched;
    await page.getByText("BIRCH is in quarantine since checkpoint 400").first().waitFor();
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/cap-table.png` });
    await page.getByRole("button", { name: "Show the state before" }).first().click();
    await page.locator("[data-amount]").first().waitFor();
    await settled(page);
    expect(new URL(page.url()).searchParams.get("at")).toMatch(/\d{10}/);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/cap-table-before.png` });

    const moved = new URL("/movements", demo.url);
    moved.searchParams.set("token", coinType);
    await page.goto(moved.href);
    await page.getByText("BIRCH is in quarantine since checkpoint 400").first().waitFor();
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/movements.png` });
    await page.getByRole("button", { name: "Show the state before" }).first().click();
    await page.locator("[data-amount]").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/cap-table");
    expect(complaints).toEqual([]);
  });
});
