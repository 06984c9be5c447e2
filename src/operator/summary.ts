/** `GET /operator/summary`: whether anything wants an operator. */
import { z } from "zod";
import { deliveryCounts, endpointOverviews } from "../callbacks/overview.ts";
import type { Db } from "../database/connect.ts";
import { NOTHING, type Route, route } from "../http/desk-route.ts";
import { requestCounts } from "../ta/requests/overview.ts";
import { MOST_COUNTED, operatorSummaryAnswer } from "./answers.ts";
import { time } from "./cursor.ts";
import { stateOf } from "./receivers.ts";

/** Receivers looked at: deployments have a few. */
const MOST_RECEIVERS = 1_000;

const DAY_MS = 24 * 60 * 60 * 1_000;

const summaryQuery = z.strictObject({
  since: time.optional().meta({ description: "ISO 8601; a day ago unless given." }),
});

export const summaryRoutes = (db: Db): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/summary",
    access: "operator",
    operationId: "operatorSummary",
    summary: "What failed, and what is open",
    query: summaryQuery,
    body: NOTHING,
    schema: operatorSummaryAnswer,
    answer: { statusCode: 200, name: "OperatorSummary", description: "The counts." },
    handle: async ({ query }) => {
      const since = query.since ?? new Date(Date.now() - DAY_MS);
      const [requests, deliveries, endpoints] = await Promise.all([
        requestCounts(db, since, MOST_COUNTED),
        deliveryCounts(db, since, MOST_COUNTED),
        endpointOverviews(db, { limit: MOST_RECEIVERS }),
      ]);
      const states = endpoints.map((one) => stateOf(one).state);
      const inState = (state: string) => states.filter((one) => one === state).length;
      return {
        since: since.toISOString(),
        requests,
        deliveries,
        receivers: {
          open: inState("open"),
          failing: inState("failing"),
          disabled: inState("disabled"),
          withdrawn: inState("withdrawn"),
        },
      };
    },
  }),
];
