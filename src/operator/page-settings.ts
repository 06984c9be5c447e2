/** `GET /page/settings` and `GET /session`: what the page has to know before, and once, somebody signs in. */
import { z } from "zod";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import { readMeta } from "../projections/meta.ts";
import { type ExplorerSettings, explorerPages, networkOf } from "./explorer.ts";
import { NOTHING, type Route, route } from "./route.ts";
import { isFromThisMachine } from "./this-machine.ts";

const page = (placeholder: string) =>
  z.string().nullable().describe(`Address of a page, with {${placeholder}} in it.`);

export const pageSettingsAnswer = z.object({
  version: z.string(),
  chain: z.string().nullable().describe("Digest of the chain's first checkpoint, base58."),
  network: z.enum(["mainnet", "testnet", "devnet", "demo"]).nullable(),
  explorer: z
    .object({
      transaction: page("digest"),
      account: page("address"),
      object: page("objectId"),
      checkpoint: page("checkpoint"),
    })
    .nullable(),
  demo: z
    .object({
      key: z.string().describe("A key of the kind graphql."),
      tour: z.boolean().describe("Whether `POST /demo/tour` can be asked."),
    })
    .nullable()
    .describe("Only on the demo ledger, and only for requests from the machine it runs on."),
});

export const sessionAnswer = z.object({
  keyId: z.string(),
  kind: z.enum(["graphql", "operator"]),
  label: z.string().nullable(),
});

/** What the demo ledger gives to whoever sits at this machine. */
export type DemoAccess = {
  /** A key of the kind graphql that opens; null when there is none to give out. */
  key(): Promise<string | null>;
  /** Whether a tour can be begun. */
  hasTour(): Promise<boolean>;
};

export type PageSettings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly version: string;
  readonly ledgerSource: string;
  readonly explorer: ExplorerSettings;
  /** Absent on any ledger but the demo's, and where a proxy is to be trusted. */
  readonly demo?: DemoAccess | undefined;
};

export const pageRoutes = (settings: PageSettings): readonly Route[] => {
  const { db, version, ledgerSource, explorer, demo } = settings;

  const demoFor = async (access: DemoAccess) => {
    const key = await access.key();
    return key === null ? null : { key, tour: await access.hasTour() };
  };

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
      handle: async ({ request }) => {
        const { chainId } = await readMeta(db);
        const network = networkOf(chainId, ledgerSource);
        const isHere = demo !== undefined && isFromThisMachine(request.raw);
        return {
          version,
          chain: chainId,
          network,
          explorer: explorerPages(network, explorer),
          demo: isHere ? await demoFor(demo) : null,
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
  ];
};
