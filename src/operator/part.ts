/** What the page asks besides GraphQL, as parts of the server. */
import type { Database, Db } from "../database/connect.ts";
import type { ApiDescription } from "../http/api-description.ts";
import type { Admission } from "../http/edge/admission.ts";
import type { Part } from "../http/part.ts";
import { actRoutes } from "./acts.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { describeRoutes } from "./describe.ts";
import { createEntrance, type EntranceSettings } from "./entrance.ts";
import { type ExportSettings, exportsDescribed, mountExports } from "./exports.ts";
import { type PageSettings, pageRoutes } from "./page-settings.ts";
import { type ProofSettings, proofRoutes } from "./proofs.ts";
import { receiverRoutes } from "./receivers.ts";
import { requestRoutes } from "./requests.ts";
import { mountRoutes } from "./route.ts";
import { summaryRoutes } from "./summary.ts";
import { type TourSettings, tourRoutes } from "./tour.ts";

export type OperatorSettings = EntranceSettings & {
  readonly admission: Admission;
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  /** For what operators do. */
  readonly database: Database;
  readonly page: Omit<PageSettings, "db">;
  readonly exports: ExportSettings;
  readonly proofs: Omit<ProofSettings, "db">;
  /** Absent where there is no demo, or its requests are not served here. */
  readonly tour?: Omit<TourSettings, "db"> | undefined;
};

/** Two parts, `page` and `operator`, and what they add to `/openapi.json`. */
export const operatorParts = (
  settings: OperatorSettings,
): { readonly parts: readonly Part[]; readonly description: ApiDescription } => {
  const { admission, db, database } = settings;
  const entrance = createEntrance(settings);
  const mounting = { entrance, admission };
  const page = [
    ...pageRoutes({ ...settings.page, db }),
    ...proofRoutes({ ...settings.proofs, db }),
  ];
  const operator = [
    ...requestRoutes(db),
    ...deliveryRoutes(db),
    ...receiverRoutes(db),
    ...summaryRoutes(db),
    ...actRoutes({ db, database }),
  ];
  return {
    parts: [
      {
        name: "page",
        paths: [
          { path: "/page/settings", about: "what the page is about" },
          { path: "/session", about: "what kind of key this is: GET with a key in X-API-Key" },
          { path: "/exports/cap-table", about: "cap tables as files: GET with coinType and a key" },
          { path: "/exports/statement", about: "signed statements of holders: the same" },
          { path: "/proofs/{checkpoint}", about: "what proves a checkpoint: GET with a key" },
        ],
        register: (app) => {
          mountRoutes(app, mounting, page);
          mountExports(app, entrance, settings.exports);
          const { tour } = settings;
          if (tour !== undefined) mountRoutes(app, mounting, tourRoutes(app, { ...tour, db }));
        },
      },
      {
        name: "operator",
        paths: [
          {
            path: "/operator/summary",
            about: "requests and deliveries, for operators: GET with a key in X-API-Key",
          },
        ],
        register: (app) => mountRoutes(app, mounting, operator),
      },
    ],
    description: describeRoutes([...page, ...operator], exportsDescribed),
  };
};
