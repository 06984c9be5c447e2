import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type Relay,
  type Resource,
  SubmissionRefusedError,
} from "../../../src/ta/ledgers/relay.ts";
import { acceptRequest, type Circle, ended, startCircle } from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

beforeEach(() => circle.database.sql`truncate ta_reservation_uses`);

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

/** Coins by the order in which they paid, and the ledger refusing what one of them pays for. */
const watched = (locked: (resource: string) => boolean) => {
  const used: string[] = [];
  const payer = new Map<string, string>();
  const around = (relay: Relay): Relay => ({
    ...relay,
    prepare: async (order, resource, signal) => {
      used.push(resource);
      const unsigned = await relay.prepare(order, resource, signal);
      return {
        sign: async (signing) => {
          const made = await unsigned.sign(signing);
          payer.set(Buffer.from(made.signed).toString("hex"), resource);
          return made;
        },
      };
    },
    submit: async (signed, signal, again) => {
      if (locked(payer.get(Buffer.from(signed).toString("hex")) ?? "")) {
        throw new SubmissionRefusedError("an object is reserved for another transaction");
      }
      await relay.submit(signed, signal, again);
    },
  });
  return { used, around };
};

const whitelist = async (investorId: string) => {
  const { database } = circle;
  return await ended(database, await acceptRequest(database, { investorId }));
};

test("a coin locked by the network costs one request, and is named in the log; the others pay in turns", async () => {
  let bad = "";
  const { used, around } = watched((resource) => {
    bad ||= resource;
    return resource === bad;
  });
  await using processor = await startProcessor(circle, { around });
  const reasons: unknown[] = [];
  for (let n = 0; n < 9; n += 1) reasons.push((await whitelist(`p-${n}`)).reason);
  expect(reasons).toEqual(["BROADCAST_SUBMIT_ERROR", ...Array.from({ length: 8 }, () => null)]);
  // Seven others, one after the other, and then the first of them again.
  expect(new Set(used).size).toBe(8);
  expect(used.slice(8)).toEqual(used.slice(1, 2));
  expect(processor.logged.filter((line) => line.includes(bad))).toHaveLength(1);
});

test("a refused coin pays again with another version, or after half an hour", async () => {
  const { database } = circle;
  let resource: Resource = { name: "", version: "" };
  let refusing = true;
  const only = (relay: Relay): Relay => ({
    ...relay,
    resources: async (signal) => {
      const [first] = await relay.resources(signal);
      if (first !== undefined && resource.name === "") resource = first;
      return [resource];
    },
    submit: async (signed, signal, again) => {
      if (refusing) throw new SubmissionRefusedError("locked");
      await relay.submit(signed, signal, again);
    },
  });
  await using _processor = await startProcessor(circle, { around: only });
  expect(await whitelist("p-a")).toMatchObject({ reason: "BROADCAST_SUBMIT_ERROR" });
  resource = { ...resource, version: "another" };
  expect(await whitelist("p-b")).toMatchObject({ reason: "BROADCAST_SUBMIT_ERROR" });
  refusing = false;
  const id = await acceptRequest(database, { investorId: "p-c" });
  await expect(ended(database, id, 1_500)).rejects.toThrow("PENDING");
  await database.sql`update ta_reservation_uses set refused_at = refused_at - interval '30 minutes'`;
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS" });
});
