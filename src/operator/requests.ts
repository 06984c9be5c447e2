/** `/operator/requests`: all requests to the transfer agent with their state. */
import { z } from "zod";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { limitParameter } from "../http/parameters.ts";
import { json, jsonBody, type Route, route, type Who } from "../http/route.ts";
import { walletForms } from "../ta/requests/find-requests.ts";
import {
  type RequestOverview,
  requestFiguresByDay,
  requestHistory,
  requestOverviews,
} from "../ta/requests/overview.ts";
import { REQUEST_REMOVED, wasRequestPruned } from "../ta/requests/pruning.ts";
import {
  MOST_COUNTED,
  operatorFiguresAnswer,
  operatorRequestAnswer,
  operatorRequestsAnswer,
  REQUEST_STATUSES,
  type RequestItem,
} from "./answers.ts";
import { nameParameter, pageLimit, pageLimitInBody, pageOf, timedCursor } from "./cursor.ts";

const NO_WALLET = "must be a wallet: 0x and hex digits";

const requestsQuery = z.strictObject({
  status: z
    .enum([...REQUEST_STATUSES, "OPEN"], `must be one of ${REQUEST_STATUSES.join(", ")}, OPEN`)
    .optional()
    .meta({ description: "Only those; OPEN means QUEUED and PENDING." }),
  asset: nameParameter.optional().meta({ description: "Only those for this asset." }),
  wallet: z
    .string()
    .max(66, NO_WALLET)
    .transform((text, context) => {
      const forms = walletForms(text);
      if (forms.length > 0) return forms;
      context.addIssue(NO_WALLET);
      return z.NEVER;
    })
    .optional()
    .meta({ description: "Only those for this wallet; the answer does not name it." }),
  investor: nameParameter
    .optional()
    .meta({ description: "Only those of this investor id; the answer does not name it." }),
  id: z
    .uuid("must be the id of a request")
    .optional()
    .meta({ description: "Only this one; none if it does not exist." }),
  after: timedCursor,
  limit: pageLimit,
});

const requestsBody = requestsQuery.extend({ limit: pageLimitInBody });

const PAGE = json("OperatorRequests", operatorRequestsAnswer, "A page.");

const pageOfRequests = async (db: Db, asked: z.output<typeof requestsBody>) => {
  const { wallet: wallets, investor: investorId, ...page } = asked;
  const search = { wallets, investorId };
  const rows = await requestOverviews(db, { ...page, ...search, limit: page.limit + 1 });
  return pageOf(rows, page.limit, requestItemOf);
};

const figuresQuery = z.strictObject({
  days: limitParameter({ most: 92, usual: 30 }).meta({
    description: "Days in UTC, 1 to 92, today included.",
  }),
});

export const requestRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/requests",
    who,
    operationId: "operatorRequests",
    summary: "Requests of the transfer agent's callers",
    description:
      "Neither investors nor their wallets are named. Those of a wallet or an investor are found through an index. Access logs may keep `investor` and `wallet`: `POST /operator/requests/search` takes the same in a body.",
    query: requestsQuery,
    answer: PAGE,
    handle: ({ query }) => pageOfRequests(db, query),
  }),
  route({
    method: "POST",
    path: "/operator/requests/search",
    isRead: true,
    who,
    operationId: "operatorRequestsByBody",
    summary: "The same list, asked for in a body, which access logs do not keep",
    description: "Neither investors nor their wallets are named.",
    body: jsonBody(requestsBody),
    answer: PAGE,
    handle: ({ body }) => pageOfRequests(db, body),
  }),
  route({
    method: "GET",
    path: "/operator/requests/figures",
    who,
    operationId: "operatorRequestFigures",
    summary: "Requests that ended, by day and outcome",
    query: figuresQuery,
    answer: json("OperatorRequestFigures", operatorFiguresAnswer, "The counts."),
    handle: async ({ query: { days } }) => ({
      days: [...(await requestFiguresByDay(db, days, MOST_COUNTED))],
    }),
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
      return { ...requestItemOf(found), history: [...(await requestHistory(db, found.id))] };
    },
  }),
];

/** Member by member, so that new columns are not shown by accident. */
export const requestItemOf = (request: RequestOverview): RequestItem => ({
  id: request.id,
  asset: request.asset,
  kind: request.kind,
  status: z.enum(REQUEST_STATUSES).parse(request.status),
  reason: request.reason,
  outcome: request.outcome,
  message: request.message,
  txId: request.txId,
  waitsFor: request.waitsFor,
  createdAt: request.createdAt,
  updatedAt: request.updatedAt,
});
