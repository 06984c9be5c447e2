// @module-tag thorough
/**
 * What five users of the page do all day, each task by mouse and by keyboard alone, from the view that the page opens with
 * to an answer that the service's interfaces confirm. What it took is printed as a table.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumHere, openBrowser, type Watched, watch } from "../browser.ts";
import { type Demo, startDemo } from "../demo.ts";
import { settled } from "../views.ts";
import { auditor, stranger } from "./auditor.ts";
import { startCallers } from "./callers.ts";
import { cfo } from "./cfo.ts";
import { clerk } from "./clerk.ts";
import { type Desk, openDesk, type User } from "./desk.ts";
import { keyboardOn, mouseOn } from "./hands.ts";
import { investorRelations } from "./investor-relations.ts";
import { measured } from "./measured.ts";
import { operator } from "./operator.ts";

const USERS = [clerk, cfo, stranger, auditor, operator, investorRelations];

/** For a step of a task on a busy machine, milliseconds. */
const PATIENCE_MS = 90_000;

/** No task may take more clicks than this. */
const MOST_CLICKS = 6;

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  const running = new AsyncDisposableStack();
  const took = measured();
  let demo: Demo;
  let browser: Browser;
  let desk: Desk;
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
    running.use(demo);
    running.defer(() => browser.close());
    desk = await openDesk(demo, running.use(await startCallers(demo)));
  }, 240_000);
  afterAll(async () => {
    process.stdout.write(`\n${took.table()}\n`);
    await running.disposeAsync();
  });

  /** The page as it opens with the user's key. */
  const open = async ({ key }: User): Promise<Watched> => {
    const watched = await watch(browser, demo.url, key === "read" ? {} : { stranger: true });
    const { page } = watched;
    page.setDefaultTimeout(PATIENCE_MS);
    if (key === "operator") {
      await page.getByLabel("API key").fill(desk.operatorKey);
      await page.getByRole("button", { name: "Sign in" }).click();
    }
    if (key === "none") await page.getByLabel("API key").waitFor();
    else await settled(page);
    return watched;
  };

  describe.each(USERS)("$name", (user) => {
    describe.each(user.tasks.map((task) => [task.name, task] as const))("finds %s", (_, task) => {
      test.each([
        ["the mouse", mouseOn],
        ["the keyboard alone", keyboardOn],
      ] as const)(
        "with %s",
        async (_name, handOn) => {
          await using watched = await open(user);
          const hand = handOn(watched.page);
          const beginMs = performance.now();
          await task.does(hand, desk);
          took.note(user.name, task.name, hand, (performance.now() - beginMs) / 1_000);
          expect(hand.effort.clicks).toBeLessThanOrEqual(MOST_CLICKS);
        },
        120_000,
      );
    });
  });
});
