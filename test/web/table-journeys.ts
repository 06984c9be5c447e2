/** What people do with the page's tables: order, columns, search, rows as a file, and the same on a phone. */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { PHONE, watch } from "./browser.ts";
import type { Demo } from "./demo.ts";
import { settled } from "./views.ts";

/** Tests for the service and the browser of the file that calls this. */
export const tableJourneys = (demo: () => Demo, browser: () => Browser): void => {
  /** The register as of a moment that lies behind, so that no row moves meanwhile. */
  const open = async (look?: Parameters<typeof watch>[2], more = "") => {
    const url = new URL(`/cap-table?at=${past}${more}`, demo().url);
    url.searchParams.set("token", demo().coinTypes[0] ?? "");
    const watched = await watch(browser(), url.href, look);
    await settled(watched.page);
    return watched;
  };
  const past = Math.floor(Date.now() / 1_000) - 7 * 86_400;

  test("a table's order, columns and search are in its address: who opens the address sees the same, and this browser remembers the columns", async () => {
    await using watched = await open();
    const { page } = watched;
    expect(await headings(page)).toContain("Locked ACME");
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByLabel("Locked", { exact: true }).uncheck();
    await page.getByLabel("Tokens", { exact: true }).check();
    await page.keyboard.press("Escape");
    await expect.poll(() => headings(page)).not.toContain("Locked ACME");
    await page.getByRole("button", { name: /^Balance/ }).click();
    await page.getByRole("button", { name: /^Balance/ }).click();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    const named = page
      .getByRole("region", { name: "Holders" })
      .getByRole("link", { name: /^Holder/ });
    const holder = ((await named.first().textContent()) ?? "").replace("Holder ", "");
    await page.getByRole("searchbox", { name: "Search" }).fill(holder);
    await page.waitForURL(/find=/);
    await expect.poll(async () => (await rowsOf(page)).length).toBe(1);
    const shared = page.url();
    const seen = await rowsOf(page);
    expect(await headings(page)).toContain("Tokens ACME");

    {
      await using other = await watch(browser(), shared);
      await settled(other.page);
      await expect.poll(() => rowsOf(other.page)).toEqual(seen);
      expect(await headings(other.page)).toEqual(await headings(page));
    }
    // The same tab later, by the menu: the columns, and no longer the order.
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.waitForURL(/\/roles/);
    await page.getByRole("link", { name: "Cap table", exact: true }).click();
    await page.waitForURL(/columns=/);
    await expect.poll(() => headings(page)).toContain("Tokens ACME");
    expect(page.url()).not.toMatch(/sort=|find=/);
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("button", { name: "Default columns" }).click();
    await expect.poll(() => headings(page)).toContain("Locked ACME");
  });

  test("headings stay in sight while the rows scroll, and end where their figures end", async () => {
    await using watched = await open({ height: 500 });
    const { page } = watched;
    const box = page.getByRole("region", { name: "Holders" });
    await box.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const places = await box.evaluate((element) => {
      const right = (of: Element | null | undefined) => {
        const range = document.createRange();
        if (of != null) range.selectNodeContents(of);
        return range.getBoundingClientRect().right;
      };
      const heads = [...element.querySelectorAll("th")];
      const row = element.querySelector("tbody tr");
      const at = heads.findIndex((head) => head.textContent?.startsWith("Balance"));
      return {
        scrolled: element.scrollTop,
        top: (heads[0]?.getBoundingClientRect().top ?? 0) - element.getBoundingClientRect().top,
        apart: Math.abs(
          right(heads[at]?.querySelector("button > span")) - right(row?.children[at]),
        ),
      };
    });
    expect(places.scrolled).toBeGreaterThan(0);
    expect(Math.abs(places.top)).toBeLessThan(2);
    expect(places.apart).toBeLessThan(2);
  });

  test("the rows that are seen are exported in their order, with exact amounts and whole addresses", async () => {
    await using watched = await open({}, "&only=frozen&sort=balance");
    const { page } = watched;
    const seen = await rowsOf(page);
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export rows" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^acme-holders-\d+\.csv$/);
    const text = await readFile(await download.path(), "utf8");
    const [head = "", ...lines] = text.trimEnd().split("\r\n");
    expect(head).toMatch(/^Holder,Wallets,Balance \(ACME\),.*,Share$/);
    expect(lines.length).toBe(seen.length);
    const balances = lines.map((line) => {
      expect(line).toMatch(/^\d+,(?:0x[0-9a-f]{64} ?)+,\d+\.\d{6},/);
      return BigInt((line.split(",")[2] ?? "").replace(".", ""));
    });
    expect(balances.length).toBeGreaterThan(0);
    expect(balances).toEqual(balances.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test("on a phone each row opens to the columns that have no room, by touch and by keyboard", async () => {
    await using watched = await open({ width: PHONE, height: 844 });
    const { page } = watched;
    expect(await headings(page)).not.toContain("Wallets");
    const table = page.getByRole("region", { name: "Holders" });
    const more = table.getByRole("button", { name: "More of this row" });
    await more.first().click();
    await table.getByText("Wallets", { exact: true }).waitFor();
    await table.getByRole("button", { name: "Copy address" }).first().waitFor();
    for (const name of ["Tokens ACME", "Unlocked ACME", "Locked ACME"]) {
      await table.getByText(name, { exact: true }).waitFor();
    }
    await table.getByRole("button", { name: "Less of this row" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => table.getByText("Wallets", { exact: true }).count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(
      true,
    );
    expect(await table.evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
  });

  test("a time is chosen from usual moments, or typed: a day is its end, and what is no time says so", async () => {
    await using watched = await open();
    const { page } = watched;
    await page.getByLabel("At, usual moments").selectOption("End of last month");
    const now = new Date();
    const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) / 1_000 - 1;
    await page.waitForURL(new RegExp(`at=%22${end}%22`));
    const field = page.getByLabel("At, UTC");
    await expect.poll(() => field.inputValue()).toMatch(/-\d\d 23:59:59$/);
    const day = new Date((past - 86_400) * 1_000).toISOString().slice(0, 10);
    await field.fill(day);
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`at=%22${Date.parse(`${day}T23:59:59Z`) / 1_000}%22`));
    await field.fill("yesterday");
    await page.getByText("Such as 2026-05-04 13:02:11").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await page.keyboard.press("Escape");
    await expect.poll(() => field.inputValue()).toBe(`${day} 23:59:59`);
  });
};

const headings = (page: Page): Promise<readonly string[]> =>
  page.locator("#content th").allTextContents();

/** Texts of the rows. */
const rowsOf = (page: Page): Promise<readonly string[]> =>
  page.getByRole("region", { name: "Holders" }).locator("tbody tr").allTextContents();
