// @module-tag thorough
/**
 * What a view that is left open asks of its service. The register is quiet at first: a folder of checkpoints that ends.
 * Then the rest of them arrives, and the view shows it.
 */
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { createKey } from "../../src/http/keys.ts";
import { freshDatabase } from "../postgres.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";
import { chromiumHere, openBrowser, type Watched, watch } from "./browser.ts";
import { settled } from "./views.ts";

/** For how long the requests are counted, and how many there may be in a minute. */
const COUNTED_MS = 60_000;
const MOST_A_MINUTE = 10;

/** What stays the same is asked for less and less often, until so long after a view was opened. */
const CALM_MS = 60_000;

const CHECKPOINTS = 400;
const AT_FIRST = 300;

const VIEWS = [
  "/",
  "/cap-table",
  "/movements",
  "/roles",
  "/status",
  "/proof",
  "/requests",
  "/deliveries",
];

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  const running = new AsyncDisposableStack();
  let browser: Browser;
  let url = "";
  let key = "";
  let addRest: () => Promise<void>;

  beforeAll(async () => {
    const database = await freshDatabase();
    running.defer(() => database.close());
    const folder = running.use(await temporaryFolder());
    const [written, ledger] = [join(folder.path, "written"), join(folder.path, "ledger")];
    await mkdir(ledger);
    await writeDemoLedger({ dir: written, checkpoints: CHECKPOINTS, seed: 1, format: "chk" });
    const names = await readdir(written);
    const copy = (isMeant: (checkpoint: number) => boolean) =>
      Promise.all(
        names
          .filter((name) => isMeant(Number.parseInt(name, 10)))
          .map((name) => copyFile(join(written, name), join(ledger, name))),
      );
    await copyFile(join(written, "ledger.json"), join(ledger, "ledger.json"));
    await copy((checkpoint) => checkpoint < AT_FIRST);
    addRest = async () => void (await copy((checkpoint) => checkpoint >= AT_FIRST));
    const program = running.use(
      startProgram(["start"], {
        PORT: "0",
        DATA_DIR: join(folder.path, "data"),
        DATABASE_URL: database.url,
        LEDGER_SOURCE: `dir:${ledger}`,
        RATE_LIMIT_PER_MINUTE: "1000000",
        LOG_LEVEL: "warn",
      }),
    );
    [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
    key = (await createKey(database, { kind: "operator", label: "test" })).secret;
    browser = await openBrowser();
    running.defer(() => browser.close());
  }, 180_000);
  afterAll(() => running.disposeAsync());

  test("a view left open on a quiet register asks less than ten times a minute, and shows a change soon", {
    timeout: 240_000,
  }, async () => {
    await using tabs = new AsyncDisposableStack();
    const opened: {
      readonly path: string;
      readonly page: Page;
      asked: string[];
      readonly openedMs: number;
    }[] = [];
    const windows: Watched[] = [];
    for (const path of VIEWS) {
      const watched = tabs.use(await watch(browser, `${url}/health`, { stranger: true }));
      windows.push(watched);
      const { page } = watched;
      const one = { path, page, asked: [] as string[] };
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (pathname.startsWith("/assets/")) return;
        const [, query = ""] = /(?:query|subscription) (\w+)/.exec(request.postData() ?? "") ?? [];
        one.asked.push(`${pathname} ${query}`);
      });
      await page.goto(url + path);
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await settled(page);
      opened.push({ ...one, openedMs: performance.now() });
    }
    const counted = new Map<string, readonly string[]>();
    await Promise.all(
      opened.map(async (one) => {
        await expect
          .poll(() => performance.now() - one.openedMs, { timeout: 2 * CALM_MS })
          .toBeGreaterThan(CALM_MS);
        const before = one.asked.length;
        await one.page.waitForTimeout(COUNTED_MS);
        counted.set(one.path, one.asked.slice(before));
      }),
    );
    for (const [path, asked] of counted) {
      expect(asked.length, `${path}: ${asked.join(", ")}`).toBeLessThan(
        (MOST_A_MINUTE * COUNTED_MS) / 60_000,
      );
    }

    const today = opened.find(({ path }) => path === "/")?.page;
    const status = opened.find(({ path }) => path === "/status")?.page;
    const table = opened.find(({ path }) => path === "/cap-table")?.page;
    const text = async (page: Page | undefined) =>
      (await page?.locator("#content").textContent()) ?? "";
    const before = { table: await text(table), today: await text(today) };
    await addRest();
    await status
      ?.getByText(`${CHECKPOINTS - 1}`, { exact: true })
      .first()
      .waitFor();
    await expect.poll(() => text(table), { timeout: 40_000 }).not.toBe(before.table);
    await expect.poll(() => text(today), { timeout: 40_000 }).not.toBe(before.today);
    for (const { complaints } of windows) expect(complaints).toEqual([]);
  });
});
