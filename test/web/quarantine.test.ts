// @module-tag thorough
/** What a person sees of a token in quarantine, and of an incomplete one: the line on Status, and the token's own views. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noteProcess } from "../../src/log/process-notes.ts";
import { keepProof } from "../audit/complete-proofs.ts";
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
    coinType = demo.coinTypes.find((type) => type.includes("ACMEP")) ?? "";
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

  const open = (path: string, width?: number, token = coinType, theme?: "dark") => {
    const url = new URL(path, demo.url);
    url.searchParams.set("token", token);
    return watch(browser, url.href, {
      ...(width !== undefined && { width, height: 844 }),
      ...(theme && { theme }),
    });
  };

  const picture = async (page: Page, name: string) => {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` });
  };

  test.each([undefined, PHONE])(
    "Status names it with what to run, at a desk and on a phone (%s)",
    async (width) => {
      await using watched = await open("/status", width);
      const { page, complaints } = watched;
      await page.getByText("ACMEP is in quarantine since checkpoint 400").first().waitFor();
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
    await page.getByText("ACMEP is in quarantine since checkpoint 400").first().waitFor();
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/cap-table.png` });
    await page.getByRole("button", { name: "Show the state before" }).first().click();
    await page.locator("[data-amount]").first().waitFor();
    await settled(page);
    expect(new URL(page.url()).searchParams.get("at")).toMatch(/\d{10}/);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/cap-table-before.png` });

    const moved = new URL("/movements", demo.url);
    moved.searchParams.set("token", coinType);
    await page.goto(moved.href);
    await page.getByText("ACMEP is in quarantine since checkpoint 400").first().waitFor();
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/movements.png` });
    await page.getByRole("button", { name: "Show the state before" }).first().click();
    await page.locator("[data-amount]").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/cap-table");
    expect(complaints).toEqual([]);
  });

  describe("of an incomplete token, while another range is read guided", () => {
    let acme = "";
    let noting: ReturnType<typeof setInterval> | undefined;
    const [from, through] = ["300", 500n];
    const why = "nothing that was read wrote it";
    beforeAll(async () => {
      acme = demo.coinTypes.find((type) => type.includes("ACME")) ?? "";
      const missing = { coinType: acme, objectId: `0x${"7".repeat(64)}`, version: "17", from, why };
      await keepProof(demo.database, { coinType: acme, through, incomplete: [missing] });
      const [bytes, last] = [4_700_000_000, "306120456"];
      const counts = { fetched: 10_100, bytes, objects: 12_345, open: 3 };
      const guided = { step: "walking back", ...counts, at: "281004519", last };
      const own = { id: crypto.randomUUID(), pid: 1, host: "elsewhere" };
      const note = () =>
        noteProcess(demo.database.sql, own, {
          ...{ queue: null, signers: [], signing: null, guided, backfill: null },
        });
      await note();
      // As its process does: an older note says nothing of now.
      noting = setInterval(() => void note(), 2_000);
    });
    afterAll(() => clearInterval(noting));

    test.each([
      [undefined, undefined],
      [undefined, "dark"],
      [PHONE, undefined],
      [PHONE, "dark"],
    ] as const)(
      "Status and Proof name it, with object and version, and how far the reading is (%s, %s)",
      async (width, theme) => {
        await using watched = await open("/status", width, acme, theme);
        const { page, complaints } = watched;
        const name = `${width ?? "desk"}-${theme ?? "light"}`;
        await page.getByText("ACME is incomplete since checkpoint 300").first().waitFor();
        await page.getByText(`holderbook prove complete --coin '${acme}'`).first().waitFor();
        await page.getByText("walking back, at 281,004,519 of 306,120,456").waitFor();
        await page.getByText("10,100 checkpoints, 4,482 MiB").waitFor();
        await page.getByText("12,345, 3 with a gap").waitFor();
        expect(await tooWide(page)).toEqual([]);
        expect(await seriousFaults(page, theme ?? "light")).toEqual([]);
        await picture(page, `incomplete-status-${name}`);

        await page.goto(new URL(`/proof?token=${acme}`, demo.url).href);
        await page.getByText("A change of ACME is missing from checkpoint 300 on").waitFor();
        await settled(page);
        expect(await tooWide(page)).toEqual([]);
        expect(await seriousFaults(page, theme ?? "light")).toEqual([]);
        await picture(page, `incomplete-proof-${name}`);
        expect(complaints).toEqual([]);
      },
    );

    test("it stays in the list of tokens, and its views lead to the state before", async () => {
      await using watched = await open("/cap-table", undefined, acme);
      const { page } = watched;
      await page.getByText("ACME is incomplete since checkpoint 300").first().waitFor();
      await page.getByRole("button", { name: "Show the state before" }).first().click();
      await page.locator("[data-amount]").first().waitFor();
    });

    test("once it is proven again, Proof says through which checkpoint it is complete", async () => {
      await keepProof(demo.database, { coinType: acme, through });
      await using watched = await open("/proof", undefined, acme);
      const { page } = watched;
      await page.getByText("No change of ACME is missing through checkpoint 500").waitFor();
      await picture(page, "complete-proof");
      await page.goto(new URL(`/proof?token=${coinType}`, demo.url).href);
      await page.getByText("No proof of completeness of ACMEP was made").waitFor();
    });
  });
});
