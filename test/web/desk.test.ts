// @module-tag thorough
/** What operators do on Status, Requests and Deliveries, on a demo of their own: they pause parts of it. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { chromiumHere, openBrowser } from "./browser.ts";
import { type Demo, startDemo } from "./demo.ts";
import { deskJourneys } from "./desk-journeys.ts";

describe.skipIf(chromiumHere === undefined)("in a browser", () => {
  let demo: Demo;
  let browser: Browser;
  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await demo?.[Symbol.asyncDispose]();
  });

  deskJourneys(
    () => demo,
    () => browser,
  );
});
