/** Somebody in investor relations, who knows people by their names. */
import { expect } from "vitest";
import { z } from "zod";
import { agree, asked, figure, rowsOf, type Task, type User, unitsOf, viewOf } from "./desk.ts";

const largest: Task = {
  name: "the ten largest holders by name",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Cap table");
    await viewOf(page, "Cap table");
    await agree(
      async () => {
        const rows = await rowsOf(page.getByRole("region", { name: "Holders" }));
        return rows.slice(0, 10).map(([holder = ""]) => holder.replace(/frozen$/, ""));
      },
      async () => {
        const { capTable } = await asked(
          desk,
          `{ capTable(coinType: "${desk.coins.ACME}", limit: 1000) { rows { holderId balance label } } }`,
          z.object({
            capTable: z.object({
              rows: z.array(
                z.object({
                  holderId: z.string().nullable(),
                  balance: z.string(),
                  label: z.string().nullable(),
                }),
              ),
            }),
          }),
        );
        return capTable.rows
          .toSorted((a, b) => Number(BigInt(b.balance) - BigInt(a.balance)))
          .slice(0, 10)
          .map(({ holderId, label }) => `Holder ${holderId}${label}`);
      },
    );
  },
};

/** Numbers of the holders in a register now, or at a time. */
const holdersAt = z.object({
  capTable: z.object({ rows: z.array(z.object({ holderId: z.string().nullable() })) }),
});

const comings: Task = {
  name: "who is new and who exited since the end of last month",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Cap table");
    await viewOf(page, "Cap table");
    await hand.use(page.getByRole("link", { name: "Compare two dates" }));
    await hand.choose(page.getByLabel("Compared with, usual moments"), "End of last month");
    await page.waitForURL(/with=/);
    const now = new Date();
    const then = Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) / 1_000 - 1;
    const holders = async (at: string) => {
      const query = `{ capTable(coinType: "${desk.coins.ACME}", limit: 1000${at}) { rows { holderId } } }`;
      const { capTable } = await asked(desk, query, holdersAt);
      return capTable.rows.map(({ holderId }) => holderId);
    };
    await agree(
      async () => [await figure(page, "New"), await figure(page, "Exited")],
      async () => {
        const [before, after] = [await holders(`, atTimestamp: "${then}"`), await holders("")];
        const left = before.filter((id) => !after.includes(id));
        return [`${after.filter((id) => !before.includes(id)).length}`, `${left.length}`];
      },
    );
  },
};

const holder = z.object({ holder: z.object({ label: z.string(), balance: z.string() }) });

const byNumber: Task = {
  name: "“Holder 16”: who it is",
  does: async (hand, desk) => {
    await hand.search("Holder 16");
    await viewOf(hand.page, "Holder 16");
    const query = `{ holder(coinType: "${desk.coins.ACME}", holderId: "16") { label balance } }`;
    const { label } = (await asked(desk, query, holder)).holder;
    await hand.page.locator("#content header").getByText(label, { exact: true }).waitFor();
  },
};

const byName: Task = {
  name: "what Blue Kestrel holds",
  does: async (hand, desk) => {
    await hand.search("Blue Kestrel", "ACMEP");
    await viewOf(hand.page, "Holder 8");
    const { ACMEP } = desk.coins;
    const query = `{ holder(coinType: "${ACMEP}", holderId: "8") { label balance } }`;
    await agree(
      async () => `${unitsOf(await figure(hand.page, "Balance"), 9)}`,
      async () => (await asked(desk, query, holder)).holder.balance,
    );
  },
};

const events = z.object({ holderEvents: z.array(z.object({ eventId: z.string() })) });

const sinceClose: Task = {
  name: "all changes of the register since yesterday's close",
  does: async ({ page }, desk) => {
    const title = page.getByRole("heading", { name: /^Changes of the holder register/ });
    await title.waitFor();
    const close = Math.floor(Date.now() / 86_400_000) * 86_400 - 1;
    const query = `{ holderEvents(coinType: "${desk.coins.ACME}", sinceTimestamp: "${close}", limit: 1000) { eventId } }`;
    await agree(
      async () => /: ([\d,]+)$/.exec((await title.textContent()) ?? "")?.[1] ?? "0",
      async () => `${(await asked(desk, query, events)).holderEvents.length}`,
    );
  },
};

const frozenRows = z.object({
  capTable: z.object({
    rows: z.array(
      z.object({
        holderId: z.string().nullable(),
        wallets: z.array(z.object({ isFrozen: z.boolean(), balance: z.string() })),
      }),
    ),
  }),
});

const frozen: Task = {
  name: "frozen wallets with a balance, and whose they are",
  does: async (hand, desk) => {
    const { page } = hand;
    const item = page.getByRole("region", { name: "Needs attention" });
    await hand.use(
      item
        .locator("> *", { hasText: "Frozen wallets with a balance" })
        .getByRole("link", { name: "Show" }),
    );
    await viewOf(page, "Cap table");
    const query = `{ capTable(coinType: "${desk.coins.ACME}", limit: 1000) { rows { holderId wallets { isFrozen balance } } } }`;
    await agree(
      async () => {
        const rows = await rowsOf(page.getByRole("region", { name: "Holders" }));
        return rows.map(([name = ""]) => /^Holder (\d+)/.exec(name)?.[1] ?? "").toSorted();
      },
      async () =>
        (await asked(desk, query, frozenRows)).capTable.rows
          .filter(({ wallets }) => wallets.some(({ isFrozen }) => isFrozen))
          .map(({ holderId }) => holderId ?? "")
          .toSorted(),
    );
    // As the company's story has it.
    await page.getByText("Mei-Lin Chang").first().waitFor();
  },
};

const printed: Task = {
  name: "the register on paper",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Cap table");
    await viewOf(page, "Cap table");
    const asksToPrint = page.evaluate(
      () => new Promise<void>((resolve) => Object.assign(window, { print: resolve })),
    );
    await hand.use(page.getByRole("button", { name: "Print" }));
    await asksToPrint;
    await page.emulateMedia({ media: "print" });
    const head = (await page.locator("#content header dl").textContent()) ?? "";
    const [, checkpoint = ""] = /Checkpoint([\d,]+)/.exec(head) ?? [];
    const query = `{ capTable(coinType: "${desk.coins.ACME}", atCheckpoint: "${checkpoint.replaceAll(",", "")}", limit: 1) { root } }`;
    const { root } = (
      await asked(desk, query, z.object({ capTable: z.object({ root: z.string() }) }))
    ).capTable;
    expect(head).toContain(root);
    await page.emulateMedia({ media: "screen" });
  },
};

const since: Task = {
  name: "since when somebody is a holder",
  does: async (hand, desk) => {
    await hand.search("Holder 22");
    await viewOf(hand.page, "Holder 22");
    const query = `{ holder(coinType: "${desk.coins.ACME}", holderId: "22") { since } }`;
    const { since: seconds } = (
      await asked(desk, query, z.object({ holder: z.object({ since: z.string() }) }))
    ).holder;
    const day = new Date(Number(seconds) * 1_000).toISOString().slice(0, 10);
    await hand.page.getByText(`a holder since ${day}`).waitFor();
  },
};

const movementsOfDay: Task = {
  name: "what moved on one day",
  does: async (hand, desk) => {
    const { page } = hand;
    // A day of the series A's lockup with ordinary trades, 300 days ago.
    const ms = Math.floor(Date.now() / 86_400_000 - 300) * 86_400_000;
    const day = new Date(ms).toISOString().slice(0, 10);
    await hand.visit("Movements");
    await viewOf(page, "Movements");
    await hand.write(page.getByLabel("From, UTC"), day);
    await hand.write(page.getByLabel("To, UTC"), day);
    await page.waitForURL(/from=.*to=/);
    const query = `{ tokenActivity(coinType: "${desk.coins.ACME}", fromTimestamp: "${ms / 1_000}", toTimestamp: "${ms / 1_000 + 86_399}", limit: 1000) { eventId } }`;
    const { tokenActivity } = await asked(
      desk,
      query,
      z.object({ tokenActivity: z.array(z.object({ eventId: z.string() })) }),
    );
    await page
      .getByText(tokenActivity.length === 0 ? /^No movements/ : `All ${tokenActivity.length} shown`)
      .first()
      .waitFor();
  },
};

const wallet: Task = {
  name: "one wallet over all tokens",
  does: async (hand, desk) => {
    const { page } = hand;
    const { capTable } = await asked(
      desk,
      `{ capTable(coinType: "${desk.coins.ACMEP}", holder: "8") { rows { wallets { address } } } }`,
      z.object({
        capTable: z.object({
          rows: z.array(z.object({ wallets: z.array(z.object({ address: z.string() })) })),
        }),
      }),
    );
    const address = capTable.rows[0]?.wallets[0]?.address ?? "";
    await hand.search(address);
    const { wallet: known } = await asked(
      desk,
      `{ wallet(address: "${address}") { tokens { symbol } } }`,
      z.object({ wallet: z.object({ tokens: z.array(z.object({ symbol: z.string() })) }) }),
    );
    expect(known.tokens.length).toBeGreaterThan(1);
    for (const { symbol } of known.tokens) {
      await page.locator("#content").getByText(symbol, { exact: true }).first().waitFor();
    }
  },
};

export const investorRelations: User = {
  name: "investor relations",
  key: "read",
  tasks: [
    largest,
    comings,
    byNumber,
    byName,
    sinceClose,
    frozen,
    printed,
    since,
    movementsOfDay,
    wallet,
  ],
};
