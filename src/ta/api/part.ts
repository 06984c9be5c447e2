/** The transfer agent API: its routes, admission and errors. */
import type { Reads } from "../../database/readers.ts";
import { CALLBACK_KEYS, callbackKeysRoute } from "../../http/callback-keys.ts";
import { createGate, type GateSettings } from "../../http/edge/gate.ts";
import { codedError } from "../../http/http-error.ts";
import { schemaRef } from "../../http/json-schema.ts";
import type { Part } from "../../http/part.ts";
import { errorBody, type RefusalOf, refusalOf } from "../../http/refusal.ts";
import { ANY_PARAMETERS, json, type Route, route } from "../../http/route.ts";
import { anyone } from "../../http/who.ts";
import { StrictJsonError } from "../../settings/strict-json.ts";
import type { TaAsset } from "../requests/asset.ts";
import { requestFigures } from "../requests/figures.ts";
import { InvalidRequestError } from "../requests/invalid-request.ts";
import { IdempotencyKeyReusedError } from "../requests/replays.ts";
import { errorAnswerSchema, healthAnswer, resultCallback } from "./answer-schema.ts";
import { bodyRoom } from "./body-room.ts";
import { type Caller, callerLookup } from "./caller.ts";
import { createCallers } from "./callers.ts";
import { deliveryRoutes } from "./deliveries.ts";
import * as examples from "./examples.ts";
import { formerRoutes } from "./former-paths.ts";
import { listRoutes } from "./list.ts";
import { BODY_PACE, type Pace } from "./read-body.ts";
import type { TaBounds, TaServices } from "./services.ts";
import { statusRoutes } from "./status.ts";
import { submissionRoutes } from "./submissions.ts";

export type TaPartSettings = TaServices & {
  /** For cached keys: callers that pass the same object share the cache. */
  readonly keys: Reads;
  readonly assets: () => ReadonlyMap<string, TaAsset>;
  /** Limits per key, and per address without a valid key or signature. */
  readonly limits: Pick<GateSettings<Caller>, "limit" | "attempts">;
  readonly bounds: TaBounds & {
    /** Bytes of all incoming bodies in this process. */
    readonly allBodiesBytes: number;
    /** Slowest accepted transfer; `BODY_PACE` by default. */
    readonly pace?: Pace;
  };
};

/** Header field of the caller's key. */
const KEY_HEADER = "X-Api-Key";

const TAG = "Transfer agent";

export const taPart = (settings: TaPartSettings): Part => {
  const { assets, keys, limits, bounds, signingKeys } = settings;
  const verify = callerLookup(keys, assets);
  const callers = createCallers({
    gate: createGate({ ...limits, header: KEY_HEADER, verify }),
    limits,
    room: bodyRoom(bounds.allBodiesBytes),
    pace: bounds.pace ?? BODY_PACE,
  });
  return {
    name: "ta",
    paths: [
      {
        path: "/api/v1/investor/whitelist",
        about: `transfer agent: POST with a key in ${KEY_HEADER}`,
      },
      { path: CALLBACK_KEYS.path, about: CALLBACK_KEYS.about },
      { path: "/api/v1/health", about: "requests waiting" },
    ],
    routes: [
      ...submissionRoutes({ ...settings, callers }),
      ...statusRoutes({ ...settings, callers }),
      ...listRoutes({ ...settings, callers }),
      ...deliveryRoutes({ ...settings, callers }),
      callbackKeysRoute(() => signingKeys.publicKeys(), "TaCallbackKeys"),
      healthRoute(settings),
      ...formerRoutes(),
    ],
    // Read once the sender is known.
    bodies: "unread",
    refusalOf: taRefusal,
    described: {
      tag: {
        name: TAG,
        description:
          "Whitelisting and KYC. POST requests are signed over method, path, time, Idempotency-Key and body (or, in the older form, over the body alone), some reads over method, path and time; `holderbook ta sign` and `signRequest` of `holderbook/client` do it. Results come as signed callbacks.",
      },
      error: {
        name: "TaError",
        schema: errorAnswerSchema.meta({ examples: [examples.refusal] }),
      },
      webhooks: { requestResult: { post: RESULT } },
      schemas: { TaResult: resultCallback.meta({ examples: [examples.result] }) },
    },
  };
};

const healthRoute = ({ read, version }: TaServices): Route =>
  route({
    method: "GET",
    path: "/api/v1/health",
    who: anyone(),
    operationId: "taHealth",
    summary: "Requests waiting and under way",
    query: ANY_PARAMETERS,
    answer: json("TaHealth", healthAnswer.meta({ examples: [examples.health] }), "Healthy."),
    handle: async () => ({ status: "ok", version, queue: await requestFigures(read.db) }),
  });

const RESULT = {
  tags: [TAG],
  operationId: "requestResultCallback",
  summary: "A request has reached its final state",
  description:
    "Sent to the callback address of the key that signed the request, or else to the asset's; signed (Standard Webhooks, Ed25519, and X-Request-Sig-B64 over the canonical body), in order per investor.",
  security: [],
  requestBody: {
    required: true,
    content: { "application/json": { schema: schemaRef("TaResult") } },
  },
  responses: { "2XX": { description: "Received; it is not sent again." } },
};

/** Errors of this API (specification, interface C, "Errors"). */
const taRefusal: RefusalOf = (error, refused) => {
  if (!(error instanceof InvalidRequestError)) return refusalOf(asHttpError(error), refused);
  const { statusCode: status, message, code, param } = error;
  const body = errorBody(status, message, refused.requestId, undefined, { code, param });
  return { status, headers: {}, body };
};

const asHttpError = (error: unknown): unknown => {
  if (error instanceof StrictJsonError) return codedError("INVALID_JSON", error.message);
  if (error instanceof IdempotencyKeyReusedError) {
    return codedError("IDEMPOTENCY_KEY_REUSED", error.message, { param: "Idempotency-Key" });
  }
  if (
    error instanceof Error &&
    "code" in error &&
    error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE"
  ) {
    return codedError(
      "UNSUPPORTED_MEDIA_TYPE",
      "send the body as JSON, with the header Content-Type: application/json",
      { param: "Content-Type" },
    );
  }
  return error;
};
