/** A clerk of the transfer agent: requests of callers, their results, and the wallets they are about. */
import { expect } from "vitest";
import { z } from "zod";
import { shortened } from "../../../web/src/shown/shorten.ts";
import { asked, askedAsOperator, type Desk, rowsOf, type Task, type User, viewOf } from "./desk.ts";
import type { Hand } from "./hands.ts";

/** The request with this id is on the page. */
const showsRequest = async ({ page }: Hand, id: string) => {
  await page.waitForURL(new RegExp(`/requests/${id}`));
  await page.getByRole("list", { name: "Steps of the request" }).waitFor();
};

const byWallet: Task = {
  name: "a request by its wallet",
  does: async (hand, { callers: { done } }) => {
    await hand.visit("Requests");
    await viewOf(hand.page, "Requests");
    const form = hand.page.getByRole("form", { name: "Find requests" });
    await hand.write(form.getByLabel("Wallet"), done.wallet, "Enter");
    await hand.page.waitForURL(/wallet=/);
    const table = hand.page.getByRole("region", { name: "Requests, newest first" });
    await expect.poll(() => table.locator("tbody tr").count()).toBe(1);
    await hand.use(table.getByRole("link", { name: /Whitelist/ }));
    await showsRequest(hand, done.id);
  },
};

const byId: Task = {
  name: "a request by its id",
  does: async (hand, { callers: { done } }) => {
    await hand.search(done.id);
    await showsRequest(hand, done.id);
  },
};

const request = z.object({ message: z.string(), reason: z.string().nullable() });

const whyFailed: Task = {
  name: "why a request failed",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Requests");
    await viewOf(page, "Requests");
    const table = page.getByRole("region", { name: "Requests, newest first" });
    await hand.use(table.getByRole("row").filter({ hasText: "Failed" }).getByRole("link").first());
    const path = `/operator/requests/${desk.callers.failed.id}`;
    const { message, reason } = await askedAsOperator(desk, path, request);
    await showsRequest(hand, desk.callers.failed.id);
    await page
      .getByText(reason ?? "", { exact: true })
      .first()
      .waitFor();
    await page.getByText(message).first().waitFor();
  },
};

const openOfAsset: Task = {
  name: "what is open for one asset",
  does: async (hand, { callers: { open } }) => {
    const { page } = hand;
    await hand.visit("Requests");
    await viewOf(page, "Requests");
    await hand.choose(page.getByLabel("Status"), "Open");
    await hand.choose(page.getByLabel("Asset", { exact: true }), "demo-b");
    await page.waitForURL(/status=OPEN.*asset=demo-b|asset=demo-b.*status=OPEN/);
    const table = page.getByRole("region", { name: "Requests, newest first" });
    const rows = table.getByRole("row").filter({ hasText: "demo-b" });
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.getByRole("link").first().getAttribute("href")).toContain(open.id);
  },
};

const delivered: Task = {
  name: "whether a result was delivered, and what was sent",
  does: async (hand, { callers: { done } }) => {
    const { page } = hand;
    await hand.search(done.id);
    await showsRequest(hand, done.id);
    await page.getByText("Delivered", { exact: true }).first().waitFor();
    const body = page.getByRole("region", { name: "Body" });
    await expect.poll(() => body.textContent()).toContain(done.id);
  },
};

const again: Task = {
  name: "a delivery that is sent again",
  does: async (hand, desk) => {
    const { page } = hand;
    const { done } = desk.callers;
    const path = `/operator/deliveries/${done.deliveryId}`;
    const attempts = async () =>
      (await askedAsOperator(desk, path, z.object({ attemptCount: z.int() }))).attemptCount;
    const before = await attempts();
    await hand.search(done.id);
    await showsRequest(hand, done.id);
    await hand.use(page.getByRole("button", { name: "Send again" }));
    await hand.use(page.getByRole("alertdialog").getByRole("button", { name: "Send again" }));
    await expect.poll(attempts).toBeGreaterThan(before);
  },
};

/** The first wallet of Mei-Lin Chang, who is frozen in the company's story. */
const frozenWallet = async (desk: Desk) => {
  const query = `{ holder(coinType: "${desk.coins.ACME}", holderId: "17") { label wallets { address groupId isFrozen } } }`;
  const wallet = z.object({ address: z.string(), groupId: z.string(), isFrozen: z.boolean() });
  const shape = z.object({ holder: z.object({ label: z.string(), wallets: z.array(wallet) }) });
  const { label, wallets } = (await asked(desk, query, shape)).holder;
  return { label, wallet: wallets[0] ?? { address: "", groupId: "", isFrozen: false } };
};

const whose: Task = {
  name: "whose wallet is the shortened one of a message",
  does: async (hand, desk) => {
    const { label, wallet } = await frozenWallet(desk);
    await hand.search(shortened(wallet.address));
    await hand.page.locator("#content").getByText(label, { exact: true }).first().waitFor();
  },
};

const isFrozen: Task = {
  name: "whether that wallet is frozen, and its group",
  does: async (hand, desk) => {
    const { wallet } = await frozenWallet(desk);
    await hand.search(wallet.address);
    await viewOf(hand.page, /^Wallet /);
    const table = hand.page.getByRole("region", { name: "Tokens of this wallet" });
    const row = (await rowsOf(table)).find(([token]) => token === "ACME") ?? [];
    expect([row[4], row[5]]).toEqual([wallet.isFrozen ? "frozen" : "active", wallet.groupId]);
    expect(wallet.isFrozen).toBe(true);
  },
};

const named: Task = {
  name: "a holder who gets a name",
  does: async (hand, desk) => {
    const { page } = hand;
    const text = `Ada ${hand.name}`;
    await hand.search("Holder 13");
    await viewOf(page, "Holder 13");
    await hand.use(page.getByRole("button", { name: /^(?:Label|Change the label of) Holder 13$/ }));
    await hand.write(page.getByRole("dialog").getByLabel("Label", { exact: true }), text, "Enter");
    await page.locator("#content header").getByText(text).waitFor();
    const query = `{ holder(coinType: "${desk.coins.ACME}", holderId: "13") { label } }`;
    const shape = z.object({ holder: z.object({ label: z.string() }) });
    await expect.poll(async () => (await asked(desk, query, shape)).holder.label).toBe(text);
  },
};

const days = z.object({
  days: z.array(z.object({ day: z.string(), done: z.int(), failed: z.int() })),
});

const lately: Task = {
  name: "done and failed of the last days",
  does: async (hand, desk) => {
    const { page } = hand;
    await hand.visit("Requests");
    await viewOf(page, "Requests");
    const table = page.getByRole("region", { name: "Ended by day, values" });
    const today = new Date().toISOString().slice(0, 10);
    const known = (await askedAsOperator(desk, "/operator/requests/figures?days=7", days)).days;
    const last = known.find(({ day }) => day === today);
    const row = (await rowsOf(table)).find((cells) => cells[0]?.includes(today));
    expect(row?.[1]).toBe(`${last?.done}`);
    expect(row).toContain(`${last?.failed}`);
  },
};

export const clerk: User = {
  name: "clerk",
  key: "operator",
  tasks: [byWallet, byId, whyFailed, openOfAsset, delivered, again, whose, isFrozen, named, lately],
};
