/** What is answered while the port is open and nothing is behind it yet: 503, to everything. */
import type { RequestListener } from "node:http";
import { errorBody } from "../error-body.ts";
import { requestIdOf } from "./request-id.ts";
import { securityHeaders } from "./security-headers.ts";

/** Seconds; opening the log of a service that ran before takes one or two. */
const RETRY_AFTER = "2";

const DETAILS = "the service is starting; send this again in a few seconds";

/** GraphQL clients look for `errors` whatever the status is. */
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
    // The next request finds the service itself; an unread body is not waited for.
    connection: "close",
  });
  response.end(JSON.stringify(body));
};
