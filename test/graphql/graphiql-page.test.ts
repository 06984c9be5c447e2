import { afterAll, beforeAll, expect, test } from "vitest";
import { chromiumPath, openPage } from "../chromium.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import { ACME, knowCoin } from "./rows.ts";
import { commit } from "./streams.ts";

const chromium = await chromiumPath();
if (chromium === undefined) console.warn("no chromium on this machine: its tests are skipped");

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  await knowCoin(api.database, ACME, 6);
});
afterAll(() => api[Symbol.asyncDispose]());

/** @param key what the demo's page keeps in this browser, where it was lent one */
const open = async (key: string | undefined) => {
  const before = `localStorage.setItem("holderbook.demo-key", ${JSON.stringify(key)})`;
  const kept = key === undefined ? {} : { before };
  const page = await openPage(chromium ?? "", `${api.url}/graphiql`, kept);
  await page.until("document.querySelector('#examples option')");
  return page;
};

const RESULT = "document.querySelector('#response').textContent";
const choose = (title: string) => `(() => {
  const select = document.querySelector("#examples");
  select.value = [...select.options].find(({ text }) => text === ${JSON.stringify(title)}).value;
  select.dispatchEvent(new Event("change"));
})()`;
const RUN = "document.querySelector('#run').click()";

test.skipIf(chromium === undefined)(
  "without a key it sends nothing on its own, and running a query says that the key is missing",
  async () => {
    await using page = await open(undefined);
    await page.until("document.querySelector('#query').value.includes('tokens')");
    expect(await page.evaluate("document.querySelector('#key').value")).toBe("");
    expect(page.requested).toEqual([`${api.url}/graphiql`]);
    await page.evaluate(RUN);
    await page.until(`${RESULT}.includes('UNAUTHENTICATED')`);
    expect(await page.evaluate("document.querySelector('#state').textContent")).toContain("401");
    expect(page.requested.slice(1)).toEqual([`${api.url}/graphql`]);
    // The browser's own word for a 401.
    expect(page.complaints.filter((text) => !text.includes("401"))).toEqual([]);
    expect(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")).toBe(
      "{}",
    );
  },
  60_000,
);

test.skipIf(chromium === undefined)(
  "on the demo ledger it opens with the key, its first query works, and examples name an existing coin type",
  async () => {
    await using page = await open(api.key);
    await page.until("document.querySelector('#key').value !== ''");
    expect(page.requested).toEqual([`${api.url}/graphiql`]);
    await page.evaluate(RUN);
    await page.until(`${RESULT}.includes(${JSON.stringify(ACME)})`);
    await page.evaluate(choose("Newest movements"));
    await page.until(
      `document.querySelector('#variables').value.includes(${JSON.stringify(ACME)})`,
    );
    await page.evaluate(RUN);
    await page.until(`${RESULT}.includes('"tokenActivity"')`);
    expect(page.complaints).toEqual([]);
  },
  60_000,
);

test.skipIf(chromium === undefined)(
  "events of a subscription are shown as they arrive, until it is stopped",
  async () => {
    await using page = await open(api.key);
    await page.until("document.querySelector('#key').value !== ''");
    await page.evaluate(choose("Follow movements (live)"));
    await page.until(
      `document.querySelector('#variables').value.includes(${JSON.stringify(ACME)})`,
    );
    await page.evaluate(RUN);
    await page.until("document.querySelector('#run').textContent === 'Stop'");
    await page.until("document.querySelector('#state').textContent.includes('events')");
    const next = LAST + 100n;
    await commit(api.database, next, 2);
    await page.until("document.querySelectorAll('#response article').length === 2");
    expect(await page.evaluate(RESULT)).toContain(`${next}000020001`);
    await page.evaluate(RUN);
    await page.until("document.querySelector('#state').textContent.includes('stopped')");
    while (api.streams.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(page.complaints).toEqual([]);
  },
  60_000,
);

test.skipIf(chromium === undefined)(
  "the schema is loaded on request: with documentation, search and completion",
  async () => {
    await using page = await open(api.key);
    await page.until("document.querySelector('#key').value !== ''");
    await page.evaluate("document.querySelector('#docs-toggle').click()");
    await page.until("document.querySelector('#doc').textContent.includes('Subscription')");
    await page.evaluate(`(() => {
      const search = document.querySelector("#search");
      search.value = "unlocked";
      search.dispatchEvent(new Event("input"));
    })()`);
    await page.until("document.querySelector('#doc').textContent.includes('CapTableRow.unlocked')");
    await page.evaluate(`(() => {
      const field = document.querySelector("#query");
      field.focus();
      field.value = "{ tokens { sy } }";
      field.setSelectionRange(13, 13);
      field.dispatchEvent(new Event("input"));
    })()`);
    await page.until(
      "document.querySelector('#words [role=option]')?.textContent.startsWith('symbol')",
    );
    await page.evaluate(`document.querySelector("#query").dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }))`);
    await page.until("document.querySelector('#query').value === '{ tokens { symbol } }'");
    await page.evaluate("document.querySelector('#prettify').click()");
    await page.until(
      "document.querySelector('#query').value === '{\\n  tokens {\\n    symbol\\n  }\\n}\\n'",
    );
    expect(page.complaints).toEqual([]);
  },
  60_000,
);
