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

/** Until nothing is being asked for and no part says that it is loading. */
export const settled = async (page: Page) => {
  await page.locator("#content h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
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
