/** The demo's own receiver of callbacks: where it listens from one start to the next. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import pino from "pino";
import { expect, test } from "vitest";
import { changeEndpoints, registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { startDemoCallbacks } from "../../src/service/demo-callbacks.ts";
import { readConfig } from "../../src/settings/read-config.ts";
import { LOCAL } from "../callbacks/sender.ts";
import { freshDatabase } from "../postgres.ts";

test("the demo's receiver keeps its port; if that is in use it says so and takes another", async () => {
  await using database = await freshDatabase();
  const signingKeys = await openSigningKeys(database, randomBytes(32));
  const said: string[] = [];
  const settings = {
    config: readConfig({}),
    logger: pino({}, { write: (line: string) => void said.push(line) }),
    storage: { write: database },
    callbacks: { signingKeys },
  };
  /** Starts it, as `start` does, and returns where it listened. */
  const started = async () => {
    const receiver = await startDemoCallbacks(settings);
    if (receiver === undefined) throw new Error("the demo has no receiver");
    await using _ = receiver;
    expect((await fetch(receiver.url)).status).toBe(200);
    await changeEndpoints(database, async (tx) => {
      // A key's own address of the same asset is none of its.
      const own = { key: "ta:demo-a:key_1", url: "http://127.0.0.1:9/callbacks" };
      await registerEndpoint(tx, LOCAL, own);
      await registerEndpoint(tx, LOCAL, { key: "ta:demo-a", url: receiver.url });
    });
    return receiver.url;
  };
  const first = await started();
  expect([await started(), await started()]).toEqual([first, first]);
  expect(said).toEqual([]);

  const port = Number(new URL(first).port);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
  const second = await started();
  expect(second).not.toBe(first);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain(`port ${port}, where it listened before, is taken`);
  expect(said[0]).toContain(second);
  await new Promise((resolve) => other.close(resolve));
  // It stays where callbacks were sent last.
  expect(await started()).toBe(second);

  // The address of another program's receiver is not taken from it.
  await changeEndpoints(database, (tx) =>
    registerEndpoint(tx, LOCAL, { key: "ta:demo-a", url: `http://127.0.0.1:${port}/hook` }),
  );
  expect(new URL(await started()).port).not.toBe(String(port));
  expect(said).toHaveLength(1);
});
