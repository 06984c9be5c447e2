/** Faults, one after the other, in a deployment under load; then everything that it did is looked at. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { taEndpoint } from "../../src/ta/requests/asset.ts";
import { until } from "../lanes/until.ts";
import { tally } from "../random.ts";
import { allEndedOnce, type EndedRequest } from "../ta/processing/all-ended.ts";
import { drawFaults, type Fault } from "./fault.ts";
import { KINDS } from "./kinds.ts";
import { recovery } from "./recovery.ts";
import { bothLists } from "./transfer-lists.ts";
import { bothReadings } from "./undisturbed.ts";
import { ASSET, startWorld, type World } from "./world.ts";

const { seed, faults: count, only } = inject("chaos");
const kinds = KINDS.filter(({ name }) => only === null || name === only);
const DRAIN_MS = 180_000;

let world: World;
beforeAll(async () => {
  world = await startWorld(seed);
}, 300_000);
afterAll(() => world?.[Symbol.asyncDispose](), 120_000);

/** @throws what must never happen, if it has */
const expectNothingWrong = () => {
  const { marks, health, answers, load } = world;
  const untrue = [health.start.untrue, health.serve.untrue];
  const wrong = [marks.stepsBack, ...untrue, answers.wrong, load.wrong].flat();
  if (wrong.length > 0) throw new Error(`${wrong.length} times wrong, first ${wrong[0]}`);
};

/** Strikes, waits for recovery, and looks at what must never happen; returns how long recovery took, in ms. */
const perform = async ({ number, kind, random }: Fault): Promise<number> => {
  let drawn = "";
  try {
    const struck = await kind.strike(world, random);
    drawn = ` (${struck.what})`;
    await struck.end();
    const tookMs = await recovery(world, `probe-${number}`, kind.withinMs);
    expectNothingWrong();
    return tookMs;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    throw new Error(
      `seed ${seed}, fault ${number}, ${kind.name}${drawn}: ${what}\n${world.logged()}`,
    );
  }
};

test.for(
  drawFaults(kinds, { seed, count }).map(
    (fault) => [fault.number, fault.kind.name, fault] as const,
  ),
)("fault %d: %s", async ([, , fault], { task, skip }) => {
  const { kind, number } = fault;
  const lacks = kind.lacks?.(world);
  if (lacks !== undefined) {
    task.meta.fault = { number, kind: kind.name, recoveredMs: null };
    return skip(lacks);
  }
  const recoveredMs = await perform(fault);
  task.meta.fault = { number, kind: kind.name, recoveredMs };
  process.stdout.write(`   recovered within ${(recoveredMs / 1_000).toFixed(1)} s: `);
});

let requests: readonly EndedRequest[];

test("every accepted request has ended once", async () => {
  await world.load.end();
  const { accepted } = world.load;
  requests = await allEndedOnce(world.database, accepted.length);
  expect(requests.map(({ id }) => id).toSorted()).toEqual(accepted.toSorted());
  const taken = requests.flatMap(({ txId }) => txId ?? []);
  expect(world.ledger.takenFromOutside().toSorted()).toEqual(taken.toSorted());
  tally({ "requests ended once": accepted.length, transactions: taken.length });
});

test("every result was called back, those of an investor in order", async () => {
  await until(
    "no result to deliver",
    () =>
      listDeliveries(world.database, {
        endpoints: [taEndpoint(ASSET)],
        limit: 1,
        status: "pending",
      }),
    ({ length }) => length === 0,
    DRAIN_MS,
  );
  const { receiver } = world.load;
  // A receiver acts once per id, at the first time.
  const arrived = [...new Set(receiver.accepted())];
  expect(arrived.toSorted()).toEqual(requests.map(({ id }) => `ta-${id}`).toSorted());
  const place = new Map(arrived.map((id, index) => [id, index]));
  for (const lane of Map.groupBy(requests, (request) => request.lane).values()) {
    const places = lane.map(({ id }) => place.get(`ta-${id}`));
    expect(places).toEqual(places.toSorted((a = -1, b = -1) => a - b));
  }
  const { length } = receiver.accepted();
  tally({ "results delivered": arrived.length, "of them again": length - arrived.length });
});

test("the transfers of the EVM chain are listed as by a service that nothing happened to, and each was called back in order", async () => {
  await world.chain.end();
  const { disturbed, undisturbed } = await bothLists(world);
  expect(disturbed).toBe(undisturbed);
  const amounts = [...undisturbed.matchAll(/"amount":(\d+)/g)].map(([, amount]) => Number(amount));
  expect(world.chain.called()).toEqual(amounts);
  tally({ "transfers on the EVM chain": amounts.length });
});

test("log, rows, digests and answers equal those of a service that nothing happened to", async () => {
  const last = await world.ledger.end();
  await until(
    "the last checkpoint in every pipeline",
    () => `${world.marks.lowest()}`,
    (lowest) => BigInt(lowest) === last + 1n,
    DRAIN_MS,
  );
  const { disturbed, undisturbed, falseAnswers } = await bothReadings(world, last);
  expect(disturbed.digests).toEqual(undisturbed.digests);
  expect(disturbed.rows).toEqual(undisturbed.rows);
  expect(disturbed.log === undisturbed.log, "the logs are equal").toBe(true);
  expect(falseAnswers).toEqual([]);
  expectNothingWrong();
  tally({ "answers to readers": world.answers.count() });
  tally({ "checkpoints indexed": Number(last + 1n) });
});
