/** Sending a callback again by the API: how often, and whose it is once a key was handed over. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { deliveryLanes } from "../../src/callbacks/lanes.ts";
import { findKey, listKeys, revokeKey } from "../../src/http/keys.ts";
import { moveArrivals, takeDue } from "../../src/lanes/due.ts";
import { handOver } from "../../src/ta/requests/caller-keys.ts";
import { restingMessage } from "../callbacks/resting-message.ts";
import { type Api, type KeyPair, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const KYC = "/api/v1/investor/kyc";

test("a message is resent once for the same request with a body-only signature", async () => {
  const key = await findKey(api.database, api.keys.publicKey);
  const message = await restingMessage(api.database, {
    endpoint: "ta:acme-sui",
    id: "again-1",
    keyId: key?.id ?? "",
  });
  const ON_ITS_WAY = /^it is still pending/;
  const SENT_AGAIN = /^it is sent again; .* a new bound signature sends it another time$/;
  /** Asks for it when it has this status, and returns whether it is to be sent then. */
  const asked = async (
    before: string,
    said: RegExp,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    await message.becomes(before);
    const reply = await api.post("/api/v1/callbacks/again-1/redeliver", {}, { headers });
    expect(reply.status).toBe(202);
    expect(reply.json).toEqual({ id: "again-1", message: expect.stringMatching(said) });
    return (await message.status()) === "pending";
  };
  const by = (idempotencyKey: string) => ({ "idempotency-key": idempotencyKey });

  const { sql } = api.database;
  // Its lane is due in an hour.
  expect(await moveArrivals(sql, deliveryLanes, 10, 3_600_000)).toMatchObject({ moved: 1 });
  // That it is on its way is true for now; under an Idempotency-Key the first answer stays.
  for (const headers of [{}, {}, by("early")]) await asked("pending", ON_ITS_WAY, headers);
  // A caller who has seen what was signed cannot use up its attempts.
  expect(await moveArrivals(sql, deliveryLanes, 10, 0)).toEqual({ moved: 0, fresh: [] });
  expect(await takeDue(sql, deliveryLanes, 10, 0)).toEqual([]);
  expect((await api.post("/api/v1/callbacks/again-1/redeliver", { a: 1 })).status).toBe(400);
  expect(await asked("delivered", ON_ITS_WAY, by("early"))).toBe(false);
  expect(await asked("delivered", SENT_AGAIN)).toBe(true);
  // However often the signed request is repeated.
  for (const before of ["delivered", "failed", "delivered"]) {
    expect(await asked(before, SENT_AGAIN)).toBe(false);
  }
  // Nothing signs an Idempotency-Key here: a new one asks for nothing new.
  expect(await asked("failed", SENT_AGAIN, by("one"))).toBe(false);

  const dayLater = () =>
    api.database.sql`update ta_answers set expires_at = expires_at - interval '1 day'`;
  await dayLater();
  expect(await asked("delivered", SENT_AGAIN, by("two"))).toBe(true);
  expect(await asked("failed", SENT_AGAIN, by("two"))).toBe(false);
  const other = { headers: by("two") };
  expect((await api.post("/api/v1/callbacks/again-1/redeliver", { a: 1 }, other)).status).toBe(422);
  await dayLater();
  expect(await asked("delivered", SENT_AGAIN, by("two"))).toBe(false);
  expect(await asked("delivered", SENT_AGAIN)).toBe(true);
  await dayLater();
  // What came with an Idempotency-Key that was lost on the way is known without it.
  expect(await asked("delivered", SENT_AGAIN, by("three"))).toBe(true);
  expect(await asked("delivered", SENT_AGAIN)).toBe(false);
});

test("messages of a revoked key belong to the key it was handed to, and to no other", async () => {
  const former = await api.newKeys("acme-sui");
  const { json } = await api.post(KYC, bodyOf({ id: "former" }), { keys: former });
  const request = `/api/v1/requests/${json.requestId}`;
  const { id: keyId } = (await findKey(api.database, former.publicKey)) ?? { id: "" };
  await restingMessage(api.database, {
    endpoint: "ta:acme-sui",
    id: "former-1",
    reference: String(json.requestId),
    keyId,
  });
  const seen = async (keys?: KeyPair) => {
    const { json: listed } = await api.get("/api/v1/callbacks?limit=1000", keys);
    return [
      (await api.get(request, keys)).status,
      JSON.stringify(listed).includes('"former-1"'),
      (await api.post("/api/v1/callbacks/former-1/redeliver", {}, keys && { keys })).status,
    ];
  };
  const strangers = await api.newKeys("acme-evm");
  const none = [404, false, 404];
  expect(await seen()).toEqual(none);
  await revokeKey(api.database, keyId);
  expect(await seen()).toEqual(none);
  const idOf = async ({ publicKey }: KeyPair) => (await findKey(api.database, publicKey))?.id ?? "";
  const [second, third] = [await api.newKeys("acme-sui"), await api.newKeys("acme-sui")];
  const handOverTo = (id: string, to: string) => handOver(api.database, { id, to });
  expect(await handOverTo(keyId, await idOf(strangers))).toBe(false);
  expect(await handOverTo(keyId, keyId)).toBe(false);
  expect(await handOverTo(keyId, "key_none")).toBe(false);
  const secondId = await idOf(second);
  expect(await handOverTo(keyId, secondId)).toBe(true);
  expect(await seen(second)).toEqual([200, true, 202]);
  for (const keys of [undefined, third, strangers]) expect(await seen(keys)).toEqual(none);
  // On to the next one, with what came from the first; nothing is handed to one that has ended.
  expect(await handOverTo(secondId, await idOf(third))).toBe(true);
  expect(await seen(third)).toEqual([200, true, 202]);
  expect(await handOverTo(await idOf(third), secondId)).toBe(false);
  expect(await seen()).toEqual(none);
  const listed = await listKeys(api.database);
  expect(listed.find(({ id }) => id === keyId)?.handedTo).toBe(secondId);
});
