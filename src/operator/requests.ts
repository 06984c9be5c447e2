/** `GET /operator/requests`: all requests to the transfer agent with their state. */
import { z } from "zod";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { json, type Route, route, type Who } from "../http/route.ts";
import { type RequestOverview, requestHistory, requestOverviews } from "../ta/requests/overview.ts";
import { REQUEST_REMOVED, wasRequestPruned } from "../ta/requests/pruning.ts";
import {
  operatorRequestAnswer,
  operatorRequestsAnswer,
  REQUEST_STATUSES,
  type RequestItem,
} from "./answers.ts";
import { nameParameter, pageLimit, pageOf, timedCursor } from "./cursor.ts";

const requestsQuery = z.strictObject({
  status: z
    .enum([...REQUEST_STATUSES, "OPEN"], `must be one of ${REQUEST_STATUSES.join(", ")}, OPEN`)
    .optional()
    .meta({ description: "Only those; OPEN means QUEUED and PENDING." }),
  asset: nameParameter.optional().meta({ description: "Only those for this asset." }),
  after: timedCursor,
  limit: pageLimit,
});

export const requestRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/requests",
    who,
    operationId: "operatorRequests",
    summary: "Requests of the transfer agent's callers",
    description: "Neither investors nor their wallets are named.",
    query: requestsQuery,
    answer: json("OperatorRequests", operatorRequestsAnswer, "A page."),
    handle: async ({ query }) => {
      const rows = await requestOverviews(db, { ...query, limit: query.limit + 1 });
      return pageOf(rows, query.limit, itemOf);
    },
  }),
  route({
    method: "GET",
    path: "/operator/requests/:id",
    who,
    operationId: "operatorRequest",
    summary: "One request, with its steps",
    params: { id: "`requestId`." },
    answer: json("OperatorRequest", operatorRequestAnswer, "The request."),
    refusals: [404, 410],
    handle: async ({ params }) => {
      const id = z.uuid().safeParse(params.id).data;
      const [found] = id === undefined ? [] : await requestOverviews(db, { id, limit: 1 });
      if (found === undefined) {
        const gone = id !== undefined && (await wasRequestPruned(db, id.toLowerCase()));
        throw gone
          ? new HttpError(410, REQUEST_REMOVED)
          : new HttpError(404, "there is no request of this id");
      }
      return { ...itemOf(found), history: [...(await requestHistory(db, found.id))] };
    },
  }),
];

/** Member by member, so that new columns are not shown by accident. */
const itemOf = (request: RequestOverview): RequestItem => ({
  id: request.id,
  asset: request.asset,
  kind: request.kind,
  status: z.enum(REQUEST_STATUSES).parse(request.status),
  reason: request.reason,
  message: request.message,
  txId: request.txId,
  waitsFor: request.waitsFor,
  createdAt: request.createdAt,
  updatedAt: request.updatedAt,
});
