import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startReceiver } from "../callbacks/receiver.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { ASSET, acceptMany, GROUP, startCircle } from "./circle.ts";
import { Workers } from "./workers.ts";

const redisPath = await redisServerPath();
for (const { backend, skip, investors, each, hits } of [
  { backend: "Postgres", skip: false, investors: 100, each: 20, hits: 5 },
  { backend: "Redis", skip: redisPath === undefined, investors: 40, each: 10, hits: 1 },
]) {
  test.skipIf(skip)(
    `workers killed again and again, woken by ${backend}: each request once and called back once, each investor in order`,
    { timeout: 1_000_000 },
    async () => {
      await using receiver = await startReceiver();
      await using circle = await startCircle({
        gasCoins: 24,
        checkpointsPerSecond: 10,
        callbackUrl: receiver.url,
      });
      await using redis =
        backend === "Redis" && redisPath !== undefined ? await startRedis(redisPath) : null;
      const { database, coinType, node, source, registrar } = circle;
      await using workers = new Workers({
        databaseUrl: database.url,
        redisUrl: redis?.url,
        asset: ASSET,
        group: GROUP,
        ledger: {
          kind: "sui",
          nodeHost: node.host,
          secretKey: Buffer.from(source.secretKey(registrar)).toString("base64"),
          coinType,
          packages: source.packages,
        },
      });
      // 2 processes of 4 workers; every second request is a whitelisting, the others store data.
      await Promise.all([workers.start(), workers.start()]);
      const accepted = await acceptMany(database, investors, each, (n) =>
        n % 2 === 0 ? "whitelist" : "kyc",
      );
      const open = async () => {
        const [row] = await database.sql<{ count: number }[]>`
          select count(*)::int4 as count from ta_requests where status in ('QUEUED', 'PENDING')`;
        return row?.count ?? 0;
      };
      const leased = () => database.sql`select 1 from ta_lanes where leased_until > now()`;
      let hit = 0;
      for (let kills = 0; (await open()) > 0 && hit < hits; kills += 1) {
        await delay(300 + Math.random() * 700);
        // One, so that the other goes on; then both: whatever is leased now was cut off in its work.
        await workers.killOne();
        if (kills % 2 === 0) {
          await workers.killOne();
          if ((await leased()).length > 0) hit += 1;
          await workers.start();
        }
        await workers.start();
      }
      expect(hit).toBe(hits);
      await until("no open request", open, (count) => count === 0, 800_000);

      const undelivered = () => database.sql<{ id: string }[]>`
        select id from callback_messages where status = 'pending'`;
      await until("no callback to deliver", undelivered, ({ length }) => length === 0, 60_000);

      const requests = await database.sql<
        {
          id: string;
          kind: string;
          status: string;
          message: string;
          tx_id: string | null;
          wallet: string;
        }[]
      >`select id, kind, status, message, tx_id, wallet from ta_requests`;
      expect(requests).toHaveLength(accepted);
      expect(requests.filter(({ status }) => status !== "SUCCESS")).toEqual([]);
      // Each ended once, and in the order of its lane.
      const endings = await database.sql<{ count: number }[]>`
        select count(*)::int4 as count from ta_request_history where status in ('SUCCESS', 'FAILED')`;
      expect(endings[0]?.count).toBe(accepted);
      const disorder = await database.sql`
        select 1 from (
          select r.lane_id, h.at, lag(h.at) over (partition by r.lane_id order by r.sequence) as before
          from ta_requests r join ta_request_history h on h.request_id = r.id and h.status = 'SUCCESS'
        ) as ordered where at < before`;
      expect(disorder).toHaveLength(0);
      const early = await database.sql`
        select 1 from (
          select h.at, lag(f.at) over (partition by r.lane_id order by r.sequence) as before
          from ta_requests r
          join ta_request_history h on h.request_id = r.id and h.message = 'taken up'
          join ta_request_history f on f.request_id = r.id and f.status = 'SUCCESS'
        ) as begun where at < before`;
      expect(early).toHaveLength(0);
      // One message per request, and of an investor's in the order of his requests: a receiver that acts
      // once per webhook-id, as it is told to, sees no other. One that was cut off may come twice.
      const inOrder = await database.sql<{ lane: string; id: string }[]>`
        select lane_id::text as lane, 'ta-' || id as id from ta_requests order by sequence`;
      const arrived = [...new Set(receiver.accepted())];
      expect(arrived).toHaveLength(accepted);
      const place = new Map(arrived.map((id, index) => [id, index]));
      for (const lane of Map.groupBy(inOrder, ({ lane }) => lane).values()) {
        const places = lane.map(({ id }) => place.get(id) ?? -1);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        expect(places).not.toContain(-1);
      }
      const messages = await database.sql<{ status: string; count: number }[]>`
        select status, count(*)::int4 as count from callback_messages group by status`;
      expect(messages).toEqual([{ status: "delivered", count: accepted }]);
      // One transaction per whitelisting, none beside them: what the ledger itself says.
      const whitelisted = requests.filter(({ kind }) => kind === "whitelist");
      const digests = whitelisted.map(({ tx_id }) => tx_id);
      expect((await circle.taken()).toSorted()).toEqual(digests.toSorted());
      const added = await database.sql<{ address: string; tx_digest: string }[]>`
        select address, tx_digest from holder_events
        where coin_type = ${coinType} and event_type = 'holder_address_added'`;
      const addedBy = new Map(added.map(({ address, tx_digest }) => [address, tx_digest]));
      for (const { wallet, tx_id } of whitelisted) expect(addedBy.get(wallet)).toBe(tx_id);
      expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
      expect(await database.sql`select 1 from ta_wallet_claims`).toHaveLength(0);
    },
  );
}
