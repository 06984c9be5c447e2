import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { httpSuiSigner } from "../../../src/ta/ledgers/http-signer.ts";
import { RelayUnavailableError } from "../../../src/ta/ledgers/relay.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, type Circle, ended, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

const triesOf = async (id: string): Promise<number | undefined> => {
  const [row] = await circle.database.sql<{ signing_tries: number }[]>`
    select signing_tries from ta_requests where id = ${id}`;
  return row?.signing_tries;
};

/** A remote signing service that takes every call and never answers, and its client. */
const startHangingSigner = async (timeoutMs: number) => {
  let asked = 0;
  const server = createServer(() => {
    asked += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  return {
    signer: httpSuiSigner({ url, address: circle.registrar, timeoutMs }),
    asked: () => asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

test("a remote signer that hangs longer than a turn ends the request after four attempts", async () => {
  const { database } = circle;
  await using hanging = await startHangingSigner(600);
  await using _processor = await startProcessor(circle, { signer: hanging.signer, turnMs: 400 });
  const id = await acceptRequest(database, { investorId: "s-1" });
  expect(await ended(database, id, 30_000)).toMatchObject({
    status: "FAILED",
    reason: "SIGNING_ERROR",
    tx_id: null,
  });
  expect(hanging.asked()).toBe(4);
});

test("attempts during which processes died count, and the last one ends the request", async () => {
  const { database } = circle;
  await using hanging = await startHangingSigner(200);
  const ids = await Promise.all(
    ["s-2-three", "s-2-four"].map((investorId) => acceptRequest(database, { investorId })),
  );
  const [three = "", four = ""] = ids;
  // As it is written before a try that a killed process does not come back from.
  await database.sql`update ta_requests set signing_tries = 3 where id = ${three}`;
  await database.sql`update ta_requests set signing_tries = 4 where id = ${four}`;
  await using _processor = await startProcessor(circle, { signer: hanging.signer });
  for (const id of ids) {
    expect(await ended(database, id)).toMatchObject({ reason: "SIGNING_ERROR", tx_id: null });
  }
  expect(hanging.asked()).toBe(1);
});

test("attempts interrupted by our own shutdown never count", async () => {
  const { database } = circle;
  await using hanging = await startHangingSigner(60_000);
  const id = await acceptRequest(database, { investorId: "s-3" });
  for (let stops = 1; stops <= 5; stops += 1) {
    await using _processor = await startProcessor(circle, { signer: hanging.signer });
    await until("the signer to be asked", hanging.asked, (asked) => asked === stops);
    expect(await triesOf(id)).toBe(1);
  }
  expect(await triesOf(id)).toBe(0);
  await using _processor = await startProcessor(circle);
  expect((await ended(database, id)).status).toBe("SUCCESS");
});

test("a node that is away while transactions are built costs the signer's request no attempt", async () => {
  const { database } = circle;
  let away = 6;
  await using _processor = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      prepare: async (...order) => {
        away -= 1;
        if (away >= 0) throw new RelayUnavailableError("no route");
        return relay.prepare(...order);
      },
    }),
    troubleMs: 50,
  });
  const id = await acceptRequest(database, { investorId: "s-4" });
  expect((await ended(database, id)).status).toBe("SUCCESS");
  expect(await triesOf(id)).toBe(1);
});
