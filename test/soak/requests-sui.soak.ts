/** Processes that process requests on the demo ledger, killed again and again. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { holderEvents } from "../../src/projections/holder-events.ts";
import { taEndpoint } from "../../src/ta/requests/asset.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { randomFor, rounds, tally } from "../random.ts";
import { allEndedOnce, openRequests } from "../ta/processing/all-ended.ts";
import { ASSET, acceptMany, GROUP, startCircle } from "../ta/processing/circle.ts";
import type { WorkerProcessSettings } from "../ta/processing/worker-process.ts";
import { WorkerProcesses } from "../worker-processes.ts";

const PROGRAM = new URL("../ta/processing/worker-process.ts", import.meta.url);
const INVESTORS = 20;
/** More are accepted when fewer than this are open. */
const ENOUGH = 40;

const redisPath = await redisServerPath();
test.for(redisPath === undefined ? ["Postgres"] : ["Postgres", "Redis"])(
  "processes killed repeatedly, woken by %s: each request done and called back once, each investor in order",
  async (backend) => {
    const random = randomFor(backend);
    await using receiver = await startReceiver();
    await using circle = await startCircle({
      gasCoins: 24,
      checkpointsPerSecond: 10,
      callbackUrl: receiver.url,
    });
    await using redis =
      backend === "Redis" && redisPath !== undefined ? await startRedis(redisPath) : null;
    const { database, coinType, node, source, registrar } = circle;
    await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
      databaseUrl: database.url,
      redisUrl: redis?.url,
      masterKey: randomBytes(32).toString("base64"),
      group: GROUP,
      leaseMs: 2_000,
      ledger: {
        kind: "sui",
        asset: ASSET,
        nodeHost: node.host,
        secretKey: Buffer.from(source.secretKey(registrar)).toString("base64"),
        coinType,
        packages: source.packages,
      },
    });
    await Promise.all([workers.start(), workers.start()]);
    let [accepted, killed, cutOff] = [0, 0, 0];
    for (const round of rounds(3, 3)) {
      if ((await openRequests(database)).open < ENOUGH) {
        // Every second one is a whitelisting, the others store data.
        const kindOf = (turn: number) => (turn % 2 === 0 ? "whitelist" : "kyc");
        accepted += await acceptMany(database, INVESTORS, 2, kindOf);
      }
      await delay(300 + random(700));
      // One, so that the other goes on; then both, which cuts off all that is worked on.
      await workers.killOne();
      killed += 1;
      if (round % 2 === 0) {
        await workers.killOne();
        killed += 1;
        cutOff += (await openRequests(database)).taken;
        await workers.start();
      }
      await workers.start();
    }
    const requests = await allEndedOnce(database, accepted);

    // One message per request, and those of an investor in the order of the requests: a receiver acts once
    // per webhook-id, at the first time.
    await until(
      "no callback to deliver",
      () =>
        listDeliveries(database, { endpoints: [taEndpoint(ASSET)], limit: 1, status: "pending" }),
      ({ length }) => length === 0,
      60_000,
    );
    const arrived = [...new Set(receiver.accepted())];
    expect(arrived).toHaveLength(accepted);
    const place = new Map(arrived.map((id, index) => [id, index]));
    for (const lane of Map.groupBy(requests, ({ lane: of }) => of).values()) {
      const places = lane.map(({ id }) => place.get(`ta-${id}`) ?? -1);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places).not.toContain(-1);
    }

    // One transaction per whitelisting, none beside them: what the ledger itself says.
    const whitelisted = requests.filter(({ kind }) => kind === "whitelist");
    const digests = whitelisted.map(({ txId }) => txId);
    expect((await circle.taken()).toSorted()).toEqual(digests.toSorted());
    const register = await holderEvents(database.db, { coinType, limit: 1_000_000 });
    const addedBy = new Map(
      register
        .filter(({ eventType }) => eventType === "holder_address_added")
        .map(({ address, txDigest }) => [address, txDigest]),
    );
    for (const { wallet, txId } of whitelisted) expect(addedBy.get(wallet)).toBe(txId);
    tally({ "processes killed": killed, "requests cut off": cutOff, "requests done": accepted });
  },
);
