import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Relay,
  RelayUnavailableError,
  SubmissionRefusedError,
} from "../../../src/ta/ledgers/relay.ts";
import { heldIn } from "../../../src/ta/pii/vault.ts";
import { processRequest } from "../../../src/ta/processing/process-request.ts";
import { LATER, readOpen } from "../../../src/ta/processing/request.ts";
import { releaseIdleReservations } from "../../../src/ta/processing/reservations.ts";
import { CHECK_ONCE, registerLag } from "../../../src/ta/processing/waiting.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { NO_TRACING } from "../../../src/telemetry/tracing.ts";
import { acceptRequest, type Circle, startCircle } from "./circle.ts";
import { openAsset } from "./processor.ts";

let circle: Circle;

beforeAll(async () => {
  circle = await startCircle();
});

afterAll(async () => {
  await circle[Symbol.asyncDispose]();
});

/** What a process finds when it looks at a request. */
type Seen = {
  /** Where the register stands; what lies beyond it, it does not show. */
  readonly register: bigint;
  /** The newest checkpoint that the node names. */
  readonly tip: bigint;
  readonly relay?: (relay: Relay) => Partial<Relay>;
};

/** Looks at an investor's first request once, in a process that has just started and ends after it. */
const look = async (investorId: string, { register, tip, relay }: Seen) => {
  const { database } = circle;
  const [lane] = await database.sql<{ id: bigint }[]>`
    select id from ta_lanes where investor_id = ${investorId}`;
  const claim = await investorLanes.claim(database.sql, lane?.id ?? -1n, 60_000);
  if (claim === undefined) throw new Error("the lane is another worker's");
  const { request } = await readOpen(database.sql, claim);
  if (request === undefined) throw new Error("nothing is open");
  const logger = pino({ level: "silent" });
  using opened = await openAsset(circle, {
    around: (real) => ({ ...real, tip: async () => tip, ...relay?.(real) }),
  });
  const { asset } = opened;
  const { signal } = new AbortController();
  try {
    return await processRequest(
      {
        database,
        claim,
        asset: {
          ...asset,
          register: {
            ...asset.register,
            hasReached: async (place) => place <= register,
            confirmed: async (...about) =>
              (about[2].place ?? tip) <= register ? await asset.register.confirmed(...about) : null,
          },
        },
        vault: heldIn(database),
        tracing: NO_TRACING,
        logger,
        registerLag: registerLag({ logger, overdueMs: 600_000 }),
        polling: CHECK_ONCE,
        poke: () => undefined,
        signal,
        turnOver: signal,
      },
      request,
    );
  } finally {
    await investorLanes.leave(database.sql, claim, 0);
  }
};

const dies = async (): Promise<never> => {
  throw new RelayUnavailableError("the process ends here");
};

/** A node that has forgotten the transaction, or does not know it yet, and refuses it. */
const refusing = () => ({
  lookUp: async () => null,
  submit: async () => {
    throw new SubmissionRefusedError("the coin has another version");
  },
});

const whitelist = async (investorId: string) => {
  await acceptRequest(circle.database, { investorId });
  return investorId;
};

test("the checkpoint that a request waits for is the same in every process, and a new one for its next step", async () => {
  const lane = await whitelist("w-1");
  expect(await look(lane, { register: 90n, tip: 100n })).toBe(LATER);
  // The ledger has gone on, in a process that has not seen the request: it does not begin anew.
  const signing = look(lane, { register: 100n, tip: 200n, relay: () => ({ submit: dies }) });
  await expect(signing).rejects.toThrow("the process ends here");
  // Signed by what was known at 100: what became of that is not to be read there.
  const unknown = { register: 100n, tip: 210n, relay: refusing };
  expect(await look(lane, unknown)).toBe(LATER);
  expect(await look(lane, { ...unknown, register: 209n, tip: 300n })).toBe(LATER);
  expect(await look(lane, { ...unknown, register: 210n, tip: 400n })).toMatchObject({
    reason: "BROADCAST_SUBMIT_ERROR",
  });
});

test("a request fails as refused only if the ledger has not executed its transaction, whichever processes looked", async () => {
  const lane = await whitelist("w-2");
  const signing = look(lane, { register: 90n, tip: 90n, relay: () => ({ submit: dies }) });
  await expect(signing).rejects.toThrow("the process ends here");
  const unknown = { register: 90n, tip: 100n, relay: refusing };
  expect(await look(lane, unknown)).toBe(LATER);
  // Another node of the ledger would take it. The process that submits to it does not live to see that.
  let submitted = 0;
  const accepting = (relay: Relay) => ({
    lookUp: async () => null,
    submit: async (...about: Parameters<Relay["submit"]>) => {
      submitted += 1;
      await relay.submit(...about);
      return await dies();
    },
  });
  const other = look(lane, { register: 90n, tip: 204n, relay: accepting });
  await other.catch(() => undefined);
  // Nor does the request that waits for its coin submit it.
  await circle.database
    .sql`update ta_reservations set claimed_at = claimed_at - interval '2 minutes'`;
  {
    using opened = await openAsset(circle);
    const held = await circle.database.sql<{ name: string }[]>`
      select p.resource as name from ta_reservations p join ta_requests r on r.id = p.request_id
      where r.investor_id = ${lane}`;
    const resources = held.map(({ name }) => ({ name, version: "1" }));
    const { signal } = new AbortController();
    const relay = accepting(opened.asset.relay);
    await releaseIdleReservations(circle.database, relay, resources, signal);
    expect(held).toHaveLength(1);
  }
  // What was executed at 205 is not in the register yet, which is where the first one waited for it.
  const ending = await look(lane, { ...unknown, register: 200n, tip: 210n });
  expect(ending).toMatchObject({ reason: "BROADCAST_SUBMIT_ERROR" });
  const [stored] = await circle.database.sql<{ tx_id: string }[]>`
    select t.tx_id from ta_transactions t join ta_requests r on r.id = t.request_id
    where r.investor_id = ${lane}`;
  expect(submitted).toBe(0);
  using opened = await openAsset(circle);
  const { signal } = new AbortController();
  expect(await opened.asset.relay.lookUp(stored?.tx_id ?? "none", signal)).toBeNull();
});
