/** `GET /operator/deliveries`: all callbacks with their attempts, and the body of one. */
import { z } from "zod";
import { canonicalJson } from "../../client/index.ts";
import type { DeliveryAttempt } from "../callbacks/deliveries.ts";
import {
  type DeliveryOverview,
  deliveryOverviews,
  deliveryWithAttempts,
  sentBody,
} from "../callbacks/overview.ts";
import { CALLBACK_REMOVED, wasPruned } from "../callbacks/pruning.ts";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { timeParameter } from "../http/parameters.ts";
import { json, jsonText, type Route, route, type Who } from "../http/route.ts";
import { shownUrl } from "../settings/shown-url.ts";
import { resultMessageId } from "../ta/requests/callback-address.ts";
import {
  DELIVERY_STATES,
  type DeliveryItem,
  operatorDeliveriesAnswer,
  operatorDeliveryAnswer,
} from "./answers.ts";
import { nameParameter, pageLimit, pageOf, timedCursor } from "./cursor.ts";
import { shownBody } from "./sent-body.ts";

const deliveriesQuery = z.strictObject({
  state: z
    .enum(DELIVERY_STATES, `must be one of ${DELIVERY_STATES.join(", ")}`)
    .optional()
    .meta({ description: "Only those." }),
  receiver: nameParameter.optional().meta({ description: "Only those to this receiver." }),
  requestId: z
    .uuid("must be the id of a request")
    .optional()
    .meta({ description: "Only the result of this request." }),
  since: timeParameter
    .optional()
    .meta({ description: "Only those enqueued at or after this time, ISO 8601." }),
  after: timedCursor,
  limit: pageLimit,
});

export const deliveryRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/deliveries",
    who,
    operationId: "operatorDeliveries",
    summary: "Callbacks to all receivers",
    query: deliveriesQuery,
    answer: json("OperatorDeliveries", operatorDeliveriesAnswer, "A page."),
    handle: async ({ query }) => {
      const { state: status, receiver: endpoint, requestId, since, after, limit } = query;
      const rows = await deliveryOverviews(db, {
        status,
        endpoint,
        id: requestId === undefined ? undefined : resultMessageId(requestId.toLowerCase()),
        since,
        after,
        limit: limit + 1,
      });
      return pageOf(rows, limit, deliveryItemOf);
    },
  }),
  route({
    method: "GET",
    path: "/operator/deliveries/:id",
    who,
    operationId: "operatorDelivery",
    summary: "One callback, with its attempts and what was sent",
    params: { id: "`webhook-id`." },
    answer: jsonText("OperatorDelivery", operatorDeliveryAnswer, "The delivery."),
    refusals: [404, 410],
    handle: async ({ params }) => {
      const id = deliveryIdOf(params.id);
      const [found, sent] =
        id === undefined ? [] : await Promise.all([deliveryWithAttempts(db, id), sentBody(db, id)]);
      if (found == null || sent === undefined) {
        const gone = id !== undefined && (await wasPruned(db, id));
        throw gone ? new HttpError(410, CALLBACK_REMOVED) : new HttpError(404, NO_DELIVERY);
      }
      const { attempts, nextAttemptAt } = found;
      // Amounts may exceed 2^53: canonical JSON prints exact integers.
      return canonicalJson({
        ...deliveryItemOf(found),
        attempts: attempts.map(shownAttempt),
        nextAttemptAt,
        body: shownBody(found.type, sent),
      });
    },
  }),
];

export const NO_DELIVERY = "there is no delivery of this id";

/** Undefined for an invalid id. */
export const deliveryIdOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Za-z0-9_-]{1,200}$/.test(text) ? text : undefined;

const shownAttempt = ({ at, url, statusCode, error, durationMs }: DeliveryAttempt) => ({
  at,
  url: url === null ? null : shownUrl(url),
  statusCode,
  error,
  durationMs,
});

export const deliveryItemOf = (delivery: DeliveryOverview): DeliveryItem => ({
  id: delivery.id,
  receiver: delivery.endpoint,
  url: shownUrl(delivery.url),
  type: delivery.type,
  requestId:
    delivery.reference !== null && delivery.id === resultMessageId(delivery.reference)
      ? delivery.reference
      : null,
  reference: delivery.reference,
  state: delivery.status,
  createdAt: delivery.createdAt,
  deliveredAt: delivery.deliveredAt,
  givenUpAt: delivery.givenUpAt,
  attemptCount: delivery.attemptCount,
  lastAttempt: delivery.lastAttempt === null ? null : shownAttempt(delivery.lastAttempt),
});
