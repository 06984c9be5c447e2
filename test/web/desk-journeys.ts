/** What an operator does on Status, Requests and Deliveries: holding something up, finding a request, a failing receiver. */
import { randomBytes } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { expect, test } from "vitest";
import { createTransferAgent } from "../../client/index.ts";
import { registerKey } from "../../src/ta/requests/caller-keys.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { bodyOf } from "../ta/submissions.ts";
import { watch } from "./browser.ts";
import type { Demo } from "./demo.ts";
import { seriousFaults, settled } from "./views.ts";

const LATE = { timeout: 60_000 };

/** Signs in with an operator key where a view asks for one. */
export const asOperator = async (page: Page, demo: Demo) => {
  await page.getByLabel(/^(API|Operator) key$/).fill(demo.operatorKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("operator key", { exact: false }).first().waitFor();
};

/** Tests for the service and the browser of the file that calls this. */
export const deskJourneys = (demo: () => Demo, browser: () => Browser): void => {
  const open = async (path: string) => {
    const watched = await watch(browser(), demo().url + path, { stranger: true });
    await asOperator(watched.page, demo());
    await settled(watched.page);
    return watched;
  };
  const agentOf = async () =>
    createTransferAgent({ url: demo().url, secretKey: await demo().agentSecretKey() });
  const follow = (page: Page, name: string) =>
    page.getByRole("link", { name, exact: true }).first().click();

  test("by keyboard, an operator pauses an asset with a reason after reading what that holds up; Status and Requests show it until it is resumed", async () => {
    await using watched = await open("/requests");
    const { page, complaints } = watched;
    await page.getByRole("button", { name: "Pause: Requests for demo-b" }).focus();
    await page.keyboard.press("Enter");
    const asked = page.getByRole("alertdialog", { name: "Pause: Requests for demo-b?" });
    await asked.getByText(/^Held up: new requests are accepted and wait/).waitFor();
    await asked.getByLabel("Reason, for other operators").focus();
    await page.keyboard.type("incident 12");
    expect(await seriousFaults(page, "light")).toEqual([]);
    await asked.getByRole("button", { name: "Pause", exact: true }).focus();
    await page.keyboard.press("Enter");
    const notice = page.getByRole("status").filter({ hasText: "Requests for demo-b: paused" });
    await notice.getByText(/Paused since .* by key key_\w+: incident 12/).waitFor();
    await follow(page, "Status");
    await notice.getByText(/incident 12/).waitFor();
    await follow(page, "Deliveries");
    await page.getByRole("heading", { name: "Receivers" }).waitFor();
    expect(await notice.count()).toBe(0);
    await follow(page, "Requests");
    await notice.getByRole("button", { name: "Resume: Requests for demo-b" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Resume" }).click();
    await notice.waitFor({ state: "detached" });
    await follow(page, "Status");
    await page.getByText("Earlier pauses").click();
    await page.getByText(/incident 12 · paused by key key_\w+, resumed by key key_/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("requests are found by wallet, investor and id, kept over a reload, the investor in no address; and a wallet that was whitelisted before is no failure", async () => {
    const agent = await agentOf();
    const [wallet, id] = [
      `0x${randomBytes(32).toString("hex")}`,
      `inv-${randomBytes(4).toString("hex")}`,
    ];
    const { requestId: first } = await agent.whitelist(bodyOf({ id, blockchain_wallet: wallet }));
    expect(await agent.ended(first)).toMatchObject({ outcome: "done" });
    const { requestId: second } = await agent.whitelist(
      bodyOf({ id, blockchain_wallet: wallet, first_name: "Another" }),
    );
    expect(await agent.ended(second)).toMatchObject({ outcome: "already_done" });

    await using watched = await open("/requests");
    const { page, complaints } = watched;
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    const form = page.getByRole("form", { name: "Find requests" });
    const rows = page.getByRole("region", { name: "Requests, newest first" }).locator("tbody tr");
    await form.getByLabel("Wallet").fill("4347");
    await page.keyboard.press("Enter");
    await form.getByText("A wallet is 0x and up to 64 hex digits.").waitFor();
    await form.getByLabel("Wallet").fill(wallet.toUpperCase().replace("0X", "0x"));
    await page.keyboard.press("Enter");
    await page.waitForURL(/wallet=0x/);
    await rows.filter({ hasText: "Already whitelisted" }).waitFor();
    expect(await rows.count()).toBe(2);
    await form.getByLabel("Request id").fill(first);
    await form.getByRole("button", { name: "Find" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await form.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => rows.count()).toBeGreaterThan(1);
    await form.getByLabel("Investor").fill(id);
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count()).toBe(2);
    await page.reload();
    await asOperator(page, demo());
    await rows.filter({ hasText: "Already whitelisted" }).waitFor();
    expect(await rows.count()).toBe(2);
    expect(await form.getByLabel("Investor").inputValue()).toBe(id);
    expect(await rows.getByText("Failed", { exact: true }).count()).toBe(0);
    expect(addresses.filter((address) => address.includes(id))).toEqual([]);
    await rows.filter({ hasText: "Already whitelisted" }).getByRole("link").first().click();
    await page.getByText("which is no failure", { exact: false }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a receiver is amber from its first refusal, holds its callbacks while it is paused, and a delivery shows what was sent", async () => {
    let status = 500;
    await using receiver = await startReceiver(() => status);
    const { secretKey = "" } = await registerKey(demo().database, {
      asset: "demo-a",
      callbackUrl: receiver.url,
    });
    const agent = createTransferAgent({ url: demo().url, secretKey });
    const { requestId } = await agent.kyc(bodyOf({ id: "inv-amber" }));
    await using watched = await open("/deliveries");
    const { page, complaints } = watched;
    const row = page.locator("li").filter({ hasText: `127.0.0.1:${receiver.port}` });
    await row.getByText("Failing", { exact: true }).waitFor(LATE);
    await row.getByRole("button", { name: /^Pause: Callbacks to ta:demo-a:/ }).click();
    const asked = page.getByRole("alertdialog");
    await asked.getByText("1 callback is waiting now.").waitFor();
    await asked.getByRole("button", { name: "Pause", exact: true }).click();
    await row.getByText("Paused", { exact: true }).waitFor();

    await page.goto(`${demo().url}/deliveries?delivery=ta-${requestId}`);
    await asOperator(page, demo());
    const panel = page.getByRole("dialog", { name: "KYC status callback" });
    await panel.getByText("On hold: the receiver is paused").waitFor();
    await panel.getByText(`"requestId": "${requestId}"`).waitFor();
    await panel.getByText("never", { exact: true }).waitFor();
    expect(await seriousFaults(page, "light")).toEqual([]);
    status = 204;
    await page.keyboard.press("Escape");
    await row.getByRole("button", { name: /^Resume: / }).click();
    await asked.getByRole("button", { name: "Resume" }).click();
    await row.getByText("Open", { exact: true }).waitFor(LATE);
    await page.goto(`${demo().url}/requests/${requestId}`);
    await asOperator(page, demo());
    await page.getByRole("link", { name: "Show in Deliveries" }).click();
    await panel.getByText("HTTP 204").waitFor();
    expect(await panel.getByText("never", { exact: true }).count()).toBe(0);
    await panel.getByRole("link", { name: "Its request" }).click();
    await page.waitForURL(new RegExp(`/requests/${requestId}`));
    expect(complaints).toEqual([]);
  });
};
