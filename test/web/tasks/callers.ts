/** What callers asked of the transfer agent before the tasks: one request of each end, and a receiver that refuses. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createTransferAgent, type TransferAgent } from "../../../client/index.ts";
import { registerKey } from "../../../src/ta/requests/caller-keys.ts";
import { startReceiver } from "../../callbacks/receiver.ts";
import { until } from "../../lanes/until.ts";
import type { Demo } from "../demo.ts";

type Asked = { readonly id: string; readonly wallet: string; readonly investorId: string };

export type Callers = AsyncDisposable & {
  /** Whitelisted, and its result was delivered. */
  readonly done: Asked & { readonly deliveryId: string };
  readonly failed: Asked;
  /** Of the asset `demo-b`, which is paused. */
  readonly open: Asked;
  /** Its result is refused by its receiver, which is tried again and again. */
  readonly refused: Asked & { readonly deliveryId: string };
  /** Makes a request whose callback is given up; returns the callback's id. */
  giveUp(): Promise<string>;
  /** Address of the receiver that refuses, as the page shows it. */
  readonly refusing: string;
};

/** For a request's end and its callback on a busy machine, milliseconds. */
const PATIENCE_MS = 90_000;

/** Investors of the demo ledger whose requests end so. */
const FAILING = "sandbox-broadcast-failed";
const UNDELIVERED = "sandbox-callback-delivery-failed";

export const startCallers = async (demo: Demo): Promise<Callers> => {
  await using starting = new AsyncDisposableStack();
  const refusing = starting.use(await startReceiver(() => 503));
  const { url } = demo;
  const agentOf = (secretKey: string | undefined) =>
    createTransferAgent({ url, secretKey: secretKey ?? "" });
  const own = await registerKey(demo.database, {
    asset: "demo-a",
    callbackUrl: new URL(refusing.url).href,
  });
  const other = await registerKey(demo.database, { asset: "demo-b" });
  const [agent, patient, ofOther] = [
    agentOf(await demo.agentSecretKey()),
    agentOf(own.secretKey),
    agentOf(other.secretKey),
  ];
  await paused(demo, "demo-b");
  const done = await whitelisted(agent, "desk-done");
  const failed = await whitelisted(agent, FAILING);
  const refused = await whitelisted(patient, "desk-refused");
  const open = await whitelisted(ofOther, "desk-open");
  await Promise.all([
    agent.ended(done.id),
    agent.ended(failed.id),
    patient.ended(refused.id),
    until(
      "a refused callback",
      () => refusing.received.length,
      (count) => count > 0,
      PATIENCE_MS,
    ),
  ]);
  const running = starting.move();
  return {
    done: { ...done, deliveryId: await deliveryOf(agent, done.id) },
    failed,
    open,
    refused: { ...refused, deliveryId: await deliveryOf(patient, refused.id) },
    giveUp: async () => {
      const { id } = await whitelisted(agent, UNDELIVERED);
      await agent.ended(id);
      return deliveryOf(agent, id);
    },
    refusing: `${new URL(refusing.url).origin}/…`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};

const whitelisted = async (agent: TransferAgent, investorId: string): Promise<Asked> => {
  const wallet = `0x${randomBytes(32).toString("hex")}`;
  const { requestId } = await agent.whitelist({
    investor: {
      id: investorId,
      first_name: "Ada",
      last_name: "Example",
      email: "ada@example.com",
      dob: "1980-01-31",
      primary_phone: "+4722222222",
      full_address: { street: "1 Main St", city: "Oslo", countryCode: "NO", postalCode: "0150" },
      blockchain_wallet: wallet,
    },
  });
  return { id: requestId, wallet, investorId };
};

const deliveryOf = async (agent: TransferAgent, requestId: string): Promise<string> => {
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  while (!deadline.aborted) {
    for await (const delivery of agent.listCallbacks()) {
      if (delivery.requestId === requestId) return delivery.id;
    }
    await delay(100);
  }
  throw new Error(`no callback about ${requestId} within ${PATIENCE_MS} ms`);
};

const paused = async ({ url, operatorKey }: Demo, asset: string) => {
  const response = await fetch(`${url}/operator/pauses/asset/${asset}`, {
    method: "PUT",
    headers: { "content-type": "application/json", "x-api-key": operatorKey },
    body: JSON.stringify({ reason: "its issuer asked for a review" }),
  });
  if (!response.ok) throw new Error(`${asset} was not paused: ${await response.text()}`);
};
