/** 503 to every request while the service starts. */
import type { RequestListener } from "node:http";
import { errorBody } from "../error-body.ts";
import { requestIdOf } from "./request-id.ts";
import { securityHeaders } from "./security-headers.ts";

/** Seconds; an existing log opens in one or two. */
const RETRY_AFTER = "2";

const DETAILS = "the service is starting; send this again in a few seconds";

/** GraphQL clients look for `errors` whatever the status. */
const GRAPHQL = /^\/graphql\/?(\?|$)/;

export const answerStarting: RequestListener = (request, response) => {
  const requestId = requestIdOf(request);
  const body = GRAPHQL.test(request.url ?? "")
    ? { errors: [{ message: DETAILS, extensions: { code: "OVERLOADED" } }] }
    : errorBody(503, DETAILS, requestId);
  response.writeHead(503, {
    ...securityHeaders,
    "content-type": "application/json; charset=utf-8",
    "retry-after": RETRY_AFTER,
    "x-request-id": requestId,
    // The next request must reach the service itself; do not wait for an unread body.
    connection: "close",
  });
  response.end(JSON.stringify(body));
};
