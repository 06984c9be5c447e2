/** An auditor: checks files without a key, and follows movements to their ends. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
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

/** Whole, and with the first and the last root proven. */
const PACK = fileURLToPath(new URL("../../fixtures/audit-pack-v3-whole.zip", import.meta.url));

const aStatement: Task = {
  name: "whether a statement is valid, without a key",
  does: async (hand, { statement }) => {
    const { page } = hand;
    await hand.use(page.getByRole("link", { name: "Check the file" }));
    await viewOf(page, "Check a file");
    await hand.give(page.getByRole("button", { name: "Choose a file" }), {
      name: "statement.json",
      mimeType: "application/json",
      buffer: statement,
    });
    await page.getByRole("heading", { name: "This statement is valid", exact: true }).waitFor();
  },
};

const aPack: Task = {
  name: "whether an audit pack is valid, without a key",
  does: async (hand) => {
    const { page } = hand;
    await hand.use(page.getByRole("link", { name: "Check the file" }));
    await viewOf(page, "Check a file");
    await hand.give(page.getByRole("button", { name: "Choose a file" }), PACK);
    await page.getByRole("heading", { name: "No check failed", exact: true }).waitFor();
  },
};

const proof = z.object({
  committee: z.object({ members: z.array(z.object({ signed: z.boolean() })) }),
});

const signatures: Task = {
  name: "who signed checkpoint 300",
  does: async (hand, { demo }) => {
    const { page } = hand;
    await hand.search("checkpoint 300");
    await viewOf(page, "Proof");
    await page.getByRole("heading", { name: "Checkpoint 300" }).waitFor();
    const headers = { "x-api-key": demo.readKey };
    const { committee } = proof.parse(
      await (await fetch(`${demo.url}/proofs/300`, { headers })).json(),
    );
    const rows = await rowsOf(page.getByRole("region", { name: /^Committee of epoch/ }));
    expect(rows.map(([, signed]) => signed === "signed")).toEqual(
      committee.members.map(({ signed }) => signed),
    );
  },
};

const activity = z.object({
  tokenActivity: z.array(
    z.object({
      txDigest: z.string(),
      fromHolderId: z.string().nullable(),
      toHolderId: z.string().nullable(),
      amount: z.string(),
    }),
  ),
});

const movements = async (desk: Desk, args: string) => {
  const query = `{ tokenActivity(coinType: "${desk.coins.ACME}", limit: 1000, ${args}) { txDigest fromHolderId toHolderId amount } }`;
  return (await asked(desk, query, activity)).tokenActivity;
};

const oneTransaction: Task = {
  name: "from whom to whom in one transaction",
  does: async (hand, desk) => {
    const { page } = hand;
    const [found] = await movements(desk, 'types: ["force_transfer"]');
    await hand.search(found?.txDigest ?? "");
    await page.getByRole("heading", { name: /^Transaction / }).waitFor();
    const [row] = await rowsOf(page.getByRole("region", { name: "Movements" }));
    expect(row?.[1]).toContain("ACME");
    expect(unitsOf(row?.[1] ?? "", 6)).toBe(BigInt(found?.amount ?? 0));
    expect(row?.[2]).toContain(`Holder ${found?.fromHolderId}`);
    expect(row?.[3]).toContain(`Holder ${found?.toHolderId}`);
  },
};

const DAY = 86_400;

const dayOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);

const ofOneType: Task = {
  name: "what was issued in a year, as a file",
  does: async (hand, desk) => {
    const { page } = hand;
    const to = Math.floor(Date.now() / 1_000 / DAY - 30) * DAY;
    const from = to - 365 * DAY;
    await hand.visit("Movements");
    await viewOf(page, "Movements");
    await hand.choose(page.getByLabel("Type of movement"), "Issued");
    await hand.write(page.getByLabel("From, UTC"), dayOf(from));
    await hand.write(page.getByLabel("To, UTC"), dayOf(to));
    await page.waitForURL(/from=.*to=/);
    await page.getByText(/^All \d+ shown$/).waitFor();
    const saved = await hand.save(page.getByRole("button", { name: "Export rows" }));
    const lines = (await readFile(await saved.path(), "utf8")).trim().split(/\r?\n/).slice(1);
    const known = await movements(
      desk,
      `types: ["mint"], fromTimestamp: "${from}", toTimestamp: "${to + DAY - 1}"`,
    );
    expect(known.length).toBeGreaterThan(0);
    const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
    expect(sum(lines.map((line) => unitsOf(line.split(",")[2] ?? "", 6)))).toBe(
      sum(known.map(({ amount }) => BigInt(amount))),
    );
  },
};

const history = z.object({
  holder: z.object({
    balance: z.string(),
    history: z.array(z.object({ totalAfter: z.string() })),
  }),
});

const aHistory: Task = {
  name: "a holder's history with totals",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.search("Holder 2");
    await viewOf(page, "Holder 2");
    const query = `{ holder(coinType: "${desk.coins.ACME}", holderId: "2") { balance history(limit: 1, order: DESC) { totalAfter } } }`;
    await agree(
      async () => {
        const table = page.getByRole("region", { name: "Movements of this holder" });
        const [row] = await rowsOf(table);
        return [`${unitsOf(row?.[3] ?? "", 6)}`, `${unitsOf(await figure(page, "Balance"), 6)}`];
      },
      async () => {
        const found = (await asked(desk, query, history)).holder;
        return [found.history[0]?.totalAfter ?? "", found.balance];
      },
    );
  },
};

const forced: Task = {
  name: "forced transfers over two years",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Movements");
    await viewOf(page, "Movements");
    await hand.choose(page.getByLabel("Type of movement"), "Moved by an administrator");
    await page.waitForURL(/kind=/);
    const known = await movements(desk, 'types: ["force_transfer"]');
    await page.getByText(`All ${known.length} shown`).waitFor();
    const rows = await rowsOf(page.getByRole("region", { name: "Movements" }));
    expect(rows.length).toBe(known.length);
    // As the story has it: Henrik Aasen lost a key, and a court gave Sofia Lindqvist what Thomas Okafor had.
    const pairs = known.map(({ fromHolderId, toHolderId }) => `${fromHolderId} to ${toHolderId}`);
    expect(new Set(pairs)).toEqual(new Set(["12 to 12", "14 to 18"]));
    for (const [name, of] of [
      ["Henrik Aasen", rows],
      ["Sofia Lindqvist", rows],
    ] as const) {
      expect(of.some((cells) => cells.some((cell) => cell.includes(name)))).toBe(true);
    }
  },
};

const roles = z.object({ walletRoles: z.array(z.object({ owner: z.string() })) });

const rolesThen: Task = {
  name: "who had which role a year ago",
  does: async (hand, desk) => {
    const { page } = hand;
    const at = Math.floor(Date.now() / 1_000 / DAY - 365) * DAY;
    await hand.visit("Roles");
    await viewOf(page, "Roles");
    await hand.write(page.getByLabel("At, UTC"), dayOf(at), "Enter");
    await page.waitForURL(/at=/);
    const query = `{ walletRoles(coinType: "${desk.coins.ACME}", atTimestamp: "${at + DAY - 1}") { owner } }`;
    await agree(
      async () => (await rowsOf(page.getByRole("region", { name: "Administrators" }))).length,
      async () =>
        new Set((await asked(desk, query, roles)).walletRoles.map(({ owner }) => owner)).size,
    );
  },
};

const filed: Task = {
  name: "a holder's statement as a file and as PDF",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.search("Holder 16");
    await viewOf(page, "Holder 16");
    const file = await hand.save(page.getByRole("button", { name: "Statement", exact: true }));
    const statement = z
      .object({ coinType: z.string(), row: z.object({ balance: z.string() }) })
      .parse(JSON.parse(await readFile(await file.path(), "utf8")));
    expect(statement.coinType).toBe(desk.coins.ACME);
    const pdf = await hand.save(page.getByRole("button", { name: "Statement as PDF" }));
    expect((await readFile(await pdf.path())).subarray(0, 5).toString()).toBe("%PDF-");
  },
};

const rootThen: Task = {
  name: "the root of the register at a date",
  does: async (hand, desk) => {
    const { page } = hand;
    const at = Math.floor(Date.now() / 1_000 / DAY - 100) * DAY;
    await hand.search(dayOf(at));
    await viewOf(page, "Cap table");
    const query = `{ capTable(coinType: "${desk.coins.ACME}", atTimestamp: "${at + DAY - 1}", limit: 1) { root } }`;
    const { root } = (
      await asked(desk, query, z.object({ capTable: z.object({ root: z.string() }) }))
    ).capTable;
    await page
      .getByText("Root of all rows")
      .locator("xpath=following::*[@title]")
      .first()
      .waitFor();
    await hand.use(page.getByRole("button", { name: "Copy root" }));
    await page.getByRole("button", { name: "Copied root" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(root);
  },
};

export const auditor: User = {
  name: "auditor",
  key: "read",
  tasks: [signatures, oneTransaction, ofOneType, aHistory, forced, rolesThen, filed, rootThen],
};

/** The same person, who was sent a file and has no key. */
export const stranger: User = { name: "auditor", key: "none", tasks: [aStatement, aPack] };
