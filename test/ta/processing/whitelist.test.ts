import { afterAll, beforeAll, expect, test } from "vitest";
import {
  SigningError,
  SigningNotAllowedError,
  suiKeySigner,
} from "../../../src/ta/ledgers/signer.ts";
import {
  acceptRequest,
  type Circle,
  ended,
  GROUP,
  historyOf,
  newWallet,
  registerOf,
  startCircle,
} from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

test("an accepted request puts the wallet into the group, by one transaction of its own", async () => {
  const { database } = circle;
  await using _processor = await startProcessor(circle);
  const wallet = newWallet();
  const done = await ended(database, await acceptRequest(database, { investorId: "i-1", wallet }));
  expect(done).toMatchObject({ status: "SUCCESS", reason: null });
  const events = (await registerOf(circle, wallet)).map(({ eventType, txDigest, groupId }) => ({
    eventType,
    txDigest,
    groupId,
  }));
  expect(events).toEqual([
    { eventType: "holder_address_added", txDigest: done.tx_id, groupId: null },
    { eventType: "address_joined_group", txDigest: done.tx_id, groupId: BigInt(GROUP) },
  ]);
  const history = await historyOf(database, done.id);
  expect(history).toEqual([
    { status: "QUEUED", message: "accepted; the wallet will be whitelisted" },
    { status: "QUEUED", message: "the investor's data are stored, sealed" },
    { status: "PENDING", message: "taken up" },
    {
      status: "PENDING",
      message: "the wallet is in no group and belongs to no holder; it joins a new one",
    },
    { status: "PENDING", message: `signed transaction ${done.tx_id}` },
    { status: "PENDING", message: "submitted" },
    { status: "PENDING", message: expect.stringMatching(/^executed(?: at \d+)?; waiting until/) },
    { status: "PENDING", message: "confirmed by the register" },
    { status: "PENDING", message: "no callback: there is no address for it" },
    {
      status: "SUCCESS",
      message: `the wallet was put into group ${GROUP} by transaction ${done.tx_id}`,
    },
  ]);
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
});

test("a second wallet of an investor joins the same holder", async () => {
  const { database } = circle;
  await using _processor = await startProcessor(circle);
  const wallets = [newWallet(), newWallet()];
  for (const wallet of wallets) {
    await ended(database, await acceptRequest(database, { investorId: "i-2", wallet }));
  }
  const added = (await Promise.all(wallets.map((wallet) => registerOf(circle, wallet))))
    .flat()
    .filter(({ eventType }) => eventType === "holder_address_added");
  expect(new Set(added.map(({ holderId }) => holderId)).size).toBe(1);
  expect(added).toHaveLength(2);
});

test("a wallet already in the group fails without a transaction", async () => {
  const { database } = circle;
  await using _processor = await startProcessor(circle);
  const wallet = newWallet();
  await ended(database, await acceptRequest(database, { investorId: "i-3", wallet }));
  const again = await acceptRequest(database, { investorId: "i-3", wallet });
  expect(await ended(database, again)).toMatchObject({
    status: "FAILED",
    reason: "ALREADY_WHITELISTED",
    tx_id: null,
  });
});

test("KYC data end in success; unverified or unstored ones never reach the ledger", async () => {
  const { database } = circle;
  await using _processor = await startProcessor(circle);
  const kyc = await acceptRequest(database, {
    investorId: "i-4",
    kind: "kyc",
    verifiedStatus: false,
  });
  const unverified = await acceptRequest(database, { investorId: "i-4", verifiedStatus: false });
  const lost = await acceptRequest(database, { investorId: "i-4", stored: false });
  expect(await ended(database, kyc)).toMatchObject({ status: "SUCCESS", tx_id: null });
  expect(await ended(database, unverified)).toMatchObject({
    status: "FAILED",
    reason: "INVALID_MESSAGE",
    tx_id: null,
  });
  expect(await ended(database, lost)).toMatchObject({
    status: "FAILED",
    reason: "PII_STORAGE_ERROR",
    tx_id: null,
  });
});

test("a refusing signer ends the request", async () => {
  const { database } = circle;
  const { address } = suiKeySigner(circle.source.secretKey(circle.registrar));
  const refuse = async (): Promise<string> => {
    throw new SigningNotAllowedError("not on my watch");
  };
  await using _processor = await startProcessor(circle, { signer: { address, sign: refuse } });
  const id = await acceptRequest(database, { investorId: "i-5" });
  expect(await ended(database, id)).toMatchObject({
    status: "FAILED",
    reason: "SIGNING_NOT_ALLOWED",
    tx_id: null,
  });
});

test("a failing signer is tried four times, a refusing one once", async () => {
  const { database } = circle;
  const { address } = suiKeySigner(circle.source.secretKey(circle.registrar));
  for (const [remedy, tries, investorId] of [
    ["retry", 4, "i-5-away"],
    ["stop", 1, "i-5-broken"],
  ] as const) {
    let asked = 0;
    const fail = async (): Promise<string> => {
      asked += 1;
      throw new SigningError("the vault of keys does not answer", remedy);
    };
    await using _processor = await startProcessor(circle, {
      signer: { address, sign: fail },
      // As in production: the four tries and the 3 s between them fit into one turn.
      leaseMs: 60_000,
      turnMs: 10_000,
    });
    const id = await acceptRequest(database, { investorId });
    expect(await ended(database, id)).toMatchObject({
      status: "FAILED",
      reason: "SIGNING_ERROR",
      tx_id: null,
    });
    expect(asked).toBe(tries);
  }
});

test("a sender without the WalletsAdmin role: the transaction fails on the ledger", async () => {
  const { database, source, coinType } = circle;
  const { officer } = source.staff(coinType);
  await source.submit({ sender: officer, calls: [], gasCoins: 1 });
  const signer = suiKeySigner(source.secretKey(officer));
  await using _processor = await startProcessor(circle, { signer });
  const done = await ended(database, await acceptRequest(database, { investorId: "i-6" }));
  expect(done).toMatchObject({ status: "FAILED", reason: "BROADCAST_FAILED" });
  expect(done.message).toContain("WalletsAdmin");
  expect(source.receipt(done.tx_id ?? "")?.error).toContain("WalletsAdmin");
});

test("a transaction that the node never accepts ends as a submission error", async () => {
  const { database, source, registrar } = circle;
  const right = suiKeySigner(source.secretKey(registrar));
  const other = suiKeySigner(source.secretKey(source.staff(circle.coinType).officer));
  await using _processor = await startProcessor(circle, {
    signer: { address: right.address, sign: other.sign },
  });
  const done = await ended(database, await acceptRequest(database, { investorId: "i-7" }));
  expect(done).toMatchObject({ status: "FAILED", reason: "BROADCAST_SUBMIT_ERROR" });
  expect(done.message).toContain("signature");
});
