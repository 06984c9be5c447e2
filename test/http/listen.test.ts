/** Where a server listens, and how it stops. */
import { connect as connectSocket, isIP } from "node:net";
import pino from "pino";
import { expect, test } from "vitest";
import { addressesOf, openDoor } from "../../src/http/listen.ts";
import { atOther, held, holding, OTHER_ADDRESS, serve, slow } from "./service.ts";

test("closing lets running requests end and accepts no new ones", async () => {
  const service = await serve();
  const running = fetch(`${service.url}/held`);
  await holding.promise;
  const closed = service.server.close();
  await expect.poll(() => service.server.app.server.listening).toBe(false);
  await expect(fetch(`${service.url}/health`)).rejects.toThrow();
  held.resolve();
  expect(await (await running).json()).toEqual({ released: true });
  await closed;
});

test("closing drops requests that do not end in time", async () => {
  const service = await serve({ drainMs: 100 });
  const hung = fetch(`${service.url}/hung`).then(
    () => "answered",
    () => "dropped",
  );
  await fetch(`${service.url}/health`);
  await service.server.close();
  expect(await hung).toBe("dropped");
});

test("every address of its host answers alike, and closing waits for requests on each", async () => {
  const service = await serve();
  const other = atOther(service.url);
  expect(await (await fetch(`${other}/things/5`)).json()).toEqual({ thing: true });
  // It stays open, with nothing to wait for.
  const running = fetch(`${other}/slow`);
  await slow.arrived.promise;
  let closed = false;
  const closing = service.server.close().then(() => {
    closed = true;
  });
  await expect.poll(() => service.server.app.server.listening).toBe(false);
  await expect(fetch(`${other}/health`)).rejects.toThrow();
  expect(closed).toBe(false);
  slow.released.resolve();
  expect(await (await running).json()).toEqual({ released: true });
  await closing;
});

test("closing drops requests that do not end in time at another address, too", async () => {
  const service = await serve({ drainMs: 100 });
  const hung = fetch(`${atOther(service.url)}/hung`).then(
    () => "answered",
    () => "dropped",
  );
  await fetch(`${atOther(service.url)}/health`);
  await service.server.close();
  expect(await hung).toBe("dropped");
});

test("an address in use is logged, and the others are served", async () => {
  await using first = await serve();
  const port = Number(new URL(first.url).port);
  await using second = await serve({ resolve: async () => ["127.0.0.1"] });
  const log: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void log.push(line) });
  const place = { port, host: OTHER_ADDRESS };
  const door = await openDoor(second.server.app.server, place, logger);
  expect(door).toBe(undefined);
  expect(log.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 40, msg: `not listening on ${OTHER_ADDRESS}` }),
  );
  expect((await fetch(`${second.url}/things/5`)).status).toBe(200);
});

test("many connections arriving in one turn of the event loop need few turns", async () => {
  await using service = await serve();
  const { server } = service.server.app;
  let came = 0;
  server.on("connection", () => {
    came += 1;
  });
  const { hostname, port } = new URL(service.url);
  const callers = Array.from({ length: 200 }, () => connectSocket(Number(port), hostname));
  // They are there, and the service has not looked yet.
  const looked: number[] = [];
  for (let turns = 0; came < callers.length; turns += 1) {
    const before = came;
    await new Promise<void>((next) => setImmediate(next));
    if (came > before) looked.push(came - before);
    expect(turns, `came ${came} of ${callers.length}`).toBeLessThan(100_000);
  }
  for (const caller of callers) caller.destroy();
  if (process.platform === "linux") expect(Math.max(...looked)).toBeGreaterThan(4);
});

test("localhost means all of its addresses, and any other host only itself", async () => {
  const found = await addressesOf("localhost");
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((address) => isIP(address) === 0)).toEqual([]);
  expect(new Set(found).size).toBe(found.length);
  for (const host of ["0.0.0.0", "::", "hooks.acme.example"]) {
    expect(await addressesOf(host)).toEqual([host]);
  }
});
