/**
 * `GET /api/v1/callbacks` and `POST /api/v1/callbacks/{id}/redeliver`: the caller's own deliveries.
 */
import { z } from "zod";
import {
  holdMessage,
  listDeliveries,
  PrunedDeliveryError,
  redeliverHeld,
  UnknownDeliveryError,
} from "../../callbacks/deliveries.ts";
import { CALLBACK_REMOVED, wasPruned } from "../../callbacks/pruning.ts";
import type { Tx } from "../../database/connect.ts";
import { headerParameter } from "../../http/describe.ts";
import { codedError, HttpError } from "../../http/http-error.ts";
import { schemaRef } from "../../http/json-schema.ts";
import { limitParameter, timeParameter } from "../../http/parameters.ts";
import { ANY_PARAMETERS, json, type Route, route } from "../../http/route.ts";
import { isResultId, resultEndpoint } from "../requests/callback-address.ts";
import { ownKeys } from "../requests/caller-keys.ts";
import type { Fingerprint } from "../requests/fingerprint.ts";
import { type Answer, forgetting, remember, storedAnswer } from "../requests/replays.ts";
import { deliveryAnswer, redeliveryAnswer } from "./answer-schema.ts";
import * as examples from "./examples.ts";
import { replayable, type TaRouteSettings } from "./services.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

const deliveryId = /^[A-Za-z0-9_-]{1,200}$/;

const deliveriesQuery = z.object({
  since: timeParameter.optional(),
  limit: limitParameter(),
  after: z
    .string()
    .regex(deliveryId, "must be the id of a delivery")
    .optional()
    .meta({ description: "`id` of the last delivery seen." }),
});

const AFTER = { param: "after" };

/** Largest body of a redelivery: ample for `{}`. */
const SMALL_BODY = 64 * 1024;

/** Bytes of `{}`. */
const EMPTY_OBJECT = 2;

export const deliveryRoutes = (settings: TaRouteSettings): readonly Route[] => {
  const { read, database, fingerprints, callers } = settings;
  const forget = forgetting(database);
  return [
    route({
      method: "GET",
      path: "/api/v1/callbacks",
      who: callers.signed,
      operationId: "listCallbacks",
      summary: "Deliveries of the caller's own requests, oldest first",
      query: deliveriesQuery,
      answer: PAGE,
      refusals: [410],
      handle: async ({ caller, query: { since, after, limit } }) => {
        const keyIds = await ownKeys(read.db, caller);
        const deliveries = await listDeliveries(read.db, { keyIds, since, after, limit }).catch(
          (error: unknown) => {
            const gone = error instanceof PrunedDeliveryError;
            if (gone && isResultId(after)) {
              throw codedError("GONE", `after: ${error.message}`, AFTER);
            }
            if (!(gone || error instanceof UnknownDeliveryError)) throw error;
            throw codedError(
              "INVALID_PARAMETER",
              "after: must be the id of a delivery of yours",
              AFTER,
            );
          },
        );
        return deliveries.map(({ id, reference, status, createdAt, deliveredAt, attempts }) => ({
          id,
          requestId: reference,
          status,
          createdAt,
          deliveredAt,
          // URLs may belong to other keys: only operators see them.
          attempts: attempts.map(({ url: _, ...attempt }) => attempt),
        }));
      },
    }),
    route({
      method: "POST",
      path: "/api/v1/callbacks/:id/redeliver",
      who: callers.withBody,
      operationId: "redeliverCallback",
      summary: "Send a callback again, under the same webhook-id",
      params: { id: "`webhook-id`." },
      headers: [
        headerParameter(
          "Idempotency-Key",
          "A bound signature (`X-Request-Timestamp`) sends the message again once; the same Idempotency-Key under a new one gets the first answer again for 30 days. A signature of the body alone sends it again once in 24 hours, whatever the Idempotency-Key.",
        ),
      ],
      query: ANY_PARAMETERS,
      body: callers.signedBody(SMALL_BODY, { schema: { type: "object" } }),
      answer: replayable(
        202,
        "TaRedelivery",
        redeliveryAnswer.meta({ examples: [examples.redelivery] }),
        "It is sent now, is still pending, or waits.",
      ),
      refusals: [404, 410],
      handle: async ({ caller, params, body: { value, canonical, bound }, visit }) => {
        if (typeof value !== "object" || value === null || Array.isArray(value)) {
          throw new HttpError(400, "the body must be a JSON object: {}");
        }
        const { id = "" } = params;
        const fingerprint = fingerprints({
          keyId: caller.id,
          path: `/api/v1/callbacks/${id}/redeliver`,
          canonicalBody: canonical,
          idempotencyKey: idempotencyKeyOf(visit.raw),
          bound,
          redelivery: true,
        });
        const given = await storedAnswer(database, fingerprint);
        if (given !== undefined) return given;
        // A body signed for another purpose must not redeliver.
        if (canonical.length !== EMPTY_OBJECT) {
          throw new HttpError(400, "the body must be an empty JSON object: {}");
        }
        const keyIds = await ownKeys(database, caller);
        const answer = deliveryId.test(id)
          ? await database.transaction((tx) => redelivered(tx, { keyIds, id, fingerprint }))
          : undefined;
        if (answer === undefined) {
          const gone = isResultId(id) && (await wasPruned(database, id));
          throw new HttpError(
            gone ? 410 : 404,
            gone ? CALLBACK_REMOVED : "you have no delivery of this id",
          );
        }
        forget();
        return answer;
      },
    }),
  ];
};

const deliverySchema = deliveryAnswer.meta({ examples: [examples.delivery] });

const PAGE = {
  ...json("TaDelivery", z.array(deliverySchema), "A page."),
  content: { "application/json": { schema: { type: "array", items: schemaRef("TaDelivery") } } },
  schemas: { TaDelivery: deliverySchema },
};

/**
 * Redelivers a message and remembers the answer, or returns the remembered one. Runs under the
 * message's lock, so that concurrent equal requests send once. Undefined when none of these keys
 * has the message.
 */
const redelivered = async (
  tx: Tx,
  asked: {
    readonly keyIds: readonly string[];
    readonly id: string;
    readonly fingerprint: Fingerprint;
  },
): Promise<Answer | undefined> => {
  const { keyIds, id, fingerprint } = asked;
  const message = await holdMessage(tx, { keyIds, id });
  if (message === undefined) return undefined;
  const given = await storedAnswer(tx, fingerprint);
  if (given !== undefined) return given;
  // A signature of the body alone can be replayed: such a request does not hasten delivery.
  const hasten = !fingerprint.sameDecides;
  const outcome = await redeliverHeld(tx, message, { to: resultEndpoint, hasten });
  const sent = outcome === "accepted";
  const message202 = outcome === "pending" && !hasten ? ON_ITS_WAY : MESSAGE[outcome];
  const answer = { statusCode: 202, answer: JSON.stringify({ id, message: message202 }) };
  // Such requests are all alike: one that only reported a state is not remembered.
  const once = sent || !fingerprint.sameDecides;
  if (once || fingerprint.key !== undefined) {
    await remember(tx, fingerprint, answer, { same: once });
  }
  return answer;
};

const ON_ITS_WAY = "it is still pending, and is tried when its next attempt is due";

const MESSAGE = {
  accepted:
    "it is sent again; the same request gets this answer and sends nothing, a new bound signature sends it another time",
  pending: "it is still pending: it is tried now, or once those before it are done",
  waiting: "it waits until its address is configured again, or resumed",
} as const;
