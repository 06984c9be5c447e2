/** The reference is what the code says. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { filesOfCode } from "../../bin/reference/files.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const VECTORS = "docs/reference/vectors";

test("every generated page is current, and every published vector has its stated verdict", {
  timeout: 180_000,
}, async () => {
  // Makes the files of vectors from what the judges say of each.
  const pages = await filesOfCode(ROOT);
  for (const [path, text] of pages) {
    const page = await readFile(join(ROOT, path), "utf8");
    expect(page === text, `${path} is not current: run \`npm run docs\``).toBe(true);
  }
  for (const file of await readdir(join(ROOT, VECTORS))) {
    expect([...pages.keys()]).toContain(`${VECTORS}/${file}`);
  }
});
