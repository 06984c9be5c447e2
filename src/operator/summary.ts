/** `GET /operator/summary`: whether an operator is needed. */
import { z } from "zod";
import { deliveryCounts, endpointOverviews } from "../callbacks/overview.ts";
import type { Db } from "../database/connect.ts";
import type { Key } from "../http/keys.ts";
import { timeParameter } from "../http/parameters.ts";
import { json, type Route, route, type Who } from "../http/route.ts";
import { requestCounts } from "../ta/requests/overview.ts";
import { MOST_COUNTED, operatorSummaryAnswer } from "./answers.ts";
import { stateOf } from "./receivers.ts";

/** Upper bound; deployments have a few. */
const MOST_RECEIVERS = 1_000;

const DAY_MS = 24 * 60 * 60 * 1_000;

const summaryQuery = z.strictObject({
  since: timeParameter.optional().meta({ description: "ISO 8601; default: a day ago." }),
});

export const summaryRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/summary",
    who,
    operationId: "operatorSummary",
    summary: "Counts of failed and open requests and callbacks",
    query: summaryQuery,
    answer: json("OperatorSummary", operatorSummaryAnswer, "The counts."),
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
          paused: inState("paused"),
        },
      };
    },
  }),
];
