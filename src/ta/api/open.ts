/** `GET /api/v1/callback_pk` and `/api/v1/health`: without a key. */
import { schemaRef } from "../../http/api-description.ts";
import { CALLBACK_KEYS } from "../../http/callback-keys.ts";
import { requestFigures } from "../requests/figures.ts";
import { found, type ServedRoute } from "./route.ts";

export const openRoutes: readonly ServedRoute[] = [
  {
    method: "GET",
    path: CALLBACK_KEYS.path,
    access: "open",
    operationId: CALLBACK_KEYS.operationId,
    summary: CALLBACK_KEYS.summary,
    answer: { statusCode: 200, description: "The keys.", schema: schemaRef("TaCallbackKeys") },
    handler:
      ({ signingKeys }) =>
      async () =>
        found(await signingKeys.publicKeys()),
  },
  {
    method: "GET",
    path: "/api/v1/health",
    access: "open",
    operationId: "taHealth",
    summary: "Requests waiting and under way",
    answer: { statusCode: 200, description: "Healthy.", schema: schemaRef("TaHealth") },
    handler:
      ({ read, version }) =>
      async () =>
        found({ status: "ok", version, queue: await requestFigures(read.db) }),
  },
];
