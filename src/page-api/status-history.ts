/** `GET /status-history`: lag and rate of the last 24 hours. */
import type { Db } from "../database/connect.ts";
import { json, type Route, route, type Who } from "../http/route.ts";
import { statusPoints } from "../projections/status-history.ts";
import { statusHistoryAnswer } from "./answers.ts";
import type { Reader } from "./page-settings.ts";

export const statusHistoryRoute = (db: Db, who: Who<Reader>): Route =>
  route({
    method: "GET",
    path: "/status-history",
    who,
    operationId: "statusHistory",
    summary: "Lag of each pipeline and checkpoints a second, of the last 24 hours",
    answer: json("StatusHistory", statusHistoryAnswer, "A point a minute."),
    handle: async () => ({ points: [...(await statusPoints(db))] }),
  });
