// @module-tag thorough
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LaneLostError } from "../../../src/lanes/lanes.ts";
import {
  type Relay,
  RelayUnavailableError,
  SubmissionRefusedError,
} from "../../../src/ta/ledgers/relay.ts";
import { recordSigned, recordStep } from "../../../src/ta/processing/record.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { until } from "../../lanes/until.ts";
import {
  acceptRequest,
  type Circle,
  ended,
  GROUP,
  historyOf,
  newWallet,
  registerOf,
  startCircle,
} from "./circle.ts";
import { startProcessor } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

/** Counts how often transactions were made. */
const counting = (relay: Relay, seen: { prepared: number; submitted: number }): Relay => ({
  ...relay,
  prepare: (...args) => {
    seen.prepared += 1;
    return relay.prepare(...args);
  },
  submit: (...args) => {
    seen.submitted += 1;
    return relay.submit(...args);
  },
});

test("a submission whose answer is lost is looked up, not signed again", async () => {
  const { database } = circle;
  const seen = { prepared: 0, submitted: 0 };
  await using _processor = await startProcessor(circle, {
    around: (relay) => ({
      ...counting(relay, seen),
      submit: async (signed, signal, again) => {
        seen.submitted += 1;
        await relay.submit(signed, signal, again);
        throw new RelayUnavailableError("the connection broke");
      },
    }),
  });
  const done = await ended(database, await acceptRequest(database, { investorId: "r-1" }));
  expect(done.status).toBe("SUCCESS");
  expect(seen).toEqual({ prepared: 1, submitted: 1 });
  const digests = await circle.taken();
  expect(digests.filter((digest) => digest === done.tx_id)).toHaveLength(1);
});

test("a worker that ends between storing and submitting leaves a transaction for the next one to submit", async () => {
  const { database } = circle;
  const first = { prepared: 0, submitted: 0 };
  const before = await startProcessor(circle, {
    around: (relay) => ({
      ...counting(relay, first),
      submit: async (_signed, signal) => {
        first.submitted += 1;
        await delay(60_000, undefined, { signal });
      },
    }),
  });
  const id = await acceptRequest(database, { investorId: "r-2" });
  await until(
    "the submission that hangs",
    () => first.submitted,
    (count) => count > 0,
  );
  const [stored] = await database.sql<{ tx_id: string }[]>`
    select tx_id from ta_transactions where request_id = ${id}`;
  await before[Symbol.asyncDispose]();

  const next = { prepared: 0, submitted: 0 };
  await using _after = await startProcessor(circle, { around: (relay) => counting(relay, next) });
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", tx_id: stored?.tx_id });
  expect(first.prepared + next.prepared).toBe(1);
});

test("a transaction that the node forgot and refuses is a success when the register shows it", async () => {
  const { database } = circle;
  const before = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (signed, signal, again) => {
        await relay.submit(signed, signal, again);
        await delay(60_000, undefined, { signal });
      },
    }),
  });
  const wallet = newWallet();
  const id = await acceptRequest(database, { investorId: "r-9", wallet });
  const [joined] = await until(
    "the register to show it",
    async () => {
      const events = await registerOf(circle, wallet);
      return events.filter(({ eventType }) => eventType === "address_joined_group");
    },
    ({ length }) => length > 0,
  );
  const stored = await database.sql`select tx_id from ta_transactions where request_id = ${id}`;
  expect(stored).toEqual([{ tx_id: joined?.txDigest }]);
  await before[Symbol.asyncDispose]();

  await using _after = await startProcessor(circle, {
    // As a node answers that keeps a few epochs, when more than these have passed.
    around: (relay) => ({
      ...relay,
      lookUp: async () => null,
      submit: async () => {
        throw new SubmissionRefusedError("the coin has another version");
      },
    }),
  });
  expect(await ended(database, id)).toMatchObject({
    status: "SUCCESS",
    reason: null,
    tx_id: joined?.txDigest,
  });
});

test("while the ledger's node does not answer the request waits, and nothing else is lost", async () => {
  const { database } = circle;
  let down = true;
  let asked = 0;
  await using processor = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      tip: async (signal) => {
        asked += 1;
        if (down) throw new RelayUnavailableError("no route");
        return relay.tip(signal);
      },
    }),
  });
  const first = await acceptRequest(database, { investorId: "r-3" });
  const second = await acceptRequest(database, { investorId: "r-3", kind: "kyc" });
  await until(
    "the third try",
    () => asked,
    (count) => count > 2,
  );
  expect(processor.logged.filter((line) => line.includes("no route"))).not.toEqual([]);
  const [waiting] = await database.sql`select status from ta_requests where id = ${second}`;
  expect(waiting).toEqual({ status: "QUEUED" });
  down = false;
  expect((await ended(database, first)).status).toBe("SUCCESS");
  expect((await ended(database, second)).status).toBe("SUCCESS");
});

test("a worker's writes after its lane was taken over are refused", async () => {
  const { database } = circle;
  const { sql } = database;
  const id = await acceptRequest(database, { investorId: "r-4" });
  const [lane] = await sql<{ id: bigint }[]>`
    select lane_id as id from ta_requests where id = ${id}`;
  const claim = () => investorLanes.claim(sql, lane?.id ?? -1n, 1_000);
  const former = await claim();
  const present = await until("the lease to end", claim, (claimed) => claimed !== undefined);
  if (former === undefined || present === undefined) throw new Error("the lane was not claimed");
  await expect(recordStep({ database, claim: former }, { id }, "late")).rejects.toThrow(
    LaneLostError,
  );
  const order = { txId: "late", signed: new Uint8Array(1), groupId: 1, resource: "late" };
  await expect(recordSigned({ database, claim: former }, { id }, order)).rejects.toThrow(
    LaneLostError,
  );
  expect(await sql`select 1 from ta_transactions where request_id = ${id}`).toHaveLength(0);
  await recordStep({ database, claim: present }, { id }, "in time");
  // Left open it would be taken up during whichever test runs when the lease ends.
  await using _processor = await startProcessor(circle);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
});

test("a transaction in flight is followed to its end even if the investor's data are deleted meanwhile", async () => {
  const { database } = circle;
  const before = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: async (signed, signal, again) => {
        await relay.submit(signed, signal, again);
        await delay(60_000, undefined, { signal });
      },
    }),
  });
  const id = await acceptRequest(database, { investorId: "r-5" });
  const stored = () => database.sql<{ tx_id: string }[]>`
    select tx_id from ta_transactions where request_id = ${id}`;
  const [signed] = await until("the transaction", stored, (rows) => rows.length > 0);
  await until(
    "the ledger to have it",
    () => circle.taken(),
    (digests) => digests.includes(signed?.tx_id ?? ""),
  );
  await before[Symbol.asyncDispose]();
  await database.sql`delete from ta_pii_records where request_id = ${id}`;

  await using _after = await startProcessor(circle);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", tx_id: signed?.tx_id });
});

test("a request whose coin disappears before signing pays with another one", async () => {
  const { database } = circle;
  const id = await acceptRequest(database, { investorId: "r-6" });
  await database.sql`insert into ta_reservations (resource, payer, request_id) values ('sui:0xdead', 'sui:0x1', ${id})`;
  await using _processor = await startProcessor(circle);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  expect(await database.sql`select 1 from ta_reservations where request_id = ${id}`).toHaveLength(
    0,
  );
});

test("a transaction is checked against the group it was signed for, even if another is configured meanwhile", async () => {
  const { database } = circle;
  const before = await startProcessor(circle, {
    around: (relay) => ({
      ...relay,
      submit: (_signed, signal) => delay(60_000, undefined, { signal }),
    }),
  });
  const id = await acceptRequest(database, { investorId: "r-7" });
  const [signed] = await until(
    "the transaction",
    () => database.sql<{ tx_id: string }[]>`
      select tx_id from ta_transactions where request_id = ${id}`,
    (rows) => rows.length > 0,
  );
  await before[Symbol.asyncDispose]();

  await using _after = await startProcessor(circle, { group: GROUP + 1 });
  expect(await ended(database, id)).toMatchObject({
    status: "SUCCESS",
    message: `the wallet was put into group ${GROUP} by transaction ${signed?.tx_id}`,
  });
});

test("a request that waits for many turns has each step in its history once", async () => {
  const { database } = circle;
  let looks = 0;
  const hold = await startProcessor(circle, {
    turnMs: 50,
    around: (relay) => ({
      ...relay,
      // Executed, says the node, at a checkpoint that the register never comes to.
      lookUp: async () => {
        looks += 1;
        return { place: 10n ** 9n, error: null };
      },
    }),
  });
  const id = await acceptRequest(database, { investorId: "r-8" });
  await until(
    "the tenth turn",
    () => looks,
    (count) => count >= 10,
  );
  await hold[Symbol.asyncDispose]();
  const messages = (await historyOf(database, id)).map(({ message }) => message);
  expect(messages.filter((message) => message.startsWith("executed at 1000000000"))).toHaveLength(
    1,
  );
  expect(messages).toEqual([...new Set(messages)]);

  await using _processor = await startProcessor(circle);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
});

test("an executed transaction missing from the register is reported by its request's id, once in a while", async () => {
  const { database } = circle;
  const hold = await startProcessor(circle, {
    around: (relay) => ({ ...relay, lookUp: async () => ({ place: 10n ** 9n, error: null }) }),
  });
  const id = await acceptRequest(database, { investorId: "r-9" });
  await until(
    "the execution",
    () => historyOf(database, id),
    (rows) => rows.some(({ message }) => message.startsWith("executed at")),
  );
  const warnings = () =>
    hold.logged.filter((line) => line.includes("the register does not show it"));
  expect(warnings()).toEqual([]);
  const age = () => database.sql`
    update ta_transactions set created_at = created_at - interval '50 minutes',
      reminded_at = reminded_at - interval '50 minutes' where request_id = ${id}`;
  await age();
  const [line] = await until("the warning", warnings, ({ length }) => length === 1, 15_000);
  expect(line).toContain(id);
  await age();
  await until("the next one", warnings, ({ length }) => length === 2, 15_000);
  await hold[Symbol.asyncDispose]();
  await using _processor = await startProcessor(circle);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS" });
});
