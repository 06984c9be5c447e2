/** Databases at literal IPv6 addresses: a way from `::1` leads to the server. */
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { pipeline } from "node:stream";
import { expect, inject, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { createReaders, read } from "../../src/database/readers.ts";
import { hostOf } from "../../src/database/replicas/replica.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);

const wayFromIpv6 = async () => {
  const { hostname, port } = new URL(inject("postgresUrl"));
  const server = createServer((from) => {
    const to = createConnection({ host: hostname, port: Number(port) });
    const ended = () => undefined;
    pipeline(from, to, ended);
    pipeline(to, from, ended);
  }).listen(0, "::1");
  await once(server, "listening");
  const { port: own } = server.address() as AddressInfo;
  return { host: `[::1]:${own}`, [Symbol.dispose]: () => server.close() };
};

test.skipIf(!hasIpv6)(
  "a literal IPv6 address is connected to, alone and as one of several hosts",
  async () => {
    await using database = await freshDatabase();
    using way = await wayFromIpv6();
    const { host } = new URL(database.url);
    const alone = database.url.replace(host, way.host);
    expect(hostOf(alone)).toBe(way.host);
    for (const url of [alone, alone.replace(way.host, `[::1]:1,${way.host}`)]) {
      const settings = { url, max: 3, applicationName: "ipv6" };
      await using own = connect(settings);
      await using readers = createReaders({ ...settings, readOnly: true });
      const asked = "select current_database()::text as name";
      expect(await own.sql.unsafe(asked)).toEqual(await read(readers.for(undefined), asked, []));
      const done: bigint[] = [];
      await using queues = openQueues({ databaseUrl: url, onError: () => undefined });
      const worker = queues.worker("lanes", {
        concurrency: 1,
        run: async (lane) => void done.push(lane),
      });
      await worker.ready();
      await queues.queue("lanes").add([{ id: "lane-1", lane: 1n }]);
      await until(
        "a wake-up",
        () => done,
        ({ length }) => length === 1,
      );
    }
  },
);
