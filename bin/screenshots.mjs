/**
 * Screenshots of every page from the demo ledger: `npm run screenshots`. Needs `chromium` on the
 * path. `--all DIR` writes both widths in both themes for review.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { chromium } from "playwright-core";
import { root } from "./install.mjs";

const PAGES = {
  today: "/",
  status: "/status",
  "cap-table": "/cap-table",
  holder: "/holder/1",
  movements: "/movements",
  roles: "/roles",
  proof: "/proof",
  requests: "/requests",
  deliveries: "/deliveries",
  tour: "/tour",
};

const DESK = { name: "", width: 1280, height: 860 };
const PHONE = { name: "-phone", width: 390, height: 844 };

const [flag, folder] = process.argv.slice(2);
const all = flag === "--all";
const into = all ? folder : join(root, "docs", "images");
const looks = all
  ? ["light", "dark"].flatMap((theme) => [DESK, PHONE].map((size) => ({ theme, size })))
  : [
      { theme: "light", size: DESK },
      { theme: "dark", size: PHONE },
    ];

/** The service at HOLDERBOOK_URL with the operator key HOLDERBOOK_KEY, or a temporary one. */
const service = async () => {
  const { HOLDERBOOK_URL: url } = process.env;
  const given = process.env.HOLDERBOOK_KEY;
  if (url !== undefined && given === undefined) throw new Error("set HOLDERBOOK_KEY, too");
  if (url !== undefined) return { url, key: given, end: async () => {} };
  const data = mkdtempSync(join(tmpdir(), "holderbook-screenshots-"));
  const env = { ...process.env, PORT: "0", DATA_DIR: data, LOG_LEVEL: "warn", HOST: "127.0.0.1" };
  const launcher = join(root, "bin", "holderbook.mjs");
  const child = spawn(process.execPath, [launcher, "start"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    rmSync(data, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /GraphQL\s+(http\S+)\/graphql/.exec(line)?.[1];
    if (found === undefined) continue;
    const made = spawn(
      process.execPath,
      [launcher, "keys", "create", "--kind", "operator", "--labels", "--label", "operations desk"],
      { env, stdio: ["ignore", "pipe", "ignore"] },
    );
    const chunks = await made.stdout.toArray();
    return { url: found, key: Buffer.concat(chunks).toString().trim(), end };
  }
  throw new Error("the service ended without saying where it answers");
};

const { url, key, end } = await service();
/** Pictures show the whole history, and signers that have gas. */
const isCaughtUp = async () => (await (await fetch(`${url}/health`)).json()).status === "ok";
for (let look = 0; look < 600 && !(await isCaughtUp()); look += 1) await delay(500);
/** Fills the transfer agent's pages by the demo's tour. */
for (let number = 0; number < 3; number += 1) {
  const headers = { "content-type": "application/json", "x-api-key": key };
  const begun = await fetch(`${url}/demo/tour`, { method: "POST", headers, body: "{}" });
  if (!begun.ok) break;
  const { tourId } = await begun.json();
  const seen = async () => (await fetch(`${url}/demo/tour/${tourId}`, { headers })).json();
  for (let look = 0; look < 300 && !(await seen()).done; look += 1) await delay(100);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
});
try {
  mkdirSync(into, { recursive: true });
  for (const { theme, size } of looks) {
    const context = await browser.newContext({
      viewport: { width: size.width, height: size.height },
      colorScheme: theme,
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    await page.goto(url);
    const settled = async () => {
      await page.locator("#content h1").first().waitFor();
      await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null);
      // Charts are drawn after their data arrives.
      await page.waitForTimeout(800);
    };
    // The operator's pages need an operator key.
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await settled();
    for (const [name, path] of Object.entries(PAGES)) {
      // Navigate in the page: a reload would lose the key.
      await page.evaluate((to) => {
        history.pushState(null, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      }, path);
      await settled();
      const suffix = all ? `-${theme}${size.name}` : size.name;
      await page.screenshot({ path: join(into, `${name}${suffix}.png`), fullPage: all });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await end();
}
