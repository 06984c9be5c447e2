/** Results go to the address of the key that signed, whatever other keys and the asset have. */
import { expect, test } from "vitest";
import { listDeliveries, redeliver } from "../../src/callbacks/deliveries.ts";
import { endpointsUnder } from "../../src/callbacks/endpoints.ts";
import { enqueueCallback } from "../../src/callbacks/enqueue.ts";
import { revokeKey } from "../../src/http/keys.ts";
import { failUndelivered } from "../../src/ta/processing/record.ts";
import { resultAddress, resultEndpoint } from "../../src/ta/requests/callback-address.ts";
import { changeCallbackUrl, handOver } from "../../src/ta/requests/caller-keys.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { startSender } from "../callbacks/sender.ts";
import { until } from "../lanes/until.ts";
import { ASSET, apply, idsOf, office } from "./office.ts";

test("a result goes to the address of the signing key, or else to the asset's", async () => {
  await using assets = await startReceiver();
  await using own = await startReceiver();
  await using sender = await startSender(assets.url);
  const { database } = sender;
  const { newKey, result } = office(database);
  // The key comes first, before any process has registered the asset's address.
  const withAddress = await newKey(own.url);
  await apply(database, assets.url);
  const without = await newKey();
  const requests = [await result(withAddress), await result(without), await result(withAddress)];
  const ids = idsOf(requests);
  await until(
    "three deliveries",
    () => [...own.accepted(), ...assets.accepted()],
    ({ length }) => length === 3,
  );
  expect(own.accepted()).toEqual([ids[0], ids[2]]);
  expect(assets.accepted()).toEqual([ids[1]]);
  const listed = async (keyId: string) =>
    (await listDeliveries(database, { keyIds: [keyId], limit: 10 })).map(({ id, url }) => ({
      id,
      url,
    }));
  expect(await listed(withAddress)).toEqual([ids[0], ids[2]].map((id) => ({ id, url: own.url })));
  expect(await listed(without)).toEqual([{ id: ids[1], url: assets.url }]);
});

test("results of one investor reach an address in order, across keys and assets", async () => {
  let up = false;
  await using shared = await startReceiver(() => (up ? 204 : 500));
  await using other = await startReceiver(() => (up ? 204 : 500));
  await using sender = await startSender(shared.url, { retrySeconds: [0.05, 0.05, 3_600] });
  await sender.start();
  const { database } = sender;
  const { newKey, result } = office(database);
  await apply(database, shared.url);
  // Written in another way, the same address.
  const upper = shared.url.replace("http://", "HTTP://");
  const keys = [
    await newKey(),
    await newKey(new URL(upper).href),
    await newKey(other.url),
    await newKey(other.url),
  ];
  const toShared: string[] = [];
  const toOther: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const id = await result(keys[n % 4] ?? "");
    (n % 4 < 2 ? toShared : toOther).push(id);
  }
  await until(
    "failures at both",
    () => [shared.received.length, other.received.length],
    (counts) => counts.every((count) => count > 2),
  );
  up = true;
  // The asset takes over the other address, and what its keys share stays in order there, too.
  await apply(database, other.url);
  await sender.settled();
  await until(
    "everything",
    () => [...shared.accepted(), ...other.accepted()],
    ({ length }) => length === 12,
  );
  // The second key has an address of its own: its results stay; the first one's follow the asset.
  const ofFirst = toShared.filter((_, index) => index % 2 === 0);
  const ofSecond = toShared.filter((_, index) => index % 2 === 1);
  expect(shared.accepted()).toEqual(idsOf(ofSecond));
  const all = await listDeliveries(database, {
    endpoints: (await endpointsUnder(database, `ta:${ASSET}`)).map(({ key }) => key),
    limit: 100,
  });
  const asked = all.flatMap(({ reference }) => reference ?? []);
  const expected = asked.filter((id) => ofFirst.includes(id) || toOther.includes(id));
  expect(other.accepted()).toEqual(idsOf(expected));
});

test("a key's new address takes over pending results; without one they go to the asset's", async () => {
  await using assets = await startReceiver();
  const answer = Promise.withResolvers<number>();
  await using slow = await startReceiver(() => answer.promise);
  await using next = await startReceiver();
  await using sender = await startSender(assets.url, { retrySeconds: [3_600] });
  const { database } = sender;
  await apply(database, assets.url);
  const { newKey, result } = office(database);
  const key = await newKey(slow.url);
  const another = await newKey(slow.url);
  const requests = [await result(key), await result(key)];
  await until(
    "an attempt",
    () => slow.received.length,
    (count) => count === 1,
  );
  await changeCallbackUrl(database, key, next.url);
  answer.resolve(204);
  await until(
    "both at the next address",
    () => next.accepted(),
    ({ length }) => length === 2,
  );
  expect(next.accepted()).toEqual(idsOf(requests));
  const former = async () =>
    (await endpointsUnder(database, `ta:${ASSET}`)).find(({ url }) => url === slow.url);
  expect(await former()).toMatchObject({ withdrawnAt: null });
  await changeCallbackUrl(database, another, null);
  expect(await former()).toMatchObject({ withdrawnReason: "no key has this address any more" });

  await changeCallbackUrl(database, key, null);
  requests.push(await result(key));
  // What was delivered elsewhere before is sent again to where results go now.
  const id = `ta-${requests[0]}`;
  expect(await redeliver(database, { keyIds: [key], id, to: resultEndpoint })).toBe("accepted");
  await until(
    "the third and the first at the asset's",
    () => assets.accepted(),
    ({ length }) => length === 2,
  );
  expect(assets.accepted().toSorted()).toEqual([id, `ta-${requests[2]}`].toSorted());
  expect(next.accepted()).toHaveLength(2);
  expect(slow.received).toHaveLength(1);
});

test("a handed-over key leaves no result behind: pending, later or redelivered", async () => {
  await using assets = await startReceiver();
  let up = true;
  await using lost = await startReceiver(() => (up ? 204 : 500));
  await using next = await startReceiver();
  await using sender = await startSender(assets.url, { retrySeconds: [3_600] });
  const { database } = sender;
  await apply(database, assets.url);
  const { newKey, result } = office(database);
  const former = await newKey(lost.url);
  const between = await newKey(lost.url);
  const delivered = await result(former);
  await until(
    "a delivery",
    () => lost.accepted(),
    ({ length }) => length === 1,
  );
  up = false;
  const waits = await result(former);
  await until(
    "an attempt",
    () => lost.received.length,
    (count) => count === 2,
  );
  const present = await newKey(next.url);
  expect(await handOver(database, { id: former, to: between })).toBe(true);
  expect(await handOver(database, { id: between, to: present })).toBe(true);
  // Asked for before it was handed over, and ended since.
  const later = await result(former);
  await until(
    "what waited and what ended later",
    () => next.accepted(),
    ({ length }) => length === 2,
  );
  expect(next.accepted()).toEqual(idsOf([waits, later]));
  // Another start of a process changes nothing about it.
  expect(await apply(database, assets.url)).toEqual([]);
  const id = `ta-${delivered}`;
  const own = { keyIds: [former, between, present], id, to: resultEndpoint };
  expect(await redeliver(database, own)).toBe("accepted");
  await until(
    "what was delivered before",
    () => next.accepted(),
    ({ length }) => length === 3,
  );
  expect([lost.received.length, assets.received.length]).toEqual([2, 0]);
  const formerAddress = (await endpointsUnder(database, `ta:${ASSET}`)).find(
    ({ url }) => url === lost.url,
  );
  expect(formerAddress).toMatchObject({ withdrawnReason: "no key has this address any more" });
});

test("a change of address waits for a result being recorded, and takes it along", async () => {
  await using assets = await startReceiver();
  await using sender = await startSender(assets.url);
  const { database } = sender;
  await apply(database, assets.url);
  const { newKey, result } = office(database);
  const key = await newKey("http://127.0.0.1:9/");
  const requestId = await result(key);
  let changed = false;
  const change = { ended: Promise.resolve() };
  await database.transaction(async (tx) => {
    const address = await resultAddress(tx, requestId);
    if (address === undefined) throw new Error("no address");
    change.ended = changeCallbackUrl(database, key, null).then(() => {
      changed = true;
    });
    await until(
      "the change to wait",
      () => database.sql`
        select 1 from pg_locks join pg_database d on d.oid = database
        where d.datname = current_database() and locktype = 'advisory' and not granted`,
      ({ length }) => length === 1 || changed,
    );
    await enqueueCallback(tx, { ...address, lane: "l", id: "late", type: "kyc", body: {} });
  });
  await change.ended;
  await until(
    "both at the asset's",
    () => assets.accepted(),
    ({ length }) => length === 2,
  );
});

test("an address changed while results are recorded leaves none behind and keeps an investor's order", async () => {
  await using one = await startReceiver();
  await using two = await startReceiver();
  await using sender = await startSender(one.url);
  await sender.start();
  const { database } = sender;
  await apply(database, one.url);
  const { newKey, result } = office(database);
  const key = await newKey(two.url);
  let changing = true;
  const changes = (async () => {
    for (const url of Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? null : two.url))) {
      await changeCallbackUrl(database, key, url);
    }
    changing = false;
  })();
  const investors = ["inv-a", "inv-b", "inv-c"];
  const asked = await Promise.all(
    investors.map(async (investor) => {
      const ids: string[] = [];
      while (changing || ids.length < 10) ids.push(await result(key, investor));
      return ids;
    }),
  );
  await changes;
  const results = asked.flat().length;
  const deliveries = () => listDeliveries(database, { keyIds: [key], limit: results });
  await until(
    "every result delivered",
    deliveries,
    (all) => all.length === results && all.every(({ status }) => status === "delivered"),
  );
  for (const requests of asked) {
    const ids = idsOf(requests);
    for (const receiver of [one, two]) {
      const seen = receiver.accepted().filter((id) => ids.includes(id));
      expect(seen).toEqual(seen.toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b)));
    }
    const either = new Set([...one.accepted(), ...two.accepted()]);
    expect(ids.filter((id) => !either.has(id))).toEqual([]);
  }
});

test("an asset removed from the file takes its keys' addresses with it, and a success stays one", async () => {
  await using assets = await startReceiver();
  await using own = await startReceiver(() => 500);
  await using sender = await startSender(assets.url, {
    retrySeconds: [0.3, 3_600],
    onGivenUp: failUndelivered,
  });
  const { database } = sender;
  await apply(database, assets.url);
  const { newKey, result } = office(database);
  const key = await newKey(own.url);
  const requestId = await result(key);
  await until(
    "an attempt",
    () => own.received.length,
    (count) => count > 0,
  );
  expect(await apply(database, undefined)).toHaveLength(2);
  const state = async () => {
    const [delivery] = await listDeliveries(database, { keyIds: [key], limit: 10 });
    const [request] = await database.sql<{ status: string }[]>`
      select status from ta_requests where id = ${requestId}`;
    return [delivery?.status, request?.status];
  };
  expect(await state()).toEqual(["withdrawn", "SUCCESS"]);
  // Who revoked the key did not want its results lost.
  await revokeKey(database, key);
  const sent = own.received.length;
  await apply(database, assets.url);
  await until(
    "another attempt",
    () => own.received.length,
    (count) => count > sent,
  );
  expect(assets.received).toEqual([]);
});
