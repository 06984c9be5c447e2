/** What the frame of every view gives: sessions that stay, links, titles, prints, and checking without a key. */
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import { watch } from "./browser.ts";
import type { Demo } from "./demo.ts";
import { searchField, seriousFaults, settled } from "./views.ts";

const capTable = z.object({
  data: z.object({
    capTable: z.object({ rows: z.array(z.object({ holderId: z.string().nullable() })) }),
  }),
});

/** Tests for the service and the browser of the file that calls this. */
export const frameJourneys = (demo: () => Demo, browser: () => Browser): void => {
  const token = () => demo().coinTypes[0] ?? "";

  const largestHolder = async (): Promise<string> => {
    const query = `{ capTable(coinType: "${token()}", limit: 20) { rows { holderId } } }`;
    const answer = await fetch(`${demo().url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": demo().readKey },
      body: JSON.stringify({ query }),
    });
    const { rows } = capTable.parse(await answer.json()).data.capTable;
    return rows.find(({ holderId }) => holderId !== null)?.holderId ?? "";
  };

  const signIn = async (page: Page, { stay }: { readonly stay: boolean }) => {
    await page.getByLabel("API key").fill(demo().operatorKey);
    if (stay) await page.getByLabel("Stay signed in for 8 hours").check();
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#menu").getByText("operator key").waitFor();
  };

  test("an operator who asks for it stays signed in for this tab, until they sign out", async () => {
    await using watched = await watch(browser(), `${demo().url}/roles`, { stranger: true });
    const { page, context } = watched;
    await signIn(page, { stay: false });
    await page.reload();
    await signIn(page, { stay: true });
    await page
      .locator("#menu")
      .getByText(/^until \d\d:\d\d:\d\d UTC$|^until .* UTC$/)
      .waitFor();
    await page.reload();
    await page.locator("#menu").getByText("operator key").waitFor();
    const other = await context.newPage();
    await other.goto(`${demo().url}/roles`);
    await other.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("hb_");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.reload();
    await page.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain("hb_");
  });

  test("a session that stays ends after its hours, with the view open and after a reload", async () => {
    await using watched = await watch(browser(), `${demo().url}/health`, { stranger: true });
    const { page } = watched;
    await page.clock.install();
    await page.goto(`${demo().url}/roles`);
    await signIn(page, { stay: true });
    await page.clock.fastForward("08:00:01");
    await page.getByText("Your 8 hours are over.").waitFor();
    await signIn(page, { stay: true });
    await page.evaluate(() => {
      const { key } = JSON.parse(sessionStorage.getItem("holderbook.session") ?? "{}");
      sessionStorage.setItem("holderbook.session", JSON.stringify({ key, untilMs: Date.now() }));
    });
    await page.reload();
    await page.getByLabel("API key").waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem("holderbook.session"))).toBe(null);
  });

  test("the demo's bar stays with every key, and switches between the demo's read and operator keys", async () => {
    await using watched = await watch(browser(), `${demo().url}/requests`);
    const { page, complaints } = watched;
    await page.getByText("with a demo read key").waitFor();
    await page.getByRole("button", { name: "Use the operator key" }).click();
    await page.getByText("with a demo operator key").waitFor();
    await page.getByRole("heading", { name: "Requests", level: 1 }).waitFor();
    await page.reload();
    await page.getByText("with a demo operator key").waitFor();
    await page.getByRole("button", { name: "Use the read key" }).click();
    await page.getByText("with a demo read key").waitFor();
    await page.getByLabel("Operator key").fill(demo().operatorKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("with your own operator key").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a statement is checked at /check without a key, by a page that asks for nothing that needs one", async () => {
    const asked = new URL("/exports/statement", demo().url);
    asked.searchParams.set("coinType", token());
    asked.searchParams.set("holderId", await largestHolder());
    asked.searchParams.set("version", "2");
    const headers = { "x-api-key": demo().readKey };
    const statement = await (await fetch(asked, { headers })).text();
    const { root } = z.object({ root: z.string() }).parse(JSON.parse(statement));

    await using watched = await watch(browser(), `${demo().url}/health`, { stranger: true });
    const { page, complaints } = watched;
    const paths = new Set<string>();
    page.on("request", (request) => {
      expect(request.headers()["x-api-key"]).toBe(undefined);
      paths.add(new URL(request.url()).pathname.replace(/^\/assets\/.*/, "/assets"));
    });
    await page.goto(`${demo().url}/check`);
    await settled(page);
    expect(await page.title()).toBe("Check a file · Holderbook");
    await page
      .locator('input[type="file"]')
      .first()
      .setInputFiles({
        name: "statement.json",
        mimeType: "application/json",
        buffer: Buffer.from(statement),
      });
    await page.getByRole("heading", { name: "This statement is valid", exact: true }).waitFor();
    await page.getByText("a key of this service").waitFor();
    await page.getByRole("button", { name: "Compare with the published root" }).click();
    await page.getByText(/published (the same|no) root/).waitFor();
    await page.getByRole("img", { name: "QR code of the root" }).waitFor();
    expect(paths).toEqual(
      new Set(["/check", "/assets", "/page/settings", "/deployment-keys", "/roots"]),
    );
    // Paper has the root in full, and none of what is only for the screen.
    await page.emulateMedia({ media: "print" });
    await page.getByText(root, { exact: true }).waitFor();
    expect(await page.getByRole("button").filter({ visible: true }).count()).toBe(0);
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  });

  test("a copied link shows at any time what was shown when it was copied, and titles name view and token", async () => {
    const url = new URL("/cap-table", demo().url);
    url.searchParams.set("token", token());
    url.searchParams.set("only", "frozen");
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    await expect.poll(() => page.title()).toMatch(/^Cap table · ACME · Holderbook$/);
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByText("Copied", { exact: true }).waitFor();
    const copied = new URL(await page.evaluate(() => navigator.clipboard.readText()));
    expect(copied.searchParams.get("token")).toBe(token());
    expect(copied.searchParams.get("only")).toBe("frozen");
    const [, checkpoint = ""] = /^c(\d+)$/.exec(copied.searchParams.get("at") ?? "") ?? [];
    expect(Number(checkpoint)).toBeGreaterThan(0);

    await page.goto(copied.href);
    await settled(page);
    const proof = page.getByRole("link", {
      name: Number(checkpoint).toLocaleString("en"),
      exact: true,
    });
    await proof.waitFor();
    // It is one of the past: nothing there is replaced by what comes later.
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByText("Copied", { exact: true }).waitFor();
    expect(new URL(await page.evaluate(() => navigator.clipboard.readText())).href).toBe(
      copied.href,
    );
    for (const [path, title] of [
      ["/holder/1", "Holder 1 · ACME · Holderbook"],
      ["/roles", "Roles · ACME · Holderbook"],
      ["/status", "Status · Holderbook"],
    ] as const) {
      const other = new URL(path, demo().url);
      other.searchParams.set("token", token());
      other.searchParams.set("at", `c${checkpoint}`);
      await page.goto(other.href);
      await settled(page);
      await expect.poll(() => page.title()).toBe(title);
      expect(await page.getByText("could not be read").count(), path).toBe(0);
    }
    expect(complaints).toEqual([]);
  });

  test("an operator whose key sees labels labels a holder, sees the label beside its number everywhere, and removes it; other keys see none", async () => {
    const made = { kind: "operator", label: "names", seesLabels: true } as const;
    const { secret } = await createKey(demo().database, made);
    const url = new URL("/cap-table", demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href, { stranger: true });
    const { page, complaints } = watched;
    await page.getByLabel("API key").fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    const table = page.getByRole("region", { name: "Holders" });
    await table
      .getByRole("link", { name: /^Holder / })
      .first()
      .click();
    await page.getByRole("button", { name: /^(?:Label|Change the label of) / }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Label", { exact: true }).fill("Northwind Capital");
    expect(await seriousFaults(page, "light")).toEqual([]);
    await page.keyboard.press("Enter");
    await page.locator("#content header").getByText("Northwind Capital").waitFor();
    // Browsers keep titles: what is personal is not in them.
    expect(await page.title()).not.toContain("Northwind");
    await page.getByRole("link", { name: "Cap table", exact: true }).click();
    await table.getByText("Northwind Capital").waitFor();

    const unnamed = await createKey(demo().database, { kind: "graphql", label: "no names" });
    await using other = await watch(browser(), url.href, { stranger: true });
    await other.page.getByLabel("API key").fill(unnamed.secret);
    await other.page.getByRole("button", { name: "Sign in" }).click();
    await settled(other.page);
    await other.page.getByRole("region", { name: "Holders" }).getByRole("link").first().waitFor();
    expect(await other.page.getByText("Northwind").count()).toBe(0);
    expect(await other.page.getByRole("button", { name: /^Label / }).count()).toBe(0);

    await page.goBack();
    await page.getByRole("button", { name: /^Change the label of / }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: /^Label Holder \d+$/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a print has no menu, all rows, and begins with token, checkpoint, time and root", async () => {
    const url = new URL("/cap-table", demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href, { theme: "dark" });
    const { page, complaints } = watched;
    await settled(page);
    const printed = page.evaluate(
      () => new Promise<void>((resolve) => Object.assign(window, { print: resolve })),
    );
    await page.keyboard.press("Control+p");
    await printed;
    await page.emulateMedia({ media: "print" });
    for (const name of ["Checkpoint", "Time", "Root of all rows", "Coin type"]) {
      await page.getByRole("term").filter({ hasText: name }).first().waitFor();
    }
    const head = page.locator("#content header dl");
    expect(await head.textContent()).toMatch(/[0-9a-f]{64}/);
    expect(await page.locator("#menu").isVisible()).toBe(false);
    const body = page.locator("body");
    const colour = (name: string) =>
      body.evaluate((one, of) => getComputedStyle(one).getPropertyValue(of), name);
    expect(await colour("color")).toBe("rgb(0, 0, 0)");
    const title = await page.getByRole("heading", { name: /^\d+ rows$/ }).textContent();
    const drawn = page.getByRole("region", { name: "Holders" }).locator("tbody tr");
    expect(await drawn.count()).toBe(Number(title?.split(" ")[0]));
    expect(complaints).toEqual([]);
  });

  test("one search, by keyboard alone, leads from a number, a date, an address, a digest, a token and a name to its view", async () => {
    const url = new URL("/cap-table", demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    const address = await page
      .getByRole("region", { name: "Holders" })
      .locator('[title^="0x"]')
      .first()
      .getAttribute("title");
    const day = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
    const field = page.getByRole("combobox", { name: "Search" });
    const option = (name: string | RegExp) => page.getByRole("option", { name });
    const find = async (text: string, key = "Control+k") => {
      await page.keyboard.press(key);
      await searchField(page);
      await page.keyboard.type(text);
    };
    await find("Holder 12");
    // Of several tokens: this one's is first.
    await option(/^Holder 12/)
      .first()
      .waitFor();
    expect(await seriousFaults(page, "light")).toEqual([]);
    expect(await field.getAttribute("aria-activedescendant")).toBe(
      await option(/^Holder 12/)
        .first()
        .getAttribute("id"),
    );
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/holder\/12\?/);
    await page.getByRole("heading", { name: "Holder 12", level: 1 }).waitFor();

    await find("12", "/");
    await page.getByRole("group", { name: "Holders" }).waitFor();
    const checkpoint = page.getByRole("group", { name: "Checkpoints" }).getByRole("option");
    await checkpoint.waitFor();
    const isChosen = () => checkpoint.evaluate((one) => one.hasAttribute("data-highlighted"));
    await expect
      .poll(async () => {
        if (!(await isChosen())) await page.keyboard.press("ArrowDown");
        return isChosen();
      })
      .toBe(true);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/proof\?.*checkpoint=%2212%22/);

    for (const [text, leads] of [
      [address ?? "", new RegExp(`/wallet/${address}`)],
      [day, new RegExp(`/cap-table\\?.*at=%22${Date.parse(`${day}T23:59:59Z`) / 1_000}%22`)],
      ["4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T", /\/transaction\/4Nd1mBQ/],
      ["ACMEP", /token=[^&]*acmep/],
      ["deliver", /\/deliveries/],
    ] as const) {
      await find(text);
      await page.getByRole("option").first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(leads);
    }
    // The last finds are offered again in this tab, and forgotten with the session.
    await page.keyboard.press("Control+k");
    const recent = page.getByRole("group", { name: "Recent" });
    expect(await recent.getByRole("option").first().textContent()).toMatch(/^Deliveries/);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("recent");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Sign out" }).click();
    expect(await page.evaluate(() => sessionStorage.getItem("holderbook.recent"))).toBe(null);
    expect(complaints).toEqual([]);
  });
};
