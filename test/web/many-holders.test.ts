// @module-tag alone
/** A register of 100,000 holders in the page, served by the program as an operator starts it. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../../src/http/keys.ts";
import { PACKAGE } from "../graphql/api.ts";
import { addOwners, heldBy, ownerOf } from "../graphql/many-owners.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { chromiumHere, openBrowser, watch } from "./browser.ts";

const OWNERS = 100_000;

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  const running = new AsyncDisposableStack();
  let browser: Browser;
  let url: string;
  let key: string;

  beforeAll(async () => {
    const database = await freshDatabase();
    running.defer(() => database.close());
    await addOwners(database, OWNERS);
    key = (await createKey(database, { kind: "graphql" })).secret;
    const folder = running.use(await temporaryFolder());
    const program = running.use(
      startProgram(["serve", "graphql"], {
        PORT: "0",
        DATA_DIR: folder.path,
        DATABASE_URL: database.url,
        LEDGER_SOURCE: `dir:${folder.path}`,
        SECURITY_TOKEN_PACKAGES: PACKAGE,
        LOG_FORMAT: "json",
      }),
    );
    url = await listening(program.printed);
    browser = await openBrowser();
    running.defer(() => browser.close());
  }, 180_000);
  afterAll(() => running.disposeAsync());

  test("100,000 holders load, are searched and scroll as smoothly as an empty page", {
    timeout: 180_000,
  }, async () => {
    await using watched = await watch(browser, `${url}/cap-table`);
    const { page, complaints } = watched;
    let pagesRead = 0;
    page.on("requestfinished", (request) => {
      if (request.postData()?.includes("RegisterPage")) pagesRead += 1;
    });
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("100,000 rows", { exact: true }).waitFor({ timeout: 60_000 });

    const table = page.getByRole("region", { name: "Holders" });
    const drawn = await table.locator("tbody tr").count();
    expect(drawn, "rows that are drawn").toBeLessThan(100);
    // 50 of 60 frames a second, in terms of what this machine can do in the same moment; other tests take
    // their share of it, so a moment is waited for.
    const smoothness = async () => {
      const bare = await framesWhile(page, null);
      const scrolled = await framesWhile(page, '[aria-label="Holders"]');
      expect(scrolled.moved, "pixels").toBeGreaterThan(0);
      return scrolled.perSecond / bare.perSecond;
    };
    await expect.poll(smoothness, { timeout: 90_000 }).toBeGreaterThan(0.8);

    // The last row is there, and its exact amount.
    await table.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    const last = ownerOf(OWNERS);
    await table.getByTitle(last).waitFor();
    const smallest = heldBy(OWNERS, OWNERS).toString();
    expect(smallest).toBe("1000001");
    await table.getByText("1.000001").first().waitFor();

    await page.getByRole("searchbox", { name: "Search" }).fill(ownerOf(77_777));
    await page.getByText("1 of 100,000 rows").waitFor();

    // Each row was read once, and a holder opened or read again is one row more, not the register.
    expect(pagesRead).toBe(OWNERS / 1_000);
    await table.getByRole("link").first().click();
    await page.getByText("One wallet", { exact: true }).waitFor();
    await expect.poll(() => pagesRead).toBe(OWNERS / 1_000 + 1);
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect.poll(() => pagesRead, { timeout: 60_000 }).toBe(OWNERS / 1_000 + 2);
    await page.getByRole("button", { name: "Refresh", exact: true, disabled: false }).waitFor();
    expect(complaints).toEqual([]);
  });
});

/** Frames a second over two seconds, while a box is scrolled by 150 pixels in each, or nothing is. */
const framesWhile = (page: Page, box: string | null) =>
  page.evaluate(
    (selector) =>
      new Promise<{ perSecond: number; moved: number }>((resolve) => {
        const element = selector === null ? null : document.querySelector(selector);
        const began = performance.now();
        let frames = 0;
        const draw = (now: number) => {
          frames += 1;
          element?.scrollBy(0, 150);
          if (now - began < 2_000) requestAnimationFrame(draw);
          else {
            const perSecond = (frames * 1_000) / (now - began);
            resolve({ perSecond, moved: element?.scrollTop ?? 0 });
          }
        };
        requestAnimationFrame(draw);
      }),
    box,
  );

/** The URL that a program prints on either output, once it is ready: the port answers 503 before. */
const listening = (printed: { readonly stdout: string; readonly stderr: string }) =>
  eventually("the service is ready", async () => {
    const found = /listening on (http:\/\/[\w.:]+)/.exec(printed.stdout + printed.stderr)?.[1];
    if (found === undefined) return { seen: printed };
    const { status } = await fetch(`${found}/ready`);
    return status === 200 ? { done: found } : { seen: status };
  });
