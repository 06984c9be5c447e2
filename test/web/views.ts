/** Views of the page, and what is looked for in each of them. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { z } from "zod";

export const PAGES = [
  "/",
  "/status",
  "/cap-table",
  "/holder/1",
  "/wallet/0x1",
  "/movements",
  "/roles",
  "/proof",
  "/requests",
  "/deliveries",
  "/tour",
];

/** From a small phone to a wide desk, pixels. */
export const WIDTHS = [360, 768, 1280, 1920];

/** Addresses of what is only there by its name: a wallet of a large holder, and a transaction that moved its tokens. */
export const namedViews = async ({
  url,
  readKey,
  coinTypes: [coinType = ""],
}: {
  readonly url: string;
  readonly readKey: string;
  readonly coinTypes: readonly string[];
}): Promise<readonly string[]> => {
  const query = `{
    capTable(coinType: "${coinType}", holder: "1") { rows { wallets { address } } }
    tokenActivity(coinType: "${coinType}", holderId: "1", limit: 1) { txDigest }
  }`;
  const answer = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": readKey },
    body: JSON.stringify({ query }),
  });
  const { capTable, tokenActivity } = named.parse(await answer.json()).data;
  const wallet = capTable.rows[0]?.wallets[0]?.address ?? "";
  return [`/wallet/${wallet}`, `/transaction/${tokenActivity[0]?.txDigest}`];
};

const named = z.object({
  data: z.object({
    capTable: z.object({
      rows: z.array(z.object({ wallets: z.array(z.object({ address: z.string() })) })),
    }),
    tokenActivity: z.array(z.object({ txDigest: z.string() })),
  }),
});

/** Until nothing is being asked for and no part says that it is loading. */
export const settled = async (page: Page) => {
  const isSettled = () =>
    document.querySelector("#content h1") !== null &&
    document.querySelector('[aria-label="Loading"]') === null;
  await page.waitForFunction(isSettled, undefined, { timeout: 60_000 }).catch(async (cause) => {
    const seen = await page.locator("body").textContent();
    throw new Error(`${page.url()} still loads, and shows ${seen}`, { cause });
  });
};

/** Until a view has settled and nothing was answered for half a second: late parts such as labels are there. */
export const quiet = async (page: Page) => {
  await settled(page);
  await page.waitForFunction(() => {
    const answers = performance.getEntriesByType("resource");
    const last = Math.max(...answers.map((one) => one.startTime + one.duration));
    return performance.now() - last > 500;
  });
};

/** The field of the search, once it has the keyboard. */
export const searchField = async (page: Page) => {
  const field = page.getByRole("combobox", { name: "Search" });
  await field.and(page.locator(":focus")).waitFor();
  return field;
};

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const found = z.array(
  z.object({
    id: z.string(),
    impact: z.string().nullable(),
    nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })),
  }),
);

/** axe-core's colour rules that are on by default. */
const RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"];

/**
 * What axe-core calls serious or critical, with the element. Themes differ in their colours only, and the dark one
 * comes after the light one, so only its colours need checking.
 */
export const seriousFaults = async (
  page: Page,
  theme: "light" | "dark",
): Promise<readonly string[]> => {
  const options = {
    // What passed is not worth describing.
    resultTypes: ["violations"],
    ...(theme === "dark" && { runOnly: { type: "rule", values: RULES_OF_COLOUR } }),
  };
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  const told: unknown = await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return found
    .parse(told)
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 300)}`));
};

/** What makes the page wider than its window; nothing when it is not. */
export const tooWide = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    return [...document.querySelectorAll("body *")]
      .map((element) => ({ element, right: element.getBoundingClientRect().right }))
      .filter(({ right }) => right > innerWidth)
      .map(({ element, right }) => `${Math.round(right)}: ${element.outerHTML.slice(0, 200)}`)
      .slice(0, 20);
  });

/** In the page, before anything of its own: notes each shift and what moved. */
export const noteShifts = () => {
  const noted: { value: number; moved: string[] }[] = [];
  Object.assign(window, { shifts: noted });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (Reflect.get(entry, "hadRecentInput") === true) continue;
      const sources: { node: Node | null }[] = Reflect.get(entry, "sources") ?? [];
      noted.push({
        value: Number(Reflect.get(entry, "value")),
        moved: sources.map(({ node }) => {
          const element = node instanceof Element ? node : node?.parentElement;
          return `${element?.tagName ?? "?"} ${(element?.textContent ?? "").slice(0, 40)}`;
        }),
      });
    }
  }).observe({ type: "layout-shift", buffered: true });
};

const shifts = z.array(z.object({ value: z.number(), moved: z.array(z.string()) }));

/** Of the share of the window that moved, times how far: the sum over the loading of a view. */
const MOST_SHIFT = 0.05;

/** What `noteShifts` noted since the view was opened, where it is too much. */
export const shiftedTooFar = async (page: Page, path: string): Promise<readonly string[]> => {
  const seen = shifts.parse(await page.evaluate("window.shifts"));
  const sum = seen.reduce((all, { value }) => all + value, 0);
  const worst = seen.toSorted((a, b) => b.value - a.value).slice(0, 3);
  return sum > MOST_SHIFT ? [`${path}: ${sum.toFixed(3)} ${JSON.stringify(worst)}`] : [];
};
