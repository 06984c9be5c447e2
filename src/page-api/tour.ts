/**
 * `POST /demo/tour`: a whole whitelist request on the demo ledger for a fictional investor, signed
 * with the demo's key. `GET /demo/tour/{id}` reports its progress: request, transaction, register,
 * callback.
 */
import { randomBytes } from "node:crypto";
import type { InjectOptions } from "fastify";
import { z } from "zod";
import { signRequest } from "../../client/index.ts";
import { deliveryWithAttempts } from "../callbacks/overview.ts";
import type { Db } from "../database/connect.ts";
import { createRateLimit } from "../http/edge/rate-limit.ts";
import { HttpError } from "../http/http-error.ts";
import { json, NO_BODY, type Route, route, type Who } from "../http/route.ts";
import { eventsOfWallet } from "../projections/holder-events.ts";
import { placeOf } from "../projections/position.ts";
import { resultMessageId } from "../ta/requests/callback-address.ts";
import { requestHistory, requestOverviews, requestWallet } from "../ta/requests/overview.ts";
import { tourAnswer, tourBegunAnswer } from "./answers.ts";

type TourAsset = { readonly asset: string; readonly coinType: string };

export type TourSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly reader: Who<unknown>;
  readonly tourAsset: TourAsset;
  /** Secret key that signs for the asset, base64; undefined without one. */
  readonly secretKey: () => Promise<string | undefined>;
  readonly send: (request: InjectOptions) => Promise<{
    readonly statusCode: number;
    readonly body: string;
  }>;
};

/** Tours per minute, over all callers: each is a transaction and a callback. */
const MOST_TOURS = 20;

const WHITELIST = "/api/v1/investor/whitelist";

const accepted = z.object({ requestId: z.uuid() });

export const tourRoutes = (settings: TourSettings): readonly Route[] => {
  const { db, reader, tourAsset, secretKey, send } = settings;
  const { asset, coinType } = tourAsset;
  const limit = createRateLimit({ policy: "tours", quota: MOST_TOURS, windowSeconds: 60 });
  return [
    route({
      method: "POST",
      path: "/demo/tour",
      who: reader,
      operationId: "beginTour",
      summary: "Whitelist a new wallet of a made-up investor, on the demo ledger",
      body: NO_BODY,
      answer: json("TourBegun", tourBegunAnswer, "The request was accepted.", { status: 202 }),
      refusals: [409],
      handle: async () => {
        const counted = limit.take("");
        if (!counted.allowed) throw limit.refusal(counted);
        const secret = await secretKey();
        if (secret === undefined) {
          throw new HttpError(409, "the demo's signing key is missing; restart the service");
        }
        const wallet = `0x${randomBytes(32).toString("hex")}`;
        const signed = signRequest({
          secretKey: secret,
          path: WHITELIST,
          body: { investor: madeUp(wallet) },
        });
        // Like any caller's request: signature, limits and checks apply.
        const { statusCode, body } = await send({
          method: "POST",
          url: WHITELIST,
          headers: signed.headers,
          payload: signed.body,
        });
        if (statusCode !== 201) {
          throw new Error(
            `the demo's own whitelist request was answered with ${statusCode}: ${body}`,
          );
        }
        const { requestId } = accepted.parse(JSON.parse(body));
        return { tourId: requestId, requestId, wallet, asset, coinType };
      },
    }),
    route({
      method: "GET",
      path: "/demo/tour/:id",
      who: reader,
      operationId: "tour",
      summary: "Progress of a tour",
      params: { id: "`tourId`." },
      answer: json("Tour", tourAnswer, "The tour."),
      refusals: [404],
      handle: async ({ params }) => {
        const id = z.uuid().safeParse(params.id).data;
        const [request] =
          id === undefined ? [] : await requestOverviews(db, { id, asset, limit: 1 });
        const wallet = request && (await requestWallet(db, request.id));
        if (request === undefined || wallet === undefined) {
          throw new HttpError(404, "there is no tour of this id");
        }
        const { txId } = request;
        const [history, events, delivery] = await Promise.all([
          requestHistory(db, request.id),
          txId === null ? [] : eventsOfWallet(db, { coinType, address: wallet, txDigest: txId }),
          deliveryWithAttempts(db, resultMessageId(request.id)),
        ]);
        const joined = events.find(({ eventType }) => eventType === "address_joined_group");
        const status = tourAnswer.shape.request.shape.status.parse(request.status);
        const isFinal = status === "SUCCESS" || status === "FAILED";
        const isSent = delivery !== null && delivery.status !== "pending";
        return {
          wallet,
          asset,
          coinType,
          request: { status, history: [...history] },
          txId,
          checkpoint: joined === undefined ? null : `${placeOf(joined.position).checkpoint}`,
          holderEvent:
            joined === undefined
              ? null
              : {
                  eventType: joined.eventType,
                  address: joined.address,
                  groupId: joined.groupId?.toString() ?? null,
                  position: joined.position.toString(),
                },
          delivery:
            delivery === null
              ? null
              : { id: delivery.id, state: delivery.status, attempts: delivery.attemptCount },
          done: isFinal && isSent,
        };
      },
    }),
  ];
};

/** A fictional investor: a documentation address and an unassigned number. */
const madeUp = (wallet: string) => ({
  id: `tour-${randomBytes(6).toString("hex")}`,
  first_name: "Ada",
  last_name: "Example",
  email: "ada@example.com",
  dob: "1980-01-31",
  primary_phone: "+4722222222",
  full_address: { street: "1 Main St", city: "Oslo", countryCode: "NO", postalCode: "0150" },
  blockchain_wallet: wallet,
});
