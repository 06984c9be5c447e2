import { expect, test } from "vitest";
import { generateKeyPair, secretKeyOf } from "../../client/ed25519.ts";
import { startDemoReceiver } from "../../demo/receiver.ts";
import { signatureHeaders } from "../../src/callbacks/deliver.ts";

test("a request to the demo's receiver waits until its callback has arrived", async () => {
  const { publicKey, secretKey } = generateKeyPair();
  const received: unknown[] = [];
  await using receiver = await startDemoReceiver({
    publicKeys: async () => [publicKey],
    onReceived: ({ body }) => received.push(body),
  });
  const post = (requestId: string, key = secretKey) => {
    const message = { id: `ta-${requestId}`, body: JSON.stringify({ requestId }) };
    const headers = signatureHeaders([secretKeyOf(key)], message, new Date());
    return fetch(receiver.url, { method: "POST", headers, body: message.body });
  };
  const asked = fetch(`${receiver.url}/two`);
  expect((await post("two", generateKeyPair().secretKey)).status).toBe(400);
  expect((await post("one")).status).toBe(204);
  expect((await post("two")).status).toBe(204);
  expect((await post("two")).status).toBe(204);
  expect(await (await asked).json()).toMatchObject({ id: "ta-two", body: { requestId: "two" } });
  expect(await (await fetch(receiver.url)).json()).toMatchObject([
    { id: "ta-two" },
    { id: "ta-one" },
  ]);
  expect(received).toEqual([{ requestId: "one" }, { requestId: "two" }]);
});
