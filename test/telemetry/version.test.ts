/** One version: of the package, of the client, of what /health says, and of the changelog. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { VERSION } from "../../src/telemetry/version.ts";

const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), "utf8");

test("the changelog's newest version is the running one", async () => {
  const changelog = await read("CHANGELOG.md");
  const headings = [...changelog.matchAll(/^## \[(.+?)\](.*)$/gm)];
  const [[, unreleased] = [], [, newest] = []] = headings;
  expect([unreleased, newest]).toEqual(["Unreleased", VERSION]);
  for (const [heading, name, date] of headings.slice(1)) {
    expect(name, heading).toMatch(/^\d+\.\d+\.\d+$/);
    expect(date, heading).toMatch(/^ - \d{4}-\d\d-\d\d$/);
  }
});

test("the client and the lock file have the same version", async () => {
  expect(JSON.parse(await read("client/package.json"))).toHaveProperty("version", VERSION);
  expect(JSON.parse(await read("package-lock.json"))).toMatchObject({
    version: VERSION,
    packages: { "": { version: VERSION } },
  });
});
