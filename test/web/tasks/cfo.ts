/** A chief financial officer: figures for the board, and files for the bank. */
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { z } from "zod";
import {
  agree,
  asked,
  type Desk,
  figure,
  rowsOf,
  type Task,
  type User,
  unitsOf,
  viewOf,
} from "./desk.ts";
import { vestingBetween } from "./grants.ts";
import type { Hand } from "./hands.ts";

const register = z.object({
  capTable: z.object({
    issued: z.string(),
    holderCount: z.int(),
    rows: z.array(z.object({ holderId: z.string().nullable(), balance: z.string() })),
  }),
});

const registerAt = async (desk: Desk, coinType: string, at = "") => {
  const query = `{ capTable(coinType: "${coinType}", limit: 1000${at}) { issued holderCount rows { holderId balance } } }`;
  return (await asked(desk, query, register)).capTable;
};

/** The last second of the quarter before this one, unix seconds. */
const lastQuarter = (): number => {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (now.getUTCMonth() % 3)) / 1_000 - 1;
};

const capTable = async (hand: Hand) => {
  await hand.visit("Cap table");
  await viewOf(hand.page, "Cap table");
};

const issuedNow: Task = {
  name: "what is issued and to how many, with the trend",
  does: async ({ page }, desk) => {
    await page.getByRole("img", { name: /^Issued from .* to [\d,.]+$/ }).waitFor();
    await page.getByRole("img", { name: /^Holders from .* to \d+$/ }).waitFor();
    await agree(
      async () => [
        `${unitsOf(await figure(page, "Issued"), 6)}`,
        Number(await figure(page, "Holders")),
      ],
      async () => {
        const { issued, holderCount } = await registerAt(desk, desk.coins.ACME);
        return [issued, holderCount];
      },
    );
  },
};

const atQuarter: Task = {
  name: "the cap table at the end of last quarter",
  does: async (hand, desk) => {
    const { page } = hand;
    await capTable(hand);
    await hand.choose(page.getByLabel("At, usual moments"), "End of last quarter");
    await page.waitForURL(new RegExp(`at=%22${lastQuarter()}%22`));
    const then = await registerAt(desk, desk.coins.ACME, `, atTimestamp: "${lastQuarter()}"`);
    await agree(
      async () => [
        `${unitsOf(await figure(page, "Issued"), 6)}`,
        Number(await figure(page, "Holders")),
      ],
      async () => [then.issued, then.holderCount],
    );
  },
};

const compared: Task = {
  name: "the end of last quarter compared with now, with shares",
  does: async (hand, desk) => {
    const { page } = hand;
    await capTable(hand);
    await hand.use(page.getByRole("link", { name: "Compare two dates" }));
    await hand.choose(page.getByLabel("Compared with, usual moments"), "End of last quarter");
    await page.waitForURL(new RegExp(`with=%22${lastQuarter()}%22`));
    const differences = page.getByRole("region", { name: "Differences" });
    await differences.getByRole("columnheader", { name: /Share change/ }).waitFor();
    const at = `, atTimestamp: "${lastQuarter()}"`;
    await agree(
      async () =>
        /^([\d,]+) differences/.exec(
          (await page.getByRole("heading", { name: /differences$/ }).textContent()) ?? "",
        )?.[1],
      async () => {
        const [before, after] = [
          await registerAt(desk, desk.coins.ACME, at),
          await registerAt(desk, desk.coins.ACME),
        ];
        const [one, two] = [before, after].map(
          ({ rows }) => new Map(rows.map(({ holderId, balance }) => [holderId ?? "", balance])),
        );
        const ids = new Set([...(one?.keys() ?? []), ...(two?.keys() ?? [])]);
        return `${[...ids].filter((id) => one?.get(id) !== two?.get(id)).length}`;
      },
    );
    await differences.locator("tbody tr").first().getByText(/\d %/).first().waitFor();
  },
};

const filed: Task = {
  name: "the register as PDF and as CSV",
  does: async (hand) => {
    const { page } = hand;
    await capTable(hand);
    const issued = await figure(page, "Issued");
    const pdf = await hand.save(page.getByRole("button", { name: "PDF", exact: true }));
    expect((await readFile(await pdf.path())).subarray(0, 5).toString()).toBe("%PDF-");
    const csv = await hand.save(page.getByRole("button", { name: "CSV", exact: true }));
    const [head = "", ...lines] = (await readFile(await csv.path(), "utf8")).trim().split(/\r?\n/);
    const at = head.split(",").indexOf("balance");
    expect(at).toBeGreaterThan(0);
    const sum = lines
      .map((line) => unitsOf(line.split(",")[at] ?? "", 6))
      .reduce((all, one) => all + one, 0n);
    expect(sum).toBe(unitsOf(issued, 6));
  },
};

const concentration: Task = {
  name: "how concentrated the register was over time",
  does: async (hand, desk) => {
    const { page } = hand;
    await capTable(hand);
    await hand.use(page.getByRole("link", { name: "Over time" }));
    const values = page.getByRole("region", { name: "Concentration over time, values" });
    // The newest first.
    const [newest = []] = await rowsOf(values);
    const { rows, issued } = await registerAt(desk, desk.coins.ACME);
    const [first = 0n] = rows
      .map(({ balance }) => BigInt(balance))
      .toSorted((a, b) => (a < b ? 1 : -1));
    const share = Number((first * 1_000n) / BigInt(issued)) / 10;
    expect(Number.parseFloat(newest[1] ?? "")).toBeCloseTo(share, 0);
  },
};

const unlocks: Task = {
  name: "what vests in the next 90 days",
  does: async (hand, desk) => {
    const { page } = hand;
    await toToken(hand, "Acme Robotics Option Pool");
    const part = page.getByText("in 90 days").locator("xpath=..").locator("[data-amount]");
    const vests = await vestingBetween(desk, desk.coins.ACMEO);
    await agree(
      async () => Number(((await part.getAttribute("data-amount")) ?? "").replaceAll(",", "")),
      async () => Number(vests(Date.now(), Date.now() + 90 * 86_400_000)),
    );
  },
};

/** The token's Today. */
const toToken = async ({ page, use }: Hand, name: string) => {
  await use(page.locator("#content").getByRole("link", { name, exact: true }));
  await page.getByText(`${name} since`).waitFor();
};

const holding: Task = {
  name: "what Amara Nwosu holds, vested and not",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.search("Amara Nwosu", "ACMEO");
    await viewOf(page, "Holder 22");
    const query = `{ holder(coinType: "${desk.coins.ACMEO}", holderId: "22") { balance unlocked locked } }`;
    const shape = z.object({
      holder: z.object({ balance: z.string(), unlocked: z.string(), locked: z.string() }),
    });
    await agree(
      async () => {
        const labels = ["Balance", "Unlocked in grants", "Locked in grants"];
        const shown = await Promise.all(labels.map((label) => figure(page, label)));
        return shown.map((text) => text.replaceAll(",", ""));
      },
      async () => {
        const { balance, unlocked, locked } = (await asked(desk, query, shape)).holder;
        return [balance, unlocked, locked];
      },
    );
  },
};

const linked: Task = {
  name: "a link to the register as it is now",
  does: async (hand, desk) => {
    const { page } = hand;
    await capTable(hand);
    await hand.use(page.getByRole("button", { name: "Copy link" }));
    await page.getByText("Copied", { exact: true }).waitFor();
    const copied = new URL(await page.evaluate(() => navigator.clipboard.readText()));
    const [, checkpoint = ""] = /^c(\d+)$/.exec(copied.searchParams.get("at") ?? "") ?? [];
    expect(copied.searchParams.get("token")).toBe(desk.coins.ACME);
    const { holderCount } = await registerAt(
      desk,
      desk.coins.ACME,
      `, atCheckpoint: "${checkpoint}"`,
    );
    expect(holderCount).toBeGreaterThan(0);
  },
};

const supplyFile: Task = {
  name: "the supply over the year as CSV",
  does: async (hand, desk) => {
    const { page } = hand;
    await capTable(hand);
    await hand.use(page.getByRole("link", { name: "Over time" }));
    const saved = await hand.save(page.getByRole("button", { name: "Supply as CSV" }));
    const lines = (await readFile(await saved.path(), "utf8")).trim().split(/\r?\n/);
    // The newest first.
    const rows = lines
      .slice(1)
      .map((line) => line.split(","))
      .reverse();
    const { issued } = await registerAt(desk, desk.coins.ACME);
    expect(unitsOf(rows.at(-1)?.[1] ?? "", 6)).toBe(BigInt(issued));
    const [first = "", last = ""] = [rows[0]?.[0], rows.at(-1)?.[0]];
    expect(Date.parse(last) - Date.parse(first)).toBeGreaterThan(365 * 86_400_000);
  },
};

const together: Task = {
  name: "all tokens together",
  does: async ({ page }, desk) => {
    const card = page.locator("section", {
      has: page.getByRole("heading", { name: "3 tokens" }),
    });
    const shape = z.object({
      tokens: z.array(z.object({ symbol: z.string(), decimals: z.int(), totalSupply: z.string() })),
    });
    await agree(
      async () => {
        const lines = card.getByRole("listitem");
        const amounts = lines.locator("[data-amount]");
        return (
          await amounts.evaluateAll((all) => all.map((one) => one.getAttribute("data-amount")))
        )
          .map((text) => (text ?? "").replaceAll(",", ""))
          .toSorted();
      },
      async () =>
        (await asked(desk, "{ tokens { symbol decimals totalSupply } }", shape)).tokens
          .map(({ decimals, totalSupply }) => {
            const digits = totalSupply.padStart(decimals + 1, "0");
            const [whole, part] = [
              digits.slice(0, digits.length - decimals),
              digits.slice(digits.length - decimals).replace(/0+$/, ""),
            ];
            return part === "" ? whole : `${whole}.${part}`;
          })
          .toSorted(),
    );
  },
};

export const cfo: User = {
  name: "chief financial officer",
  key: "read",
  tasks: [
    issuedNow,
    atQuarter,
    compared,
    filed,
    concentration,
    unlocks,
    holding,
    linked,
    supplyFile,
    together,
  ],
};
