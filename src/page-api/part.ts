/** The page's routes besides GraphQL. */
import type { Db } from "../database/connect.ts";
import type { App, Part } from "../http/part.ts";
import type { Who } from "../http/route.ts";
import { KEY_HEADER } from "../http/who.ts";
import { type ExportSettings, exportRoutes, removeOldArchives } from "./exports.ts";
import { type PageSettings, pageRoutes, type Reader } from "./page-settings.ts";
import { type ProofSettings, proofRoutes } from "./proofs.ts";
import { statusHistoryRoute } from "./status-history.ts";
import { type TourSettings, tourRoutes } from "./tour.ts";

export type PageApiSettings = {
  readonly reader: Who<Reader>;
  readonly open: Who<undefined>;
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly page: Omit<PageSettings, "db" | "open" | "reader">;
  readonly exports: Omit<ExportSettings, "reader">;
  readonly proofs: Omit<ProofSettings, "reader">;
  /** Absent without a demo, or where its requests are not served. */
  readonly tour?: Omit<TourSettings, "db" | "reader" | "send"> | undefined;
};

export const pageApiPart = ({ reader, open, db, tour, ...settings }: PageApiSettings): Part => {
  const server = Promise.withResolvers<App>();
  return {
    name: "page",
    paths: [
      { path: "/page/settings", about: "what the page is about" },
      { path: "/session", about: `what kind of key this is: GET with a key in ${KEY_HEADER}` },
      { path: "/status-history", about: "lag and rate of the last 24 hours: GET with a key" },
      { path: "/exports/cap-table", about: "cap tables as files: GET with coinType and a key" },
      { path: "/exports/statement", about: "signed statements of holders: the same" },
      { path: "/proofs/{checkpoint}", about: "what proves a checkpoint: GET with a key" },
    ],
    register: (app) => {
      server.resolve(app);
      void removeOldArchives(app.log);
    },
    routes: [
      statusHistoryRoute(db, reader),
      ...pageRoutes({ ...settings.page, db, open, reader }),
      ...proofRoutes({ ...settings.proofs, reader }),
      ...exportRoutes({ ...settings.exports, reader }),
      ...(tour === undefined
        ? []
        : tourRoutes({
            ...tour,
            db,
            reader,
            send: async (request) => (await server.promise).inject(request),
          })),
    ],
    described: {
      tag: {
        name: "Page",
        description: `What the page asks besides GraphQL. Keys of the kinds graphql and operator open it, in ${KEY_HEADER}.`,
      },
    },
  };
};
