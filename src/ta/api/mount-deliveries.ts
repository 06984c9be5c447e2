/** The caller's own callbacks: the log of their deliveries, and sending one again. */
import { z } from "zod";
import {
  holdMessage,
  listDeliveries,
  redeliverHeld,
  UnknownDeliveryError,
} from "../../callbacks/deliveries.ts";
import type { Tx } from "../../database/connect.ts";
import { HttpError } from "../../http/http-error.ts";
import type { App } from "../../http/part.ts";
import { type Answer, answerGiven, forgetting, remember } from "../requests/answered.ts";
import type { Fingerprint } from "../requests/fingerprint.ts";
import type { Admission } from "./admission.ts";
import { resultEndpoint } from "./callback-address.ts";
import { sendAnswer } from "./mount-submissions.ts";
import { ownKeys } from "./own-keys.ts";
import type { TaPartSettings } from "./part.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

/** Times that Postgres and ISO 8601 with four digits of a year both have. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 0);

/** What a + that was not escaped has become. */
const UNESCAPED_PLUS = /\d \d\d:?\d\d$/;

const deliveryId = /^[A-Za-z0-9_-]{1,200}$/;

/** Query of the delivery log. */
export const deliveriesQuery = z.object({
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

/** Bytes of a redelivery's body, `{}`; larger ones of others' making are ignored anyway. */
const SMALL_BODY = 64 * 1024;

export const mountDeliveries = (app: App, settings: TaPartSettings, admission: Admission): void => {
  const { database, read, fingerprints } = settings;
  const forget = forgetting(database);

  app.get("/api/v1/callbacks", {
    onRequest: admission.signedRead,
    handler: async (request) => {
      const caller = admission.callerOf(request);
      const { success, data, error } = deliveriesQuery.safeParse(request.query);
      if (!success) {
        const faults = error.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
        throw new HttpError(400, faults.join("; "));
      }
      const deliveries = await listDeliveries(read.db, {
        keyIds: await ownKeys(read.db, caller),
        since: data.since === undefined ? undefined : within(Date.parse(data.since)),
        after: data.after,
        limit: data.limit,
      }).catch((error: unknown) => {
        if (!(error instanceof UnknownDeliveryError)) throw error;
        throw new HttpError(400, "after must be the id of a delivery of yours");
      });
      return deliveries.map(({ id, reference, status, createdAt, deliveredAt, attempts }) => ({
        id,
        requestId: reference,
        status,
        createdAt,
        deliveredAt,
        // The addresses are the operator's to see: those of other keys may be among them.
        attempts: attempts.map(({ url: _, ...attempt }) => attempt),
      }));
    },
  });

  app.post<{ Params: { id: string } }>("/api/v1/callbacks/:id/redeliver", {
    bodyLimit: SMALL_BODY,
    onRequest: admission.beforeBody,
    handler: async (request, reply) => {
      const { value, canonical, bound } = await admission.signedBody(request, reply);
      const caller = admission.callerOf(request);
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw new HttpError(400, "the body must be a JSON object: {}");
      }
      const { id } = request.params;
      const fingerprint = fingerprints({
        keyId: caller.id,
        path: `/api/v1/callbacks/${id}/redeliver`,
        canonicalBody: canonical,
        idempotencyKey: idempotencyKeyOf(request),
        bound,
        redelivery: true,
      });
      const given = await answerGiven(database, fingerprint);
      if (given !== undefined) return sendAnswer(reply, given);
      // What was signed for another purpose is not to send anything.
      if (canonical.length !== EMPTY_OBJECT) {
        throw new HttpError(400, "the body must be an empty JSON object: {}");
      }
      const keyIds = await ownKeys(database, caller);
      const answer = deliveryId.test(id)
        ? await database.transaction((tx) => redelivered(tx, { keyIds, id, fingerprint }))
        : undefined;
      if (answer === undefined) throw new HttpError(404, "you have no delivery of this id");
      forget();
      return sendAnswer(reply, answer);
    },
  });
};

/** Bytes of `{}`. */
const EMPTY_OBJECT = 2;

/**
 * Sends one again and remembers the answer, or gives the answer that was remembered: all under the lock
 * of the message, so that what comes twice at one moment is done once. Undefined: it is none of theirs.
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
  // What the body alone signs can be sent again by whoever has seen it: it hastens nothing.
  const hasten = !fingerprint.sameDecides;
  const outcome = await redeliverHeld(tx, message, { to: resultEndpoint, hasten });
  const sent = outcome === "accepted";
  const message202 = outcome === "pending" && !hasten ? ON_ITS_WAY : MESSAGE[outcome];
  const answer = { statusCode: 202, answer: JSON.stringify({ id, message: message202 }) };
  // Where the body alone is signed it is alike every time: what only tells of a state is told anew.
  const once = sent || !fingerprint.sameDecides;
  if (once || fingerprint.key !== undefined) {
    await remember(tx, fingerprint, answer, { same: once });
  }
  return answer;
};

const within = (ms: number): Date => new Date(Math.min(Math.max(ms, EARLIEST_MS), LATEST_MS));

const ON_ITS_WAY = "it is still on its way, and is tried when its next attempt is due";

const MESSAGE = {
  accepted:
    "it is sent again; the same request gets this answer and sends nothing, a new bound signature sends it once more",
  pending: "it is still on its way: it is tried now, or once those before it are done",
  waiting: "it waits until its address is configured again",
} as const;
