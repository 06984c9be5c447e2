/** Operators' acts on all callbacks: redeliver one or a time range, and test an address. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import {
  holdMessage,
  type MovedTo,
  type Redelivery,
  redeliver,
  redeliverHeld,
} from "../callbacks/deliveries.ts";
import { holdEndpoints } from "../callbacks/endpoints.ts";
import { enqueueCallback } from "../callbacks/enqueue.ts";
import {
  countDeliveries,
  type DeliveryRange,
  deliveriesInRange,
  endpointOverviews,
} from "../callbacks/overview.ts";
import { CALLBACK_REMOVED } from "../callbacks/pruning.ts";
import type { Database, Db } from "../database/connect.ts";
import { createAdmission } from "../http/edge/admission.ts";
import { createRateLimit } from "../http/edge/rate-limit.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { timeParameter } from "../http/parameters.ts";
import { json, jsonBody, NO_BODY, type Route, route, type Visit, type Who } from "../http/route.ts";
import { resultEndpoint } from "../ta/requests/callback-address.ts";
import {
  MOST_COUNTED,
  rangeRedeliveryAnswer,
  redeliveryAnswer,
  testEventAnswer,
} from "./answers.ts";
import { nameParameter, pageOf, timedCursor } from "./cursor.ts";
import { deliveryIdOf, NO_DELIVERY } from "./deliveries.ts";
import { stateOf } from "./receivers.ts";

/** Most messages that one request redelivers. */
const MOST_REDELIVERED = 1_000;

const MESSAGES: Readonly<Record<Redelivery, string>> = {
  accepted: "it is sent again, under the same webhook-id",
  pending: "it is still pending: it is tried now, or once those before it are done",
  waiting: "it waits until its address is configured again, or resumed",
};

const rangeBody = z.strictObject({
  since: timeParameter.meta({
    description: "Only those enqueued at or after this time, ISO 8601.",
  }),
  until: timeParameter
    .optional()
    .meta({ description: "Only those enqueued before this time; default: now." }),
  receiver: nameParameter.optional().meta({ description: "Only those to this receiver." }),
  states: z
    .array(z.enum(["failed", "disabled", "delivered"]))
    .min(1)
    .max(3)
    .default(["failed", "disabled"])
    .meta({ description: "Only those." }),
  after: timedCursor,
  limit: z
    .int()
    .min(1)
    .max(MOST_REDELIVERED)
    .default(MOST_REDELIVERED)
    .meta({ description: "Maximum that this request sends again, oldest first." }),
  dryRun: z.boolean().default(false).meta({ description: "Only count them." }),
});

/** Logs an operator's act with the key used. */
const logAct = ({ log }: Visit, { id: key }: Key, did: object): void =>
  log.info({ key, ...did }, "operator: acted on callbacks");

/** Results go to their callers' current addresses. */
const to: MovedTo = resultEndpoint;

/**
 * Redelivers a message; undefined if its state has changed, for example by a concurrent request.
 */
const redeliverIf = (
  database: Database,
  id: string,
  states: readonly string[],
): Promise<Redelivery | undefined> =>
  database.transaction(async (tx) => {
    const message = await holdMessage(tx, { everybodys: true, id });
    if (message === undefined || !states.includes(message.status)) return undefined;
    return redeliverHeld(tx, message, { to });
  });

type ActSettings = {
  /** For searches; read-only, with a statement timeout. */
  readonly db: Db;
  readonly database: Database;
  readonly who: Who<Key>;
};

/** One range at a time; the next waits. */
const ONE_RANGE = { perKey: 1, perProcess: 1, waitingPerKey: 1, waiting: 4, waitMs: 5_000 };

/** Test events per receiver and minute, to spare its rate limit. */
const MOST_TESTS = 10;

export const actRoutes = ({ db, database, who }: ActSettings): readonly Route[] => {
  const ranges = createAdmission(ONE_RANGE);
  const tests = createRateLimit({ policy: "tests", quota: MOST_TESTS, windowSeconds: 60 });
  return [
    route({
      method: "POST",
      path: "/operator/deliveries/:id/redeliver",
      who,
      operationId: "operatorRedeliver",
      summary: "Send a callback again, under the same webhook-id",
      description: "Enables a disabled address.",
      params: { id: "`webhook-id`." },
      body: NO_BODY,
      answer: json("OperatorRedelivery", redeliveryAnswer, "What happens to it.", { status: 202 }),
      refusals: [404, 410],
      handle: async ({ params, caller, visit }) => {
        const id = deliveryIdOf(params.id);
        const outcome =
          id === undefined ? "unknown" : await redeliver(database, { everybodys: true, id, to });
        if (outcome === "removed") throw new HttpError(410, CALLBACK_REMOVED);
        if (id === undefined || outcome === "unknown") throw new HttpError(404, NO_DELIVERY);
        logAct(visit, caller, { redelivered: id, outcome });
        return { id, outcome, message: MESSAGES[outcome] };
      },
    }),
    route({
      method: "POST",
      path: "/operator/deliveries/redeliver",
      who,
      operationId: "operatorRedeliverRange",
      summary: "Send the callbacks of a period again, each under its webhook-id",
      description:
        "Oldest first and independently: they wait neither for one another nor for newer ones. Enables disabled addresses. With `dryRun` nothing is sent, and the answer counts the matching callbacks.",
      body: jsonBody(rangeBody),
      answer: json("OperatorRangeRedelivery", rangeRedeliveryAnswer, "How many."),
      handle: async ({ body, caller, visit, signal }) => {
        const { since, until = new Date(), receiver: endpoint, after, limit, dryRun } = body;
        const range: DeliveryRange = { statuses: body.states, endpoint, since, until, after };
        const matched = await countDeliveries(db, range, MOST_COUNTED);
        if (dryRun) return { dryRun, matched, redelivered: 0, waiting: 0, next: null };
        const slot = await ranges.enter(caller.id, 1, signal);
        let waiting = 0;
        let redelivered = 0;
        let found: Awaited<ReturnType<typeof deliveriesInRange>> = [];
        try {
          found = await deliveriesInRange(db, { ...range, limit: limit + 1 });
          // One transaction each: a hang-up loses nothing, and no lock is held for long.
          for (const { id } of found.slice(0, limit)) {
            if (signal.aborted) break;
            const outcome = await redeliverIf(database, id, body.states);
            if (outcome === undefined) continue;
            redelivered += 1;
            if (outcome === "waiting") waiting += 1;
          }
        } finally {
          slot.left();
        }
        logAct(visit, caller, {
          redelivered,
          since,
          until,
          receiver: endpoint,
          states: body.states,
        });
        const { next } = pageOf(found, limit, ({ id }) => id);
        return { dryRun, matched, redelivered, waiting, next };
      },
    }),
    route({
      method: "POST",
      path: "/operator/receivers/:id/test-event",
      who,
      operationId: "operatorTestEvent",
      summary: "Send a receiver a test event",
      description:
        'A callback like any other, signed and retried, whose body says `"type": "test"`: see the docs of callbacks.',
      params: { id: "As `/operator/receivers` lists it." },
      body: NO_BODY,
      answer: json("OperatorTestEvent", testEventAnswer, "It is on its way.", { status: 202 }),
      refusals: [404, 409],
      handle: async ({ params: { id: receiver = "" }, caller, visit }) => {
        const id = `test-${randomUUID()}`;
        await database.transaction(async (tx) => {
          await holdEndpoints(tx);
          const [found] = nameParameter.safeParse(receiver).success
            ? await endpointOverviews(tx, { key: receiver, limit: 1 })
            : [];
          if (found === undefined) throw new HttpError(404, "there is no receiver of this id");
          const { state, reason } = stateOf(found);
          if (state !== "open" && state !== "failing") {
            const why = reason === null ? "" : `: ${reason}`;
            throw new HttpError(409, `nothing is sent to this receiver, it is ${state}${why}`);
          }
          const counted = tests.take(receiver);
          if (!counted.allowed) throw tests.refusal(counted);
          await enqueueCallback(tx, {
            endpoint: receiver,
            // In its own lane: it neither waits for ordered messages nor delays them.
            lane: id,
            id,
            type: "test",
            body: {
              type: "test",
              id,
              message: "A test by the operator, unrelated to any transfer or request.",
              timestamp: new Date().toISOString(),
            },
          });
        });
        logAct(visit, caller, { tested: receiver, delivery: id });
        return {
          deliveryId: id,
          receiver,
          type: "test" as const,
          message: "it is on its way; its delivery shows the outcome",
        };
      },
    }),
  ];
};
