/** What the page reads besides GraphQL, as a part of the server. */
import type { Db } from "../database/connect.ts";
import type { ApiDescription } from "../http/api-description.ts";
import { describeRoutes } from "../http/describe.ts";
import { type Mounting, mountRoutes } from "../http/desk-route.ts";
import { KEY_HEADER } from "../http/entrance.ts";
import type { Part } from "../http/part.ts";
import { type ExportSettings, exportsDescribed, mountExports } from "./exports.ts";
import { type PageSettings, pageRoutes } from "./page-settings.ts";
import { type ProofSettings, proofRoutes } from "./proofs.ts";
import { type TourSettings, tourRoutes } from "./tour.ts";

export type PageApiSettings = Mounting & {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly page: Omit<PageSettings, "db">;
  readonly exports: ExportSettings;
  readonly proofs: Omit<ProofSettings, "db">;
  /** Absent where there is no demo, or its requests are not served here. */
  readonly tour?: Omit<TourSettings, "db"> | undefined;
};

const TAG = {
  name: "Page",
  description: `What the page asks besides GraphQL. Keys of the kinds graphql and operator open it, in ${KEY_HEADER}.`,
};

/** The part, and what it adds to `/openapi.json`. */
export const pageApiPart = (
  settings: PageApiSettings,
): { readonly part: Part; readonly description: ApiDescription } => {
  const { db, tour } = settings;
  const routes = [
    ...pageRoutes({ ...settings.page, db }),
    ...proofRoutes({ ...settings.proofs, db }),
  ];
  return {
    part: {
      name: "page",
      paths: [
        { path: "/page/settings", about: "what the page is about" },
        { path: "/session", about: "what kind of key this is: GET with a key in X-API-Key" },
        { path: "/exports/cap-table", about: "cap tables as files: GET with coinType and a key" },
        { path: "/exports/statement", about: "signed statements of holders: the same" },
        { path: "/proofs/{checkpoint}", about: "what proves a checkpoint: GET with a key" },
      ],
      register: (app) => {
        mountRoutes(app, settings, routes);
        mountExports(app, settings.entrance, settings.exports);
        if (tour !== undefined) mountRoutes(app, settings, tourRoutes(app, { ...tour, db }));
      },
    },
    description: describeRoutes(TAG, routes, exportsDescribed),
  };
};
