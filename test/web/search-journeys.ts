/** What the search of the page finds by asking the service: whatever the page shows, shortened or whole, and names. */
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../service/process.ts";
import { watch } from "./browser.ts";
import type { Demo } from "./demo.ts";
import { searchField, seriousFaults, settled } from "./views.ts";

const register = z.object({
  data: z.object({
    capTable: z.object({
      rows: z.array(
        z.object({
          holderId: z.string().nullable(),
          label: z.string().nullable(),
          wallets: z.array(z.object({ address: z.string() })),
        }),
      ),
    }),
    tokenActivity: z.array(z.object({ eventId: z.string(), txDigest: z.string() })),
  }),
});

/** As the page shortens it. */
const shortened = (text: string) => `${text.slice(0, 6)}…${text.slice(-4)}`;

/** Tests for the service and the browser of the file that calls this. */
export const searchJourneys = (demo: () => Demo, browser: () => Browser): void => {
  const token = () => demo().coinTypes[0] ?? "";

  const known = async () => {
    const query = `{
      capTable(coinType: "${token()}", limit: 100) { rows { holderId label wallets { address } } }
      tokenActivity(coinType: "${token()}", limit: 1) { eventId txDigest }
    }`;
    const answer = await fetch(`${demo().url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": demo().readKey },
      body: JSON.stringify({ query }),
    });
    const { capTable, tokenActivity } = register.parse(await answer.json()).data;
    const named = capTable.rows.find(
      ({ holderId, label, wallets }) => holderId !== null && label !== null && wallets.length === 1,
    );
    const [movement] = tokenActivity;
    if (named === undefined || movement === undefined) throw new Error("the demo has no such row");
    return {
      ...named,
      label: named.label ?? "",
      address: named.wallets[0]?.address ?? "",
      movement,
    };
  };

  const find = async (page: Page, text: string) => {
    await page.keyboard.press("Control+k");
    await searchField(page);
    await page.keyboard.type(text);
  };

  test("a label, a shortened address, the beginning of a digest and an event's id lead to their views, by keyboard alone", async () => {
    const { holderId, label, address, movement } = await known();
    const url = new URL("/cap-table", demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    const { eventId, txDigest } = movement;
    for (const { text, group, leads } of [
      { text: label, group: "Holders", leads: `/holder/${holderId}` },
      { text: shortened(address), group: "Wallets", leads: `/wallet/${address}` },
      { text: txDigest.slice(0, 8), group: "Transactions", leads: `/transaction/${txDigest}` },
      { text: shortened(txDigest), group: "Transactions", leads: `/transaction/${txDigest}` },
      { text: eventId, group: "Events", leads: `/transaction/${txDigest}` },
    ]) {
      await find(page, text);
      await page.getByRole("group", { name: group }).getByRole("option").first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL((to) => to.pathname === leads);
      await settled(page);
    }
    // What was opened is offered again, without the name that led there.
    await page.keyboard.press("Control+k");
    const recent = page.getByRole("group", { name: "Recent" }).getByRole("option");
    await recent.filter({ hasText: `Holder ${holderId}` }).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem("holderbook.recent"))).not.toContain(
      label,
    );
    await page.keyboard.press("Escape");
    // A number that is no holder of this token leads to none.
    await find(page, "Holder 987654321");
    await page.getByText("Nothing found for “Holder 987654321”.").waitFor();
    expect(await seriousFaults(page, "light")).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("an operator finds a request and a delivery by their ids; a reader is asked nothing about them", async () => {
    const headers = { "x-api-key": demo().operatorKey };
    const items = z.object({ items: z.array(z.object({ id: z.string() })) });
    const newest = async (path: string) => {
      const answer = await fetch(`${demo().url}${path}?limit=1`, { headers });
      return items.parse(await answer.json()).items[0]?.id;
    };
    await using started = await watch(browser(), `${demo().url}/tour`);
    await started.page.getByRole("button", { name: "Start the tour" }).click();
    const ids = await eventually("a request has a delivery", async () => {
      const [request, delivery] = [
        await newest("/operator/requests"),
        await newest("/operator/deliveries"),
      ];
      const seen = `${request} ${delivery}`;
      return request === undefined || delivery === undefined
        ? { seen }
        : { done: { request, delivery } };
    });

    await using watched = await watch(browser(), `${demo().url}/requests`, { stranger: true });
    const { page, complaints } = watched;
    await page.getByLabel("API key").fill(demo().operatorKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await settled(page);
    await find(page, ids.request);
    await page.getByRole("group", { name: "Requests" }).getByRole("option").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL((to) => to.pathname === `/requests/${ids.request}`);
    await find(page, ids.delivery);
    await page.getByRole("group", { name: "Deliveries" }).getByRole("option").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL((to) => to.searchParams.get("delivery")?.includes(ids.delivery) === true);

    const asked: string[] = [];
    started.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await find(started.page, ids.request);
    await started.page.getByText(/^Nothing found for/).waitFor();
    expect(asked).toContain("/graphql");
    expect(asked).not.toContain("/operator/search");
    expect(complaints).toEqual([]);
  }, 90_000);

  test("a wallet's view shows it in every token, with its holder, and leads to the holder and to its movements", async () => {
    const { holderId, label, address } = await known();
    const url = new URL(`/wallet/${address}`, demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    const table = page.getByRole("region", { name: "Tokens of this wallet" });
    const row = table.locator("tbody tr").filter({ hasText: `Holder ${holderId}` });
    // Labels of another token than the one in view are read apart.
    await row.first().getByText(label).waitFor();
    expect(await row.first().textContent()).toMatch(/^ACME.*active/);
    expect(await seriousFaults(page, "light")).toEqual([]);
    await row.getByRole("link", { name: "Movements" }).first().click();
    await page.waitForURL(/\/movements\?.*wallet=0x/);
    await page.getByRole("region", { name: "Movements of this wallet" }).waitFor();
    await page.goBack();
    await row
      .getByRole("link", { name: `Holder ${holderId}` })
      .first()
      .click();
    await page.waitForURL((to) => to.pathname === `/holder/${holderId}`);

    await page.goto(`${demo().url}/wallet/0xabc`);
    await page.getByText("The register knows nothing of this wallet").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a holder's statement is saved as a PDF, and its events are asked for alone", async () => {
    const { holderId } = await known();
    const url = new URL(`/holder/${holderId}`, demo().url);
    url.searchParams.set("token", token());
    await using watched = await watch(browser(), url.href);
    const { page, complaints } = watched;
    await settled(page);
    const events = page.getByRole("region", { name: "Events of this holder" });
    await events.getByText(`Wallet added to holder ${holderId}`).first().waitFor();
    const texts = await events.locator("tbody tr").allInnerTexts();
    for (const [, of] of texts.join("\n").matchAll(/holder (\d+)/g)) expect(of).toBe(holderId);
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Statement as PDF" }).click();
    const name = (await downloading).suggestedFilename();
    expect(name).toMatch(new RegExp(`^statement-.*holder-${holderId}\\.pdf$`));
    expect(complaints).toEqual([]);
  });
};
