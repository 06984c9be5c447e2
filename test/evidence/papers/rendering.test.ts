import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  code,
  heading,
  type Paper,
  shortCode,
  table,
  text,
} from "../../../src/evidence/document/document.ts";
import { markdownOf } from "../../../src/evidence/document/markdown.ts";
import { writePdf } from "../../../src/evidence/document/pdf.ts";
import { Draw } from "../../../src/evidence/papers/gather.ts";
import { RollForward, RollForwardError } from "../../../src/evidence/papers/roll-forward.ts";
import { temporaryFolder } from "../../service/process.ts";
import { pageTexts } from "./pdf-reader.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

const paperOf = (...blocks: Paper["blocks"]): Paper => ({
  number: "9",
  title: "A paper",
  file: "9-paper",
  blocks,
});

const rendered = async (name: string, paper: Paper) => {
  const path = join(folder.path, name);
  const furniture = { title: "Papers", header: "pack 00", madeMs: 1_735_689_600_000n };
  await writePdf(path, [paper], furniture);
  return readFile(path);
};

const tableOf = (rows: readonly (readonly string[])[], total?: readonly string[]) =>
  table({
    columns: [
      { title: "what", width: 20 },
      { title: "amount", width: 20, isNumber: true },
    ],
    rows,
    ...(total === undefined ? {} : { total }),
  });

/** What somebody might name a token, or write into a source's error. */
const FOREIGN =
  "a|b\n# c <script>x</script> [d](https://evil.example) `e` *f* \u001b[2J\u202e \u{1f600} 株 ünïq";

test("foreign text stays one piece of text in Markdown, plain or as code: no cell, heading, link or HTML of its own", () => {
  const markdown = markdownOf(
    paperOf(
      text(FOREIGN),
      table({ columns: [{ title: "one", width: 1 }], rows: [[FOREIGN], [code(FOREIGN)]] }),
    ),
  );
  const lines = markdown.trimEnd().split("\n");
  // The title, the sentence, the head of the table, its line and two rows, with two blank lines.
  expect(lines).toHaveLength(8);
  const [, , sentence = "", , , , plain = "", asCode = ""] = lines;
  for (const line of [sentence, plain]) {
    expect(line).toContain(
      "a\\|b\\\\u{a}\\# c \\<script\\>x\\</script\\> \\[d\\](https\\://evil.example)",
    );
    expect(line).toContain("\\`e\\` \\*f\\* \\\\u{1b}\\[2J\\\\u{202e} \u{1f600} 株 ünïq");
  }
  expect(asCode).toBe(
    `| \`\` ${FOREIGN.replace("|", "\\|").replace("\n", "\\u{a}").replace("\u001b", "\\u{1b}").replace("\u202e", "\\u{202e}")} \`\` |`,
  );
});

test("a sentence that starts like a list is not one, and a part of a sentence stays as written", () => {
  const markdown = markdownOf(paperOf(text("12. of May"), text("- 5"), text(code("a"), ". And b")));
  expect(markdown).toContain("\n12\\. of May\n\n\\- 5\n\n`a`. And b\n");
});

test("a character missing from the PDF's fonts appears as its number, and control characters are dropped", async () => {
  const pdf = await rendered("foreign.pdf", paperOf(text(FOREIGN), text(code(FOREIGN))));
  const shown =
    "a|b\\u{a}# c <script>x</script> [d](https://evil.example) `e` *f* \\u{1b}[2J\\u{202e} \\u{1f600} \\u{682a} ünïq";
  const page = pageTexts(pdf, false).join("").replaceAll(" ", "");
  expect(page.split(shown.replaceAll(" ", ""))).toHaveLength(3);
});

/** Names as people bear them, in the scripts that the fonts have. */
const NAMES =
  "Łukasz Żółć, Đorđe Šćepanović, Παπαδόπουλος, Иванов, Ağaoğlu, Þórður, Գրիգոր, გიორგი, „Œuvre“ – 5 €";

test("names in Latin, Greek, Cyrillic, Armenian and Georgian are printed in each font, the fonts embedded with their characters alone", async () => {
  const inline = [NAMES, { strong: NAMES }, code(NAMES)] as const;
  const pdf = await rendered("names.pdf", paperOf(text(...inline), tableOf([[NAMES, "1"]])));
  const page = pageTexts(pdf, false).join("").replaceAll(" ", "");
  expect(page.split(NAMES.replaceAll(" ", ""))).toHaveLength(5);
  expect(page).not.toContain("\\u{");
  const raw = pdf.toString("latin1");
  const embedded = [...raw.matchAll(/\/FontName \/(\w+)\+([\w-]+)/g)].map(([, , name]) => name);
  expect(embedded.toSorted()).toEqual([
    "DejaVuSansCondensed",
    "DejaVuSansCondensed-Bold",
    "DejaVuSansMono",
  ]);
  expect(raw.match(/\/FontFile2 /g)).toHaveLength(3);
  expect(pdf.length).toBeLessThan(120_000);
});

test("characters that the fonts have, but that reorder, cover or feign others, appear as their numbers, too", async () => {
  // Hebrew, Arabic, combining marks, spaces of other widths, a soft hyphen.
  const strange = ["\u05d0", "\u0627", "e\u0301", "1\u0336", "\u2003", "\u200b", "\u00ad"];
  const pdf = await rendered("strange.pdf", paperOf(text(strange.join("/")), text(NAMES)));
  const [page = ""] = pageTexts(pdf, false);
  expect(page).toContain("\\u{5d0}/\\u{627}/e\\u{301}/1\\u{336}/\\u{2003}/\\u{200b}/\\u{ad}");
});

test("each font prints what it has itself", async () => {
  const pdf = await rendered("own.pdf", paperOf(text("Nguyễn ", code("Nguyễn"))));
  expect(pageTexts(pdf, false).join("")).toContain("Nguyễn Nguy\\u{1ec5}n");
});

test("a bookmark has its title in any script", async () => {
  const paper = { ...paperOf(text("a")), title: "Ł 株" };
  const raw = (await rendered("bookmark.pdf", paper)).toString("latin1");
  expect(raw).toContain(Buffer.from("\ufeff9 Ł 株", "utf16le").swap16().toString("latin1"));
});

test("a long table repeats its header on each page, and says how many rows it omits and where they are", async () => {
  const rows = Array.from({ length: 600 }, (_, at) => [`row ${at + 1}.`, `${at}`]);
  const pdf = await rendered("long.pdf", paperOf(heading("Rows"), tableOf(rows)));
  const pages = pageTexts(pdf);
  expect(pages.length).toBeGreaterThan(8);
  for (const page of pages.slice(0, -1)) expect(page).toContain("whatamount");
  const all = pageTexts(pdf, false).join("");
  for (const [name = ""] of rows.slice(0, 500)) expect(all).toContain(name);
  expect(all).not.toContain("row 501.");
  expect(all).toContain("500 of 600 rows are listed; all are in 9-paper.md.");
  expect(all.split("whatamount")).toHaveLength(2);
  expect(markdownOf(paperOf(tableOf(rows)))).toContain("| row 600. | 599 |");
});

test("sums of a table with omitted rows are shown, with the number of rows they cover", async () => {
  const rows = Array.from({ length: 600 }, (_, at) => [`row ${at + 1}.`, `${at}`]);
  const paper = paperOf(tableOf(rows, ["in all", "179700"]));
  const all = pageTexts(await rendered("sums.pdf", paper), false).join("");
  expect(all).toContain("row 500.499in all179700");
  expect(all).toContain("500 of 600 rows are listed");
  expect(markdownOf(paper).trimEnd().split("\n").at(-1)).toBe("| in all | 179700 |");
});

test("the last rows of a table share a page, however many rows it has", async () => {
  for (let count = 30; count < 75; count += 1) {
    const rows = Array.from({ length: count }, (_, at) => [`row ${at + 1}.`, `${at}`]);
    const pages = pageTexts(await rendered(`last-${count}.pdf`, paperOf(tableOf(rows))), false);
    expect(pages.at(-1), `${count}`).toContain(`row ${count - 3}.`);
  }
});

test("an address in a list has all digits in Markdown, and its ends in the PDF", async () => {
  const address = `0x01234567${"ab".repeat(24)}89abcdef`;
  const paper = paperOf(text(shortCode(`${address}::roles::Admin`)));
  const [page = ""] = pageTexts(await rendered("address.pdf", paper), false);
  expect(page).toContain("0x01234567…89abcdef::roles::Admin");
  expect(page).not.toContain("abab");
  expect(markdownOf(paper)).toContain(`\`${address}::roles::Admin\``);
});

test("a text longer than a page is complete, and no page is empty", async () => {
  const long = Array.from({ length: 9_000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join(
    "",
  );
  const pdf = await rendered("text.pdf", paperOf(text(code(long)), tableOf([[long, ""]])));
  const pages = pageTexts(pdf, false);
  expect(pages.join("").split(long)).toHaveLength(3);
  expect(pages.every((page) => page !== "")).toBe(true);
});

test("a PDF states title and language, is tagged, has a bookmark for each paper, and contains no clock time or randomness", async () => {
  const paper = paperOf(heading("Part"), tableOf([["a", "1"]]));
  const pdf = await rendered("one.pdf", paper);
  const raw = pdf.toString("latin1");
  expect(raw).toContain("\n(Papers)\n");
  expect(raw).toContain("/Lang (en)");
  expect(raw).toContain("/Marked true");
  expect(raw).toContain("/DisplayDocTitle true");
  expect(raw).toMatch(/\/Title \(9 A paper\)/);
  expect(raw).toContain("\n(D:20250101000000Z)\n");
  for (const tag of ["H1", "H2", "Table", "TR", "TH", "TD"])
    expect(raw).toMatch(new RegExp(`/S /${tag}\\b`));
  // Another PDF between them leaves no trace.
  await rendered("names.pdf", paperOf(text(NAMES, code(NAMES))));
  expect(await rendered("two.pdf", paper)).toEqual(pdf);
});

test("amounts of any length stay on one line inside the page", async () => {
  const amount = `${"9".repeat(60)}.000000`;
  const pdf = await rendered(
    "wide.pdf",
    paperOf(
      tableOf([
        ["a", amount],
        ["b", amount],
      ]),
    ),
  );
  const whole = [...pdf.toString("latin1").matchAll(/1 0 0 1 ([\d.]+) [\d.]+ Tm/g)];
  expect(whole.every(([, x]) => Number(x) >= 42)).toBe(true);
  expect(pageTexts(pdf).join("").split(amount)).toHaveLength(3);
});

test("movements that do not lead from one register to the other are an error that names the difference", () => {
  const row = {
    holderId: 7n,
    wallets: [],
    balance: 10n,
    tokens: 10n,
    granted: 0n,
    unlocked: 0n,
    locked: 0n,
  };
  const registerOf = (balance: bigint) => ({
    head: {
      coinType: "0x1::a::A",
      decimals: 0,
      checkpoint: 1n,
      checkpointTimestamp: 1n,
      checkpointDigest: "digest",
      totalSupply: balance,
      issued: balance,
      holderCount: 1,
      root: "root",
    },
    rows: [{ ...row, balance, tokens: balance }],
    memberships: [],
    roles: [],
  });
  const rollForward = new RollForward();
  rollForward.open(registerOf(10n));
  rollForward.moved("7", {
    ...{ coinType: "0x1::a::A", owner: "0x2", position: 1n, txDigest: "digest", timestampMs: 1n },
    ...{ cause: "MINT", part: "TOKENS", change: 5n, balanceAfter: 15n },
  });
  expect(rollForward.close(registerOf(15n)).tie.computed).toEqual({ TOKENS: 15n, GRANTS: 0n });
  expect(() => rollForward.close(registerOf(16n))).toThrow(RollForwardError);
  expect(() => rollForward.close(registerOf(16n))).toThrow(
    "a difference of 1 of the smallest unit",
  );
});

test("a sample larger than the movements contains all of them, in any reading order", () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const drawnOf = (of: readonly string[], size: number) => {
    const draw = new Draw<string>("seed", size);
    for (const line of of) draw.offer(line, line);
    return draw.drawn.map(({ item }) => item);
  };
  expect(drawnOf(lines, 50).toSorted()).toEqual(lines.toSorted());
  expect(drawnOf(lines.toReversed(), 12)).toEqual(drawnOf(lines, 12));
  expect(drawnOf(lines, 12)).toEqual(drawnOf(lines, 50).slice(0, 12));
  expect(drawnOf(lines, 0)).toEqual([]);
});
