/** Interface C as a part of the server: requests, their status, deliveries, and what anybody may see. */
import type { SigningKeys } from "../../callbacks/signing-keys.ts";
import type { Database } from "../../database/connect.ts";
import type { Reads } from "../../database/readers.ts";
import { createGate, type GateSettings } from "../../http/edge/gate.ts";
import { refuseOtherMethods } from "../../http/edge/other-methods.ts";
import type { App, Part } from "../../http/part.ts";
import type { Acceptance } from "../requests/accept.ts";
import type { TaAsset } from "../requests/asset.ts";
import type { Fingerprints } from "../requests/fingerprint.ts";
import { admission } from "./admission.ts";
import { answerError } from "./answer-error.ts";
import { type Caller, callerLookup } from "./authenticate.ts";
import { bodyRoom } from "./body-room.ts";
import { mountFormerPaths } from "./former-paths.ts";
import { mountDeliveries } from "./mount-deliveries.ts";
import { mountReads } from "./mount-reads.ts";
import { mountSubmissions } from "./mount-submissions.ts";
import { taApi } from "./openapi.ts";
import { BODY_PACE, type Pace } from "./read-body.ts";

export type TaPartSettings = {
  /** Accepts requests and redeliveries. */
  readonly database: Pick<Database, "sql" | "transaction" | "db">;
  /** For keys, which are remembered: the same object for all who remember together. */
  readonly keys: Reads;
  /** Answers what is only read. */
  readonly read: Pick<Database, "db">;
  readonly assets: ReadonlyMap<string, TaAsset>;
  readonly accept: Acceptance;
  readonly fingerprints: Fingerprints;
  readonly signingKeys: Pick<SigningKeys, "publicKeys">;
  /** How often a key may ask, and an address without a good key or signature may try. */
  readonly limits: Pick<GateSettings<Caller>, "limit" | "attempts">;
  /** See `.env.example`. */
  readonly bounds: TaBounds;
  /** Its capitals followed by 00, as a tin, stand for none. */
  readonly platformName: string;
  readonly version: string;
};

/** Sizes in bytes. */
export type TaBounds = {
  /** One body. */
  readonly bodyBytes: number;
  /** One decoded file. */
  readonly fileBytes: number;
  /** Bodies under way in this process, together. */
  readonly allBodiesBytes: number;
  /** How fast a body must come; `BODY_PACE` unless given. */
  readonly pace?: Pace;
};

/** Paths of the API and the one method of each; where it is GET, HEAD is served too. */
const METHODS = [
  ["/api/v1/investor/whitelist", "POST"],
  ["/api/v1/investor/kyc", "POST"],
  ["/api/v1/investor/whitelist_status/:wallet", "GET"],
  ["/api/v1/callback_pk", "GET"],
  ["/api/v1/health", "GET"],
  ["/api/v1/requests/:requestId", "GET"],
  ["/api/v1/callbacks", "GET"],
  ["/api/v1/callbacks/:id/redeliver", "POST"],
] as const;

const DOCUMENT_PATH = "/openapi.json";

/** What every request header of this API is called in messages. */
const KEY_HEADER = "X-Api-Key";

export const taPart = (settings: TaPartSettings): Part => {
  const { assets, keys, limits, bounds } = settings;
  const gate = createGate({
    ...limits,
    header: KEY_HEADER,
    verify: callerLookup(keys, assets),
  });
  const admitted = admission({
    gate,
    limits,
    room: bodyRoom(bounds.allBodiesBytes),
    pace: bounds.pace ?? BODY_PACE,
  });

  const mount = (app: App): void => {
    app.removeAllContentTypeParsers();
    // Not read here: whoever sent a body is known, and what was signed is decided, further on.
    app.addContentTypeParser("application/json", (_request, _payload, done) => done(null));
    app.setErrorHandler(answerError);
    mountSubmissions(app, settings, admitted);
    mountReads(app, settings, admitted);
    mountDeliveries(app, settings, admitted);
    mountFormerPaths(app);
    for (const [url, method] of METHODS) refuseOtherMethods(app, url, `use ${method}`);
  };

  return {
    name: "ta",
    paths: [
      {
        path: "/api/v1/investor/whitelist",
        about: `transfer agent: POST with a key in ${KEY_HEADER}`,
      },
      { path: "/api/v1/callback_pk", about: "public keys that callbacks are signed with" },
      { path: "/api/v1/health", about: "requests waiting" },
    ],
    register: async (app) => {
      await app.register(async (scope) => mount(scope));
      // Where the transfer events are served as well, their document describes this API too.
      if (app.hasRoute({ method: "GET", url: DOCUMENT_PATH })) return;
      const text = JSON.stringify({
        openapi: "3.1.1",
        info: { title: "Holderbook transfer agent", version: settings.version },
        servers: [{ url: "/" }],
        ...taApi(settings),
      });
      app.get(DOCUMENT_PATH, (_request, reply) =>
        reply.type("application/json; charset=utf-8").send(text),
      );
    },
  };
};
