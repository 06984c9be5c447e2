/** Every relative link of every page leads to a file, and to a heading of it. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** All pages that are, or are about to be, part of the project. */
const pages = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
  { cwd: ROOT, encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(ROOT, path)));

/** A page without what is shown as code. */
const proseOf = (page: string): string =>
  readFileSync(join(ROOT, page), "utf8")
    .replaceAll(/^( *)(`{3,}).*\n[\s\S]*?^\1\2\s*$/gm, "")
    .replaceAll(/`[^`\n]*`/g, (code) => (code.includes("](") ? "" : code));

/** Headings as the anchors that they have on a page. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const seen = new Map<string, number>();
  return new Set(
    [...proseOf(page).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = ""]) => {
      const plain = heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
        .replaceAll(" ", "-");
      const times = seen.get(plain) ?? 0;
      seen.set(plain, times + 1);
      return times === 0 ? plain : `${plain}-${times}`;
    }),
  );
};

const linksOf = (page: string): readonly string[] => {
  const prose = proseOf(page);
  return [
    ...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g),
    ...prose.matchAll(/^\[[^\]]+\]: (\S+)$/gm),
    ...prose.matchAll(/<img[^>]* src="([^"]+)"/g),
  ].map(([, target = ""]) => target);
};

test("the documents have pages and links", () => {
  expect(pages).toContain("README.md");
  expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
});

test.each(pages)("links of %s resolve", (page) => {
  const broken = linksOf(page).filter((target) => {
    if (/^[a-z]+:/i.test(target)) return false;
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : normalize(join(dirname(page), decodeURI(path)));
    if (!existsSync(join(ROOT, file))) return true;
    if (anchor === undefined || anchor === "") return false;
    if (!file.endsWith(".md") || statSync(join(ROOT, file)).isDirectory()) return true;
    return !anchorsOf(file).has(anchor);
  });
  expect(broken).toEqual([]);
});

test("docs/README.md leads to every page below docs", () => {
  const listed = new Set(linksOf("docs/README.md").map((path) => normalize(join("docs", path))));
  const all = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  expect(all.filter((page) => !listed.has(page))).toEqual([]);
});

test.each(pages)("commands of %s can be pasted into zsh, which would pass on a comment", (page) => {
  const blocks = readFileSync(join(ROOT, page), "utf8").matchAll(
    /^( *)```(?:sh|console)\n([\s\S]*?)^\1```$/gm,
  );
  const commented = [...blocks].flatMap(([, , text = ""]) =>
    text.split("\n").filter((line) => /(^|\s)#(\s|$)/.test(line)),
  );
  expect(commented).toEqual([]);
});
