/** `GET /api/v1/callbacks` and `POST /api/v1/callbacks/{id}/redeliver`: the caller's own deliveries. */
import { z } from "zod";
import {
  holdMessage,
  listDeliveries,
  redeliverHeld,
  UnknownDeliveryError,
} from "../../callbacks/deliveries.ts";
import type { Tx } from "../../database/connect.ts";
import { schemaRef } from "../../http/api-description.ts";
import { HttpError } from "../../http/http-error.ts";
import { resultEndpoint } from "../requests/callback-address.ts";
import { ownKeys } from "../requests/caller-keys.ts";
import type { Fingerprint } from "../requests/fingerprint.ts";
import { type Answer, answerGiven, forgetting, remember } from "../requests/replays.ts";
import { found, type ServedRoute } from "./route.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

/** Times that both Postgres and ISO 8601 with four-digit years can express. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 0);

/** In a query an unescaped + arrives as a space. */
const UNESCAPED_PLUS = /\d \d\d:?\d\d$/;

const deliveryId = /^[A-Za-z0-9_-]{1,200}$/;

const deliveriesQuery = z.object({
  since: z.iso
    .datetime({
      offset: true,
      error: ({ input }) =>
        typeof input === "string" && UNESCAPED_PLUS.test(input)
          ? "must be an ISO 8601 date-time with offset; in a query write its + as %2B"
          : "must be an ISO 8601 date-time with offset",
    })
    .optional(),
  limit: z
    .string("must stand once")
    .regex(/^\d{1,5}$/, "must be a whole number from 1 to 1000")
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 1000, "must be from 1 to 1000")
    .default(100),
  /** `id` of the last delivery seen. */
  after: z.string("must stand once").regex(deliveryId, "must be the id of a delivery").optional(),
});

/** @throws HttpError (400) naming every parameter at fault */
const readQuery = (query: unknown): z.infer<typeof deliveriesQuery> => {
  const { success, data, error } = deliveriesQuery.safeParse(query);
  if (success) return data;
  const faults = error.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
  throw new HttpError(400, faults.join("; "));
};

const within = (ms: number): Date => new Date(Math.min(Math.max(ms, EARLIEST_MS), LATEST_MS));

const list: ServedRoute = {
  method: "GET",
  path: "/api/v1/callbacks",
  access: "signed",
  operationId: "listCallbacks",
  summary: "Deliveries of the caller's own requests, oldest first",
  query: deliveriesQuery,
  answer: {
    statusCode: 200,
    description: "A page.",
    schema: { type: "array", items: schemaRef("TaDelivery") },
  },
  refusals: [400],
  handler:
    ({ read }) =>
    async ({ query }, caller) => {
      const { since, after, limit } = readQuery(query);
      const deliveries = await listDeliveries(read.db, {
        keyIds: await ownKeys(read.db, caller),
        since: since === undefined ? undefined : within(Date.parse(since)),
        after,
        limit,
      }).catch((error: unknown) => {
        if (!(error instanceof UnknownDeliveryError)) throw error;
        throw new HttpError(400, "after must be the id of a delivery of yours");
      });
      return found(
        deliveries.map(({ id, reference, status, createdAt, deliveredAt, attempts }) => ({
          id,
          requestId: reference,
          status,
          createdAt,
          deliveredAt,
          // Only the operator sees the addresses: those of other keys may be among them.
          attempts: attempts.map(({ url: _, ...attempt }) => attempt),
        })),
      );
    },
};

/** Most bytes of a redelivery's body: ample for `{}`. */
const SMALL_BODY = 64 * 1024;

/** Bytes of `{}`. */
const EMPTY_OBJECT = 2;

const redeliver: ServedRoute = {
  method: "POST",
  path: "/api/v1/callbacks/:id/redeliver",
  access: "signed-body",
  operationId: "redeliverCallback",
  summary: "Send a callback again, under the same webhook-id",
  params: { id: { description: "`webhook-id`." } },
  body: {
    schema: { type: "object" },
    mostBytes: () => SMALL_BODY,
    idempotencyKey:
      "A bound signature (`X-Request-Timestamp`) sends the message again once; the same Idempotency-Key under a new one gets the first answer again for 30 days. A signature of the body alone sends it again once in 24 hours, whatever the Idempotency-Key.",
  },
  answer: {
    statusCode: 202,
    description: "It is sent, or on its way still, or waits.",
    schema: schemaRef("TaRedelivery"),
  },
  refusals: [404],
  handler: ({ database, fingerprints }) => {
    const forget = forgetting(database);
    return async (request, caller, { value, canonical, bound }) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new HttpError(400, "the body must be a JSON object: {}");
      }
      const { id = "" } = request.params;
      const fingerprint = fingerprints({
        keyId: caller.id,
        path: `/api/v1/callbacks/${id}/redeliver`,
        canonicalBody: canonical,
        idempotencyKey: idempotencyKeyOf(request),
        bound,
        redelivery: true,
      });
      const given = await answerGiven(database, fingerprint);
      if (given !== undefined) return given;
      // A body that was signed for another purpose sends nothing.
      if (canonical.length !== EMPTY_OBJECT) {
        throw new HttpError(400, "the body must be an empty JSON object: {}");
      }
      const keyIds = await ownKeys(database, caller);
      const answer = deliveryId.test(id)
        ? await database.transaction((tx) => redelivered(tx, { keyIds, id, fingerprint }))
        : undefined;
      if (answer === undefined) throw new HttpError(404, "you have no delivery of this id");
      forget();
      return answer;
    };
  },
};

export const deliveryRoutes = [list, redeliver] as const;

/**
 * Sends a message again and remembers the answer, or gives the answer remembered before. All of it runs
 * under the message's lock, so that two equal requests at one moment send it once. Undefined when none
 * of these keys has the message.
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
  const given = await answerGiven(tx, fingerprint);
  if (given !== undefined) return given;
  // Any reader of the request can replay a signature of the body alone: it hastens nothing.
  const hasten = !fingerprint.sameDecides;
  const outcome = await redeliverHeld(tx, message, { to: resultEndpoint, hasten });
  const sent = outcome === "accepted";
  const message202 = outcome === "pending" && !hasten ? ON_ITS_WAY : MESSAGE[outcome];
  const answer = { statusCode: 202, answer: JSON.stringify({ id, message: message202 }) };
  // Requests signed like that are all alike: one that only learned a state is answered anew next time.
  const once = sent || !fingerprint.sameDecides;
  if (once || fingerprint.key !== undefined) {
    await remember(tx, fingerprint, answer, { same: once });
  }
  return answer;
};

const ON_ITS_WAY = "it is still on its way, and is tried when its next attempt is due";

const MESSAGE = {
  accepted:
    "it is sent again; the same request gets this answer and sends nothing, a new bound signature sends it once more",
  pending: "it is still on its way: it is tried now, or once those before it are done",
  waiting: "it waits until its address is configured again",
} as const;
