/** What the page does while its service, or a part of it, is away: nothing shown is lost, called fresh, or left broken. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { BUILT_PAGE } from "../../src/page-api/site.ts";
import { eventually } from "../service/process.ts";
import { type Watched, watch } from "./browser.ts";
import type { Demo } from "./demo.ts";

/** Each view, its heading, and whether the service refreshes what it shows. */
const VIEWS = [
  { path: "/", link: "Today", refreshed: true },
  { path: "/status", link: "Status", refreshed: true },
  { path: "/cap-table", link: "Cap table", refreshed: true },
  { path: "/cap-table?show=compare", link: "Cap table", refreshed: true },
  { path: "/holder/1", link: null, refreshed: true },
  { path: "/movements", link: "Movements", refreshed: true },
  { path: "/roles", link: "Roles", refreshed: true },
  { path: "/proof", link: "Proof", refreshed: true },
  { path: "/requests", link: "Requests", refreshed: true },
  { path: "/deliveries", link: "Deliveries", refreshed: true },
  { path: "/tour", link: "Guided tour", refreshed: false },
] as const;

const LOST = /^No answer since \d\d:\d\d:\d\d UTC$/;
const OLD = /^As of \d\d:\d\d:\d\d UTC, not refreshed since$/;
const BROKEN = /could not be (read|loaded)/;

/** Until someone looks again on a machine with other work, milliseconds. */
const PATIENCE = { timeout: 60_000 };

/** A dozen pages are looked at, and each look takes as long as the page does to answer. */
const POLLED = { ...PATIENCE, interval: 500 };

/** Views in one window: each holds a connection open, and a browser has six for a host. */
const TABS = 4;

/** Tests for the service and the browser of the file that calls this. */
export const whilePartsFail = (demo: () => Demo, browser: () => Browser): void => {
  test("a view whose code cannot be loaded says so in place, keeps the key, and recovers by itself", async () => {
    await using watched = await watch(browser(), `${demo().url}/health`);
    const { page, context } = watched;
    const rolesView = await partWith("query Roles(");
    await context.route(rolesView, (route) => route.abort());
    await page.goto(demo().url);
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.getByText("This view could not be loaded").waitFor(PATIENCE);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("This view could not be loaded").waitFor();
    expect(new URL(page.url()).pathname).toBe("/roles");
    await page.getByText("read key", { exact: false }).last().waitFor();
    await context.unroute(rolesView);
    await page.getByRole("heading", { name: "Roles", level: 1 }).waitFor(PATIENCE);
    await allLoaded(page);
  }, 120_000);

  test("after a newer build of the page, missing code is reported instead of retried for ever", async () => {
    await using watched = await watch(browser(), `${demo().url}/health`);
    const { page, context } = watched;
    await context.route(await partWith("query Roles("), (route) =>
      route.fulfill({ status: 404, contentType: "application/json", body: "{}" }),
    );
    await page.goto(demo().url);
    const newer = '<div id="page"></div><script type="module" src="/assets/index-new.js"></script>';
    await context.route(`${demo().url}/`, (route) =>
      route.fulfill({ contentType: "text/html", body: newer }),
    );
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.getByText("The service has a newer version of this page.").waitFor(PATIENCE);
    await page.getByRole("button", { name: "Reload" }).waitFor();
    await page.getByText("read key", { exact: false }).last().waitFor();
  }, 120_000);

  test("a service without its database is shown as stalled with its reason, and details are marked as old", async () => {
    await using watched = await watch(browser(), `${demo().url}/health`);
    const { page, context } = watched;
    const reason = "the database does not answer";
    const report: unknown = await (await fetch(`${demo().url}/health`)).json();
    await context.route(`${demo().url}/health`, (route) =>
      route.fulfill({
        status: 503,
        headers: { "x-request-id": "7d444840-9dc0-11d1-b245-5ffdce74fad2" },
        json: Object.assign({}, report, { status: "stalled", reason, ageSeconds: 31 }),
      }),
    );
    await page.goto(`${demo().url}/status`);
    await page.getByText("The service is stalled").waitFor(PATIENCE);
    await page.locator("#content").getByText(reason).first().waitFor(PATIENCE);
    await page.locator("#menu").getByText("Stalled", { exact: true }).waitFor(PATIENCE);
    expect((await sayings(page)).fresh).toEqual([]);
  }, 120_000);
};

/** Tests for the service and the browser of the file that calls this, as its last ones: they stop the service. */
export const whileAway = (demo: () => Demo, browser: () => Browser): void => {
  test("every view keeps its content while the service is away, shows its age, and recovers by itself", async () => {
    await using opened = new AsyncDisposableStack();
    const open = async (path: string, beside?: Watched): Promise<Watched> => {
      const watched = opened.use(
        await watch(browser(), demo().url + path, beside === undefined ? {} : { beside }),
      );
      await watched.page.locator("#content h1").waitFor(PATIENCE);
      return watched;
    };
    const openView = async (view: (typeof VIEWS)[number], beside?: Watched) => {
      const watched = await open(view.path, beside);
      const { page } = watched;
      if (view.path === "/requests" || view.path === "/deliveries") {
        await page.getByLabel("Operator key").fill(demo().operatorKey);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByText("operator key").first().waitFor(PATIENCE);
      }
      await allLoaded(page);
      return { watched, tab: { ...view, page, before: await shapeOf(page) } };
    };
    const tabs: Awaited<ReturnType<typeof openView>>["tab"][] = [];
    let first: Watched | undefined;
    for (let at = 0; at < VIEWS.length; at += TABS) {
      first = undefined;
      for (const view of VIEWS.slice(at, at + TABS)) {
        const { watched, tab } = await openView(view, first);
        first ??= watched;
        tabs.push(tab);
      }
    }
    // One that opened nothing but its first view; the last window has room for it.
    const { page: stranger } = await open("/", first);
    await allLoaded(stranger);

    await demo().stop();
    for (const { path, page, refreshed, before } of tabs) {
      await seen(page, LOST, path);
      if (refreshed) await seen(page, OLD, path);
      expect(await sayings(page), path).toEqual({ fresh: [], broken: [] });
      const { heading, rows } = await shapeOf(page);
      expect(heading, path).toBe(before.heading);
      expect(rows, path).toBeGreaterThanOrEqual(before.rows);
    }
    for (const { link } of VIEWS) {
      if (link === null) continue;
      await pagesOf(stranger).getByRole("link", { name: link, exact: true }).click();
      await stranger.locator("#content").getByText(/\S/).first().waitFor(PATIENCE);
      await stranger.getByText("read key", { exact: false }).last().waitFor();
      expect((await sayings(stranger)).fresh, link).toEqual([]);
    }
    await pagesOf(stranger).getByRole("link", { name: "Proof", exact: true }).click();
    await stranger.getByText("The newest checkpoint could not be read").waitFor(PATIENCE);

    await demo().restart();
    for (const { path, page } of [...tabs, { path: "never opened", page: stranger }]) {
      await expect
        .poll(
          async () => {
            const { broken } = await sayings(page);
            return [...(await visible(page, LOST)), ...(await visible(page, OLD)), ...broken];
          },
          { ...POLLED, message: path },
        )
        .toEqual([]);
    }
    await stranger.getByRole("heading", { name: /^Checkpoint / }).waitFor(PATIENCE);
    await stranger.getByText("read key", { exact: false }).last().waitFor();
    const status = tabs.find(({ path }) => path === "/status")?.page ?? stranger;
    await seen(status, /^Up to date$/, "/status");
  }, 400_000);
};

const pagesOf = (page: Page) => page.getByRole("navigation", { name: "Pages" });

/** Address of the part of the page that has such a text. */
const partWith = async (text: string): Promise<string> => {
  const folder = join(BUILT_PAGE, "assets");
  for (const name of await readdir(folder)) {
    if (name.endsWith(".js") && (await readFile(join(folder, name), "utf8")).includes(text)) {
      return `**/assets/${name}`;
    }
  }
  throw new Error(`no part of the page has ${text}`);
};

/** Until every part of the page is there: charts are the largest. */
const allLoaded = (page: Page) =>
  page.waitForFunction(
    () =>
      performance
        .getEntriesByType("resource")
        .some(
          (entry) =>
            entry.name.includes("echarts") &&
            "responseEnd" in entry &&
            Number(entry.responseEnd) > 0,
        ) && document.querySelector('[aria-label="Loading"]') === null,
    null,
    PATIENCE,
  );

const visible = async (page: Page, text: RegExp): Promise<readonly string[]> =>
  page.getByText(text).filter({ visible: true }).allTextContents();

/** Until the page shows the text; a failure quotes the whole page. */
const seen = (page: Page, text: RegExp, where: string) =>
  eventually(
    `${where} shows ${text}`,
    async () =>
      (await visible(page, text)).length > 0
        ? { done: undefined }
        : { seen: await page.locator("body").allInnerTexts() },
    PATIENCE.timeout,
  );

/** What no view may say while nobody answers. */
const sayings = async (page: Page) => ({
  fresh: await visible(page, /^(up to date|yes|caught up|.* behind|.*, now)$/i),
  broken: await visible(page, BROKEN),
});

/** What stays of a view, whatever its numbers are. */
const shapeOf = async (page: Page) => ({
  heading: await page.locator("#content h1").first().textContent(),
  rows: await page.locator("#content tbody tr, #content li").count(),
});
