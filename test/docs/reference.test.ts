// @module-tag thorough
/** The reference is what the code says. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { filesOfCode } from "../../bin/reference/files.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

test("every generated page is current", { timeout: 180_000 }, async () => {
  for (const [path, text] of await filesOfCode(ROOT)) {
    const page = await readFile(join(ROOT, path), "utf8");
    expect(page === text, `${path} is not current: run \`npm run docs\``).toBe(true);
  }
});
