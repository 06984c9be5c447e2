/** The page as its sources are now: built once for all tests that look at it. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "../service/process.ts";

const BUILD = fileURLToPath(new URL("../../bin/web.mjs", import.meta.url));

/** Builds what is stale; another test's file may be at it. */
export const buildPage = (): Promise<void> =>
  eventually("the page is built", async () => {
    try {
      await promisify(execFile)(process.execPath, [BUILD]);
      return { done: undefined };
    } catch (error) {
      return { seen: `${error}` };
    }
  });
