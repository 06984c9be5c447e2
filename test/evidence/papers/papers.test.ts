import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../../demo/write.ts";
import { recordAct } from "../../../src/audit/sequence/acts.ts";
import { readCheckpointFile } from "../../../src/ledger/sources/chk-file.ts";
import { runCommand } from "../../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { follow } from "../../service/following.ts";
import { temporaryFolder } from "../../service/process.ts";
import { edited, KEPT, keptPack, manifestOf, signAnew } from "../packs.ts";
import { pageTexts } from "./pdf-reader.ts";

/** The demo's first checkpoints have everything: forced transfers, freezes, grants that are cancelled. */
const COUNT = 400;
const [FIRST, LAST] = [6, 390];

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let pack = "";
let committee = "";
/** What makes the pack. */
let range: readonly string[] = [];
let settings: Readonly<Record<string, string>> = {};
let made = 0;

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  const ledger = join(folder.path, "ledger");
  pack = join(folder.path, "pack");
  committee = join(ledger, "ledger.json");
  const options = { checkpoints: COUNT, seed: 3, format: "chk", epochLength: 90 } as const;
  const { chainId, packages, coinTypes } = await writeDemoLedger({ dir: ledger, ...options });
  const following = await follow(database, { chainId, packages });
  for (let from = 0; from < COUNT; from += 50) {
    const files = Array.from({ length: 50 }, (_, at) => join(ledger, `${from + at}.chk`));
    await following.append(await Promise.all(files.map((file) => readCheckpointFile(file))));
  }
  await following.project(1_000);
  const coinType = coinTypes[0]?.coinType ?? "";
  const act = (command: string, on: "deployment" | "project" | { coinType: string }) =>
    database.transaction(({ sql }) =>
      recordAct(sql, { command, on, details: { key: "key|7", role: "[admin](x)", isBound: true } }),
    );
  await act("rebuild", "deployment");
  await act("evm reread", "project");
  await act("keys revoke", { coinType });
  range = ["--coin", coinType, "--from", `${FIRST}`, "--to", `${LAST}`];
  settings = {
    DATABASE_URL: database.url,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${ledger}`,
    COMMITTEE_FILE: committee,
  };
  const ran = await runCommand(["audit-pack", ...range, "--out", pack], settings);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(ran.stdout).toContain(`${pack}-papers: working papers\n`);
});
afterAll(async () => {
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const papers = (of: string, ...args: readonly string[]) =>
  runCommand(["audit-pack", "papers", of, ...args], {});

/** Papers of a pack, in a folder of their own. */
const papersOf = async (of: string, ...args: readonly string[]) => {
  made += 1;
  const out = join(folder.path, `papers-${made}`);
  expect(await papers(of, "--out", out, ...args)).toMatchObject({ code: 0, stderr: "" });
  return out;
};

const bytesIn = async (of: string) => {
  const files = (await readdir(of, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  );
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return [path.slice(of.length + 1), (await readFile(path)).toString("latin1")] as const;
      }),
    ),
  );
};

const textOf = (of: string, file: string) => readFile(join(of, file), "utf8");
const pagesOf = async (of: string, file = "working-papers.pdf") =>
  pageTexts(await readFile(join(of, file)));
/** What the pages have, one behind the other. */
const pdfOf = async (of: string, file = "working-papers.pdf") =>
  pageTexts(await readFile(join(of, file)), false).join("");

type Line = { readonly [name: string]: string | boolean };
const linesOf = async (file: string): Promise<readonly Line[]> =>
  (await textOf(pack, file))
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Cells of the rows under a heading of a paper, its head left out. */
const cellsUnder = (paper: string, title: string): readonly (readonly string[])[] => {
  const part = paper.split(/^## /m).find((one) => one.startsWith(title)) ?? "";
  return part
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));
};

const units = (text = ""): bigint => (text === "–" ? 0n : BigInt(text.replace(/[.,]/g, "")));

test("papers of each kept pack tie, name every file by its SHA-256, and repeat byte for byte", async () => {
  for (const name of KEPT) {
    await using kept = await keptPack(name);
    const once = await papersOf(kept.path, "--confirm", "all");
    const again = await papersOf(kept.path, "--confirm", "all");
    const bytes = await bytesIn(once);
    expect(await bytesIn(again)).toEqual(bytes);
    const balances = cellsUnder(await textOf(once, "2-roll-forward.md"), "Balances");
    expect(balances.at(-1)).toEqual(["to the smallest unit", "ties", "ties", "ties"]);
    const isSigned = (await textOf(once, "2-roll-forward.md")).includes(
      "they stand as the deployment signed",
    );
    expect(isSigned).toBe(name === "v1-signed");
    const { SHA256SUMS = "", ...others } = bytes;
    const sums = Object.entries(others).map(
      ([file, text]) =>
        `${createHash("sha256").update(Buffer.from(text, "latin1")).digest("hex")}  ${file}`,
    );
    expect(SHA256SUMS.trimEnd().split("\n").toSorted()).toEqual(sums.toSorted());
  }
});

test("the papers written beside the pack equal those that anyone makes from the pack alone", async () => {
  const own = await papersOf(pack);
  expect(await bytesIn(own)).toEqual(await bytesIn(`${pack}-papers`));
});

test("the roll-forward has every movement by cause, in total and by holder, and ties to both registers", async () => {
  const movements = await linesOf("movements.ndjson");
  const paper = await textOf(`${pack}-papers`, "2-roll-forward.md");
  const causes = cellsUnder(paper, "Movements by cause");
  const all = causes.at(-1) ?? [];
  expect(Number(all[1])).toBe(movements.length);
  const sum = (part: string, isMore: boolean) =>
    movements
      .map(({ part: of, change }) => (of === part ? BigInt(`${change}`) : 0n))
      .filter((change) => change > 0n === isMore)
      .reduce((total, change) => total + change, 0n);
  expect(all.slice(2, 6).map(units)).toEqual([
    sum("TOKENS", true),
    sum("TOKENS", false),
    sum("GRANTS", true),
    sum("GRANTS", false),
  ]);
  for (const [at, words] of [
    [0, "minted"],
    [3, "transferred by force"],
    [5, "claimed from grants"],
    [6, "cancelled grants"],
  ] as const) {
    expect(causes[at]?.[0]).toBe(words);
    expect(Number(causes[at]?.[1]), words).toBeGreaterThan(0);
  }
  const tables = await Promise.all(
    ["first", "last"].map(async (name) => JSON.parse(await textOf(pack, `${name}/cap-table.json`))),
  );
  type Parts = { tokens: string; granted: string; unlocked: string; locked: string };
  type Row = Parts & { holderId: string | null; wallets: { address: string }[]; balance: string };
  const nameOf = ({ holderId, wallets }: Row) =>
    holderId === null ? `\`${wallets[0]?.address}\`` : `holder ${holderId}`;
  const [opening, closing] = tables.map(
    ({ rows }: { rows: Row[] }) => new Map(rows.map((row) => [nameOf(row), BigInt(row.balance)])),
  );
  const [byHolder, total = []] = [
    cellsUnder(paper, "By holder").slice(0, -1),
    cellsUnder(paper, "By holder").at(-1),
  ];
  expect(byHolder.length).toBeGreaterThan(10);
  expect(total[0]).toBe("**all**");
  for (const [at, sum] of total.slice(1, -1).entries()) {
    const column = byHolder.map((cells) => units(cells[at + 1]));
    expect(units(sum)).toBe(column.reduce((all, one) => all + one, 0n));
  }
  for (const [name = "", before, ...rest] of byHolder) {
    const [after, tick] = rest.slice(-2);
    const flows = rest.slice(0, -2).map(units);
    expect(units(before), name).toBe(opening?.get(name) ?? 0n);
    expect(units(after), name).toBe(closing?.get(name) ?? 0n);
    expect(
      flows.reduce((total, flow) => total + flow, units(before)),
      name,
    ).toBe(units(after));
    expect(tick).toBe("ties");
  }
  for (const name of closing?.keys() ?? []) expect(byHolder.map(([of]) => of)).toContain(name);
  expect(cellsUnder(paper, "Supply").at(-1)).toEqual(["to the smallest unit", "ties"]);
  const byPart = new Map(
    cellsUnder(paper, "Tokens and grants by holder").map(([name = "", ...cells]) => [
      name,
      cells.map(units),
    ]),
  );
  expect([...byPart.keys()]).toEqual([...byHolder.map(([name]) => name), "**all**"]);
  for (const [at, { rows }] of tables.entries()) {
    const all: readonly Row[] = rows;
    for (const row of all) {
      expect(byPart.get(nameOf(row))?.slice(4 * at, 4 * at + 4), nameOf(row)).toEqual(
        [row.tokens, row.granted, row.unlocked, row.locked].map(BigInt),
      );
    }
  }
});

test("exceptions list each forced transfer, freeze, role change and register change with transaction and sender, or say that there are none", async () => {
  const paper = await textOf(`${pack}-papers`, "3-exceptions.md");
  const pages = await pdfOf(`${pack}-papers`);
  const events = await linesOf("holder-events.ndjson");
  const roles = await linesOf("role-events.ndjson");
  const movements = await linesOf("movements.ndjson");
  const digests = (of: readonly Line[]) => of.map(({ txDigest }) => `\`${txDigest}\``);
  const listed = (title: string) => cellsUnder(paper, title).map((cells) => cells[2]);
  const isFreeze = ({ eventType }: Line) => eventType === "address_frozen";
  expect(listed("Freezes and unfreezes")).toEqual(digests(events.filter(isFreeze)));
  expect(listed("Changes of holders and groups")).toEqual(
    digests(events.filter((event) => !isFreeze(event))),
  );
  expect(listed("Role changes")).toEqual(digests(roles));
  expect(cellsUnder(paper, "Role changes").map((cells) => cells.at(-1))).toEqual(
    roles.map(({ signer }) => `\`${signer}\``),
  );
  const forced = movements.filter(({ cause }) => cause === "FORCE_TRANSFER");
  expect(forced.length).toBeGreaterThan(0);
  expect(new Set(listed("Forced transfers"))).toEqual(new Set(digests(forced)));
  const cancelled = movements.filter(({ cause }) => cause === "GRANT_CANCELLED");
  expect(listed("Cancelled grants")).toEqual(digests(cancelled));
  expect(paper).toMatch(/^## Movements of unknown cause: none$/m);
  expect(paper).toContain("missing in the pack: **not shown** (paper 1, complete)");
  for (const { txDigest } of [...events, ...roles, ...forced, ...cancelled]) {
    expect(pages).toContain(`${txDigest}`);
  }
  expect(pages).toContain("Movements of unknown cause: none");
});

test("operators' acts on the coin and on all coins are listed as signed, each in its cells", async () => {
  const acts = await linesOf("acts.ndjson");
  expect(acts).toHaveLength(2);
  const paper = await textOf(`${pack}-papers`, "3-exceptions.md");
  const rows = cellsUnder(paper, "Operators' acts");
  expect(rows.map(([number, at, command, , , , , on]) => [number, at, command, on])).toEqual(
    acts.map(({ number, at, command, scope }) => [
      number,
      at,
      `\`${command}\``,
      scope === "coin" ? "the coin" : "all",
    ]),
  );
  for (const row of rows) {
    expect(row).toHaveLength(9);
    expect(row[3]).toBe("`isBound: true, key: key\\|7, role: [admin](x)`");
  }
  await using kept = await keptPack("v2-whole");
  const before = await textOf(await papersOf(kept.path), "3-exceptions.md");
  expect(before).toContain("## Operators' acts: not in this pack\n");
});

test("the sample can be drawn again from what the paper states", async () => {
  const seed = "the auditor's own, ünïque";
  const out = await papersOf(pack, "--seed", seed, "--sample", "7");
  const more = await papersOf(pack, "--seed", seed, "--sample", "9");
  const other = await papersOf(pack, "--seed", "another", "--sample", "7");
  const lines = (await textOf(pack, "movements.ndjson")).split("\n").slice(0, -1);
  const ranked = lines
    .map((line) => ({
      line,
      digest: JSON.parse(line).txDigest,
      rank: createHash("sha256").update(seed).update("\n").update(line).digest("hex"),
    }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  const sheet = async (of: string) =>
    cellsUnder(await textOf(of, "4-sample.md"), "Sheet").map((cells) => cells[3]);
  const expected = ranked.map(({ digest }) => `\`${digest}\``);
  expect(await sheet(out)).toEqual(expected.slice(0, 7));
  expect(await sheet(more)).toEqual(expected.slice(0, 9));
  expect(await sheet(other)).not.toEqual(expected.slice(0, 7));
  const sizes = (of: readonly string[]) =>
    of
      .map((line) => BigInt(JSON.parse(line).change))
      .reduce((sum, change) => sum + (change < 0n ? -change : change), 0n);
  const coverage = cellsUnder(await textOf(out, "4-sample.md"), "Coverage");
  expect(coverage.slice(0, 2).map(([, count, size]) => [count, units(size)])).toEqual([
    [`${lines.length}`, sizes(lines)],
    ["7", sizes(ranked.slice(0, 7).map(({ line }) => line))],
  ]);
  expect(coverage[2]?.[1]).toBe(`${Math.floor(7_000 / lines.length) / 10} %`);
  const pages = await pdfOf(out);
  for (const { digest, rank } of ranked.slice(0, 7)) {
    expect(pages).toContain(digest);
    expect(pages).toContain(rank);
  }
});

test("without a seed the sample is drawn with the manifest's SHA-256, and the paper says why an own seed is better", async () => {
  const sha256 = createHash("sha256").update(await readFile(join(pack, "manifest.json")));
  const paper = await textOf(`${pack}-papers`, "4-sample.md");
  expect(paper).toContain(`drawn with the seed \`${sha256.digest("hex")}\``);
  expect(paper).toContain("An auditor should state an own seed");
});

test("the cover gives the verdict in its own words, with the supplied evidence only", async () => {
  const { publicKey } = await manifestOf(pack);
  const given = ["--key", publicKey, "--committee-from", committee];
  const out = await papersOf(pack, ...given);
  const { stdout } = await runCommand(["audit-pack", "verify", pack, ...given], {});
  const said = [...stdout.matchAll(/^ {2}(.*)$/gm)].map(([, line = ""]) => line);
  expect(said.length).toBeGreaterThan(10);
  const cover = (await textOf(out, "1-cover.md")).replaceAll("\\", "");
  const pages = (await pdfOf(out)).replaceAll(" ", "");
  for (const line of said) {
    expect(cover).toContain(`- ${line}\n`);
    expect(pages).toContain(line.replaceAll(" ", ""));
  }
  expect(cover).toContain("**authentic** (signed by this key, over these bytes): **holds**");
  const without = await textOf(`${pack}-papers`, "1-cover.md");
  expect(without).toContain("**authentic** (signed by this key, over these bytes): **not shown**");
  expect(without).toContain("**complete** (nothing of the range is missing): **not shown**");
});

test("a letter shows one holder's holdings and nobody else's wallet, and begins a page", async () => {
  const { rows } = JSON.parse(await textOf(pack, "last/cap-table.json"));
  const [one, two] = rows.filter(({ holderId }: { holderId: string | null }) => holderId !== null);
  const wallet: string = two.wallets[0].address;
  const out = await papersOf(pack, "--confirm", one.holderId, wallet);
  expect((await readdir(join(out, "confirmations"))).toSorted()).toEqual(
    [one, two]
      .flatMap(({ holderId }) => [`holder-${holderId}.md`, `holder-${holderId}.pdf`])
      .toSorted(),
  );
  const letter = await textOf(out, `confirmations/holder-${two.holderId}.md`);
  const page = await pdfOf(out, `confirmations/holder-${two.holderId}.pdf`);
  for (const text of [letter, page]) {
    expect(text).toContain(wallet);
    const others = rows.filter(({ holderId }: { holderId: string }) => holderId !== two.holderId);
    for (const { wallets } of others) {
      for (const { address } of wallets) expect(text).not.toContain(address);
    }
  }
  const { decimals, issued } = JSON.parse(await textOf(pack, "last/cap-table.json"));
  const [covered, supply] = [BigInt(one.balance) + BigInt(two.balance), BigInt(issued)];
  expect(await textOf(out, "5-confirmations.md")).toContain(
    `Coverage: 2 of ${rows.length} rows of the closing register that have a balance, `,
  );
  expect(await textOf(out, "5-confirmations.md")).toContain(
    ` (${(covered * 1_000n) / supply / 10n}.${((covered * 1_000n) / supply) % 10n} %).`,
  );
  expect(units(cellsUnder(letter, "At the closing date")[0]?.[1])).toBe(BigInt(two.balance));
  expect(decimals).toBe(6);
  const own = new Set(two.wallets.map(({ address }: { address: string }) => address));
  const moved = (await linesOf("movements.ndjson")).filter(({ owner }) => own.has(owner));
  expect(letter).toContain(`: ${moved.length}`);
  const all = pageTexts(await readFile(join(out, "working-papers.pdf")), false);
  for (const [at, { holderId }] of [one, two].entries()) {
    const title = `5.${at + 1} Request for confirmation: holder ${holderId}`;
    expect(all.filter((text) => text.startsWith(title))).toHaveLength(1);
  }
});

test("a letter to a holder unknown to the register is wrong usage, and writes nothing", async () => {
  for (const whom of ["999999", `0x${"ab".repeat(32)}`]) {
    const out = join(folder.path, "nobody");
    const ran = await papers(pack, "--out", out, "--confirm", whom);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(`${whom} is in neither register of the pack`);
    expect(existsSync(out)).toBe(false);
  }
  expect((await papers(pack, "--out", join(folder.path, "x"), "--confirm", "Jane")).code).toBe(2);
});

test("a refuted pack gets no papers", async () => {
  await using copy = await temporaryFolder();
  await cp(pack, copy.path, { recursive: true });
  const isMint = (line: string) => line.replace('"cause":"MINT"', '"cause":"BURN"');
  await edited(copy.path, "movements.ndjson", isMint);
  await signAnew(copy.path);
  const out = join(folder.path, "of a false one");
  const ran = await papers(copy.path, "--out", out);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toContain("AuditPackError: movements.ndjson");
  expect(existsSync(out)).toBe(false);
});

test("papers go into their own folder, never into the pack", async () => {
  expect(await papers(pack, "--out", join(pack, "papers"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is inside the pack"),
  });
  expect((await papers(pack, "--out", `${pack}-papers`)).stderr).toContain("is not empty");
});

test("papers are written to the given folder or not at all; a folder in use is refused before the pack is made", async () => {
  const make = (name: string, ...args: readonly string[]) =>
    runCommand(["audit-pack", ...range, "--out", join(folder.path, name), ...args], settings);
  const beside = await make("in use", "--papers", pack);
  expect(beside.stderr).toContain(`${pack} is not empty`);
  expect(existsSync(join(folder.path, "in use"))).toBe(false);
  expect(await make("without", "--no-papers")).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(join(folder.path, "without-papers"))).toBe(false);
  const elsewhere = join(folder.path, "elsewhere");
  expect((await make("with", "--papers", elsewhere)).stdout).toContain(
    `${elsewhere}: working papers`,
  );
  expect(existsSync(join(elsewhere, "working-papers.pdf"))).toBe(true);
});

test("an unreadable source is stated on the cover, with exit code 3", async () => {
  const out = join(folder.path, "unread");
  const source = `dir:${join(folder.path, "nothing")}`;
  const ran = await papers(pack, "--out", out, "--source", source, "--retry-for", "0");
  expect(ran.code, ran.stderr).toBe(3);
  const cover = await textOf(out, "1-cover.md");
  expect(cover).toContain("**complete** (nothing of the range is missing): **not shown**");
  expect(cover).toContain("not shown: what ");
});

test("every page names its pack and has a number", async () => {
  const pages = await pagesOf(`${pack}-papers`);
  const sha256 = createHash("sha256").update(await readFile(join(pack, "manifest.json")));
  const name = sha256.digest("hex").slice(0, 16);
  expect(pages.length).toBeGreaterThan(8);
  for (const [at, page] of pages.entries()) {
    expect(page).toContain(name);
    expect(page).toContain(`page ${at + 1} of ${pages.length}`);
  }
});
