/**
 * `GET /page/settings`, `GET /session` and `POST /demo/session`: what the page has to know before, and once, somebody
 * signs in.
 */
import { z } from "zod";
import type { Db } from "../database/connect.ts";
import { NOTHING, type Route, route } from "../http/desk-route.ts";
import { HttpError } from "../http/http-error.ts";
import { readMeta } from "../projections/meta.ts";
import { lentSessionAnswer, pageSettingsAnswer, sessionAnswer } from "./answers.ts";
import { type ExplorerSettings, explorerPages, networkOf } from "./explorer.ts";

/** What the demo ledger lends to the browser that opens the link `start` printed. */
export type DemoAccess = {
  /** Uses up the token of the newest link: a key of the kind graphql that opens. Null for every other token. */
  lend(token: string): Promise<string | null>;
  /** Whether a tour can be begun. */
  hasTour(): Promise<boolean>;
};

export type PageSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly version: string;
  readonly ledgerSource: string;
  readonly explorer: ExplorerSettings;
  /** Absent on any ledger but the demo's. */
  readonly demo?: DemoAccess | undefined;
};

export const pageRoutes = (settings: PageSettings): readonly Route[] => {
  const { db, version, ledgerSource, explorer, demo } = settings;

  return [
    route({
      method: "GET",
      path: "/page/settings",
      access: "open",
      operationId: "pageSettings",
      summary: "What the page is about",
      query: NOTHING,
      body: NOTHING,
      schema: pageSettingsAnswer,
      answer: { statusCode: 200, name: "PageSettings", description: "The settings." },
      handle: async () => {
        const { chainId } = await readMeta(db);
        const network = networkOf(chainId, ledgerSource);
        return {
          version,
          chain: chainId,
          network,
          explorer: explorerPages(network, explorer),
          demo: demo === undefined ? null : { tour: await demo.hasTour() },
        };
      },
    }),
    route({
      method: "GET",
      path: "/session",
      access: "reader",
      operationId: "session",
      summary: "What kind of key this is",
      query: NOTHING,
      body: NOTHING,
      schema: sessionAnswer,
      answer: { statusCode: 200, name: "Session", description: "The key." },
      handle: async ({ key }) => {
        if (key === null || (key.kind !== "graphql" && key.kind !== "operator")) {
          throw new HttpError(401, "send a key of the kind graphql or operator");
        }
        return { keyId: key.id, kind: key.kind, label: key.label };
      },
    }),
    ...(demo === undefined ? [] : [lentSession(demo)]),
  ];
};

const lentSession = (demo: DemoAccess): Route =>
  route({
    method: "POST",
    path: "/demo/session",
    access: "open",
    operationId: "lentSession",
    summary: "Exchange the token of the demo's link for a read key, once",
    query: NOTHING,
    body: z.strictObject({ token: z.string().max(100) }),
    schema: lentSessionAnswer,
    answer: { statusCode: 200, name: "LentSession", description: "The key." },
    refusals: [403],
    handle: async ({ body: { token } }) => {
      const key = await demo.lend(token);
      if (key === null) {
        throw new HttpError(
          403,
          "this link was used, another was made since, or the key it lends was revoked; make another link: `holderbook demo link`",
        );
      }
      return { key };
    },
  });
