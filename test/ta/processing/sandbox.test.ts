/** Investors of the demo ledger that end as their id says. */
import { expect, test } from "vitest";
import { deliveryWithAttempts } from "../../../src/callbacks/overview.ts";
import { sandboxEnding, sandboxInvestor } from "../../../src/ta/processing/sandbox.ts";
import { resultMessageId } from "../../../src/ta/requests/callback-address.ts";
import { FAILURE_REASONS } from "../../../src/ta/requests/failure-reasons.ts";
import { requestOverviews } from "../../../src/ta/requests/overview.ts";
import { acceptRequest, ended, startCircle } from "./circle.ts";
import { openAsset, startProcessor } from "./processor.ts";

const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ["ALREADY_WHITELISTED", "already_done"],
  ["CALLBACK_DELIVERY_FAILED", "done_undelivered"],
]);

test("a sandbox investor's request ends with the reason of its id, and without a transaction", async () => {
  await using circle = await startCircle({ callbackUrl: "http://127.0.0.1:9/" });
  using opened = await openAsset(circle);
  const asset = { ...opened.asset, endingOf: sandboxEnding };
  await using _processor = await startProcessor(circle, { assets: [asset] });
  const { database } = circle;
  const sent = FAILURE_REASONS.map(async (reason) => {
    const kind = reason === "PII_STORAGE_ERROR" ? "kyc" : "whitelist";
    return acceptRequest(database, { investorId: sandboxInvestor(reason), kind });
  });
  for (const [at, reason] of FAILURE_REASONS.entries()) {
    const id = (await sent[at]) ?? "";
    expect(await ended(database, id)).toMatchObject({ status: "FAILED", reason, tx_id: null });
    const [request] = await requestOverviews(database, { id, limit: 1 });
    expect(request?.outcome).toBe(OUTCOMES.get(reason) ?? "failed");
    const delivery = await deliveryWithAttempts(database, resultMessageId(id));
    expect(delivery?.status).toBe(reason === "CALLBACK_DELIVERY_FAILED" ? "failed" : "pending");
  }
  expect(sandboxEnding("sandbox")).toBeUndefined();
}, 120_000);
