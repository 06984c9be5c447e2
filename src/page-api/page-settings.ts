/**
 * `GET /page/settings`, `GET /session`, `POST /demo/session` and `POST /demo/operator`: the page's
 * settings and sign-in.
 */
import { z } from "zod";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import { json, jsonBody, NO_BODY, type Route, route, type Who } from "../http/route.ts";
import type { KeyOf } from "../http/who.ts";
import { readMeta } from "../projections/meta.ts";
import {
  lentOperatorAnswer,
  lentSessionAnswer,
  pageSettingsAnswer,
  sessionAnswer,
} from "./answers.ts";
import { type ExplorerSettings, explorerPages, networkOf } from "./explorer.ts";

/** A key that may read what the page shows. */
export type Reader = KeyOf<"graphql" | "operator">;

/** The demo's access for the browser that opens the link printed by `start`. */
export type DemoAccess = {
  /** Consumes the newest link's token and returns a valid `graphql` key; null for other tokens. */
  lend(token: string): Promise<string | null>;
  /** A valid `operator` key for a caller with one of the demo's own keys; null for others. */
  lendOperator(caller: Pick<Reader, "id">): Promise<string | null>;
  /** Whether an operator key can be lent. */
  hasOperator(): Promise<boolean>;
  /** Whether tours are available. */
  hasTour(): Promise<boolean>;
};

export type PageSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly open: Who<undefined>;
  readonly reader: Who<Reader>;
  readonly version: string;
  readonly ledgerSource: string;
  readonly explorer: ExplorerSettings;
  /** On the demo ledger only. */
  readonly demo?: DemoAccess | undefined;
};

export const pageRoutes = (settings: PageSettings): readonly Route[] => {
  const { db, open, reader, version, ledgerSource, explorer, demo } = settings;

  return [
    route({
      method: "GET",
      path: "/page/settings",
      who: open,
      operationId: "pageSettings",
      summary: "Settings of the page",
      answer: json("PageSettings", pageSettingsAnswer, "The settings."),
      handle: async () => {
        const { chainId } = await readMeta(db);
        const network = networkOf(chainId, ledgerSource);
        return {
          version,
          chain: chainId,
          network,
          explorer: explorerPages(network, explorer),
          demo:
            demo === undefined
              ? null
              : { tour: await demo.hasTour(), operator: await demo.hasOperator() },
        };
      },
    }),
    route({
      method: "GET",
      path: "/session",
      who: reader,
      operationId: "session",
      summary: "What kind of key this is",
      answer: json("Session", sessionAnswer, "The key."),
      handle: async ({ caller: { id: keyId, kind, label } }) => ({ keyId, kind, label }),
    }),
    ...(demo === undefined ? [] : [lentSession(open, demo), lentOperator(reader, demo)]),
  ];
};

const lentSession = (open: Who<undefined>, demo: DemoAccess): Route =>
  route({
    method: "POST",
    path: "/demo/session",
    who: open,
    operationId: "lentSession",
    summary: "Exchange the token of the demo's link for a read key, once",
    body: jsonBody(z.strictObject({ token: z.string().max(100) })),
    answer: json("LentSession", lentSessionAnswer, "The key."),
    refusals: [403],
    handle: async ({ body: { token } }) => {
      const key = await demo.lend(token);
      if (key === null) {
        throw new HttpError(
          403,
          "this link was used or replaced by a newer one, or its key was revoked; make another one: `holderbook demo link`",
        );
      }
      return { key };
    },
  });

const lentOperator = (reader: Who<Reader>, demo: DemoAccess): Route =>
  route({
    method: "POST",
    path: "/demo/operator",
    who: reader,
    operationId: "lentOperator",
    summary: "Get the demo's operator key, with the read key that the demo's link lent",
    body: NO_BODY,
    answer: json("LentOperator", lentOperatorAnswer, "The key."),
    handle: async ({ caller }) => {
      const key = await demo.lendOperator(caller);
      if (key === null) {
        throw new HttpError(
          403,
          "the demo lends its operator key to its own read key only, and not after it was revoked; open another link: `holderbook demo link`",
        );
      }
      return { key };
    },
  });
