/** What people do on the page, on the demo ledger that goes on meanwhile. */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { REPLAY_SCHEMA } from "../../src/database/work-schemas.ts";
import { type FactSource, factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { changeMovement } from "../projections/damage.ts";
import { PHONE, watch } from "./browser.ts";
import type { Demo } from "./demo.ts";

/** Tests for the service and the browser of the file that calls this. */
export const journeys = (demo: () => Demo, browser: () => Browser): void => {
  /** A page that opens signed in, at an address of the first token. */
  const open = (path: string, look?: Parameters<typeof watch>[2]) => {
    const url = new URL(path, demo().url);
    url.searchParams.set("token", demo().coinTypes[0] ?? "");
    return watch(browser(), url.href, look);
  };

  test("status updates by itself, and says so", async () => {
    await using watched = await open("/status");
    const { page } = watched;
    await page.getByText("Live: figures move as the service does").waitFor();
    const first = await checkpointShown(page);
    await expect.poll(() => checkpointShown(page)).toBeGreaterThan(first);
  });

  test("status shows a replay under way, which rows differed, and that the replayed rows are served", async () => {
    const { database } = demo();
    const pipelines = ledgerPipelines.filter(({ sharedTables = [] }) => sharedTables.length > 0);
    const log = factSource(database);
    const held = Promise.withResolvers<void>();
    const readFacts: FactSource["readFacts"] = async (query) => {
      if (query.from > 40n) await held.promise;
      return log.readFacts({ ...query, maxFacts: 20 });
    };
    const replaying = replay({
      pipelines,
      database,
      log: { ...log, readFacts },
      share: 1,
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    await using watched = await open("/status", { width: PHONE });
    const { page, complaints } = watched;
    const replays = page.getByRole("list").filter({ hasText: "shared_token_objects" });
    await replays
      .getByText(/^checkpoint \d+ of [\d,]+ · [\d,]+ per second · time left .+$/)
      .first()
      .waitFor();
    held.resolve();
    await using replayed = await replaying;
    // Not in the served rows: the service would find it, and be stalled until its next round.
    const owner = await changeMovement(database, 1n, REPLAY_SCHEMA);
    await replayed.compare();
    await replays.getByText("1 row differs", { exact: true }).waitFor();
    await replays.getByText("token_changes: 1 row differs").click();
    await replays.getByTitle(owner).waitFor();
    await replays.getByText("change", { exact: true }).waitFor();
    await replays.getByText(/identical/).waitFor();
    await changeMovement(database, -1n, REPLAY_SCHEMA);
    {
      await using on = await database.session();
      await replayed.swap(on);
    }
    // Nothing is under way that the page would follow: it looks once a minute.
    await page.reload();
    await expect.poll(() => replays.getByText("served", { exact: true }).count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  test("a register of the past stays fixed, at an address that can be shared", async () => {
    await using watched = await open("/cap-table");
    const { page } = watched;
    const issuedNow = await issued(page);
    // Most of the demo's history lies before this moment.
    const past = Math.floor(Date.now() / 1_000) - 30 * 86_400;
    await page.getByLabel("At, UTC").fill(new Date(past * 1_000).toISOString().slice(0, 19));
    await page.waitForURL(/at=%22/);
    await expect.poll(() => issued(page)).not.toBe(issuedNow);
    const then = await issued(page);
    const shared = page.url();
    expect(shared).toContain(`at=%22${past}%22`);

    await using again = await watch(browser(), shared);
    expect(await issued(again.page)).toBe(then);
    // A holder behind a row of the past is shown as of then.
    const behind = page.getByRole("region", { name: "Holders" }).getByRole("link").first();
    expect(await behind.getAttribute("href")).toContain(`at=%22${past}%22`);
    await behind.click();
    await page.getByText("of the issued tokens, one of").waitFor();
    await again.page.getByRole("button", { name: "Now", exact: true }).click();
    await expect.poll(() => issued(again.page)).not.toBe(then);
  });

  test("two dates are compared: new and exited holders add up to what was issued between", async () => {
    // Half of the demo's history lies after this moment, and a holder who left in it.
    const past = Math.floor(Date.now() / 1_000) - 400 * 86_400;
    await using watched = await open(`/cap-table?show=compare&with=${past}`);
    const { page } = watched;
    await page.getByText(/^[\d,]+ differences$/).waitFor();
    // Who left is behind a link to when it was still there.
    const differences = page.getByRole("region", { name: "Differences" });
    const left = differences
      .getByRole("row")
      .filter({ hasText: "exited" })
      .getByRole("link")
      .first();
    expect(await left.getAttribute("href")).toContain(`at=%22${past}%22`);
    // What is shown may be rounded, and says so.
    const change = async (label: string) => {
      const card = page.getByText(label, { exact: true }).first().locator("xpath=..");
      return exactly((await card.locator("[data-amount]").getAttribute("data-amount")) ?? "");
    };
    // The register moves meanwhile: figures of two looks need not add up.
    await expect
      .poll(async () => {
        const parts = await Promise.all(["New", "Exited", "Increased", "Decreased"].map(change));
        return parts.reduce((sum, part) => sum + part, -(await change("Issued between")));
      })
      .toBe(0n);
    await page.getByRole("button", { name: "New", exact: true }).click();
    await expect.poll(() => differences.getByText("exited").count()).toBe(0);
    await differences.getByText("new", { exact: true }).first().waitFor();
  });

  test("the register is downloaded as shown, in each form", async () => {
    await using watched = await open("/cap-table");
    const { page } = watched;
    await issued(page);
    for (const [name, holds] of [
      ["CSV", /^holder_id,.*\n\d*,[0x\da-f ]+,\d+\.\d+,/],
      ["CSV + proof", /^PK.*ACME-cap-table-\d+-about\.json/s],
      ["JSON", /"rows"|"holderId"/],
      ["OCF", /^PK/],
    ] as const) {
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name, exact: true }).click();
      const path = await (await downloading).path();
      expect(await readFile(path, "latin1"), name).toMatch(holds);
    }
  });

  test("amounts of a token with unknown decimals are labelled as the smallest unit", async () => {
    await using watched = await open("/cap-table");
    const { page } = watched;
    await issued(page);
    const note = page.getByText("are not known: amounts are in its smallest unit");
    expect(await note.count()).toBe(0);
    await page.route("**/graphql", async (route) => {
      if (route.request().headers().accept?.includes("event-stream")) return route.continue();
      const response = await route.fetch();
      const text = (await response.text()).replaceAll(/"decimals":\d+/g, '"decimals":null');
      await route.fulfill({ response, body: text });
    });
    await page.reload();
    await note.waitFor();
    await page.getByRole("button", { name: "CSV", exact: true }).waitFor();
  });

  test("a holder's statement is downloaded, dropped onto the page, and is valid; changed, it is not", async () => {
    await using watched = await open("/cap-table");
    const { page, complaints, elsewhere } = watched;
    await page.getByRole("region", { name: "Holders" }).getByRole("link").first().click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Statement", exact: true }).click();
    const path = await (await downloading).path();
    const text = await readFile(path, "utf8");

    await page.getByRole("link", { name: "Proof", exact: true }).click();
    const drop = (content: string) =>
      page
        .locator('input[type="file"]')
        .first()
        .setInputFiles({
          name: "statement.json",
          mimeType: "application/json",
          buffer: Buffer.from(content),
        });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
    await drop(text);
    await page.getByRole("heading", { name: "This statement is valid", exact: true }).waitFor();
    expect(asked.filter((one) => one.startsWith("POST") && !one.endsWith("/graphql"))).toEqual([]);

    const row = z.object({ row: z.object({ balance: z.string() }) }).parse(JSON.parse(text)).row;
    await drop(text.replaceAll(row.balance, `${BigInt(row.balance) + 1n}`));
    await page.getByRole("heading", { name: /^This statement is not valid/ }).waitFor();
    expect(complaints).toEqual([]);
    expect(elsewhere).toEqual([]);
  });

  test("a holder's page leads from wallets to movements, and an unknown holder says so", async () => {
    await using watched = await open("/holder/987654321");
    const { page } = watched;
    await page.getByText("Holder 987654321 held none of this token at that time").waitFor();
    await using known = await open("/cap-table");
    await known.page.getByRole("region", { name: "Holders" }).getByRole("link").first().click();
    await known.page.getByText("Register events").waitFor();
    await known.page.getByRole("region", { name: "Wallets" }).getByRole("link").first().click();
    await known.page.waitForURL(/wallet=0x/);
    await known.page.getByRole("region", { name: "Movements of this wallet" }).waitFor();
  });

  test("movements are filtered and paged, and new ones wait until requested", async () => {
    await using watched = await open("/movements?kind=transfer");
    const { page } = watched;
    const table = page.getByRole("region", { name: "Movements" });
    await table.getByText("Transferred").first().waitFor();
    expect(await table.getByText("Issued").count()).toBe(0);
    const first = await table.locator("tbody tr td").first().textContent();
    // The demo moves a few tokens a minute, by chance.
    await page.getByRole("button", { name: /new movement/ }).waitFor({ timeout: 300_000 });
    expect(await table.locator("tbody tr td").first().textContent()).toBe(first);

    await using all = await open("/movements");
    await all.page.getByRole("button", { name: /Show 200 more/ }).click();
    const read = async () =>
      Number(
        /(?:First|All) (\d+) shown/.exec((await all.page.locator("main").textContent()) ?? "")?.[1],
      );
    await expect.poll(read).toBeGreaterThan(200);
    // The rarest are looked for in the whole log, not among what was read.
    await all.page.getByLabel("Type of movement").selectOption("force_transfer");
    await all.page.getByText(/^All \d+ shown$/).waitFor();
    const found = all.page.getByRole("region", { name: "Movements" }).locator("tbody tr");
    await found.first().waitFor();
    for (const row of await found.allTextContents()) {
      expect(row).toContain("Moved by an administrator");
    }
  }, 450_000);

  test("an address is copied whole", async () => {
    await using watched = await open("/cap-table");
    const { page } = watched;
    await page.getByRole("button", { name: "Copy address" }).first().click();
    await page.getByRole("button", { name: "Copied address" }).first().waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(/^0x[0-9a-f]{64}$/);
  });

  test("the whole page works by keyboard on a phone", async () => {
    await using watched = await open("/roles", { width: PHONE });
    const { page } = watched;
    await page.getByRole("button", { name: "Open the menu" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Movements" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/movements/);
    // The menu closed behind it.
    await page.getByRole("button", { name: "Open the menu" }).waitFor();
  });

  test("an operator sees requests and deliveries and sends a test event; a reader learns which key is needed", async () => {
    await using watched = await open("/deliveries");
    const { page } = watched;
    await page
      .getByText(/operator/)
      .first()
      .waitFor();
    expect(await page.getByRole("button", { name: "Test event" }).count()).toBe(0);
    await page.getByLabel(/key/i).first().fill(demo().operatorKey);
    await page.getByRole("button", { name: /Sign in/ }).click();
    await page.getByRole("button", { name: "Test event" }).first().click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Send it" }).click();
    const sent = page.getByRole("dialog", { name: "Test event callback" });
    await sent.getByText("Delivered", { exact: true }).waitFor();
  });

  test("the tour takes a wallet through the whole round", async () => {
    await using watched = await open("/tour");
    const { page, complaints } = watched;
    await page.getByRole("button", { name: "Start the tour" }).click();
    await page.getByText("at the first attempt").waitFor({ timeout: 60_000 });
    expect(complaints).toEqual([]);
  });
};

/** Numbers of "Read from the chain". */
const checkpointShown = async (page: Page): Promise<number> => {
  const [shown = ""] = (await figure(page, "Read from the chain")).slice(1);
  return Number(shown.replaceAll(",", ""));
};

/** The texts of a figure: its label, its value and what is said about it. */
const figure = async (page: Page, label: string): Promise<readonly string[]> => {
  const card = page.getByText(label, { exact: true }).first().locator("xpath=..");
  await card.waitFor();
  // Lines as they are shown.
  // biome-ignore lint/performance/useDomNodeTextContent: its children stand on lines of their own
  return (await card.innerText()).split("\n").filter((line) => line !== "");
};

const issued = async (page: Page): Promise<string> => {
  await page.getByText("Issued", { exact: true }).first().waitFor();
  return (await figure(page, "Issued"))[1] ?? "";
};

/** An exact amount as it was before it was written: all its decimals without the point. */
const exactly = (text: string): bigint => {
  const [whole = "0", part = ""] = text.replaceAll(",", "").replace("+", "").split(".");
  const negative = whole.startsWith("\u2212");
  const units = BigInt(`${whole.replace("\u2212", "")}${part.padEnd(12, "0")}`);
  return negative ? -units : units;
};
