/** The operator's desk as a part of the server: lists of requests and deliveries, and acts on them. */
import type { Database, Db } from "../database/connect.ts";
import type { ApiDescription } from "../http/api-description.ts";
import { describeRoutes } from "../http/describe.ts";
import { type Mounting, mountRoutes } from "../http/desk-route.ts";
import { KEY_HEADER } from "../http/entrance.ts";
import type { Part } from "../http/part.ts";
import { actRoutes } from "./acts.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { receiverRoutes } from "./receivers.ts";
import { requestRoutes } from "./requests.ts";
import { summaryRoutes } from "./summary.ts";

export type OperatorSettings = Mounting & {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  /** For what operators do. */
  readonly database: Database;
};

const TAG = {
  name: "Operators",
  description: `Requests and deliveries of everybody, without personal data. Keys of the kind operator alone open it, in ${KEY_HEADER}.`,
};

/** The part, and what it adds to `/openapi.json`. */
export const operatorPart = (
  settings: OperatorSettings,
): { readonly part: Part; readonly description: ApiDescription } => {
  const { db, database } = settings;
  const routes = [
    ...requestRoutes(db),
    ...deliveryRoutes(db),
    ...receiverRoutes(db),
    ...summaryRoutes(db),
    ...actRoutes({ db, database }),
  ];
  return {
    part: {
      name: "operator",
      paths: [
        {
          path: "/operator/summary",
          about: "requests and deliveries, for operators: GET with a key in X-API-Key",
        },
      ],
      register: (app) => mountRoutes(app, settings, routes),
    },
    description: describeRoutes(TAG, routes),
  };
};
