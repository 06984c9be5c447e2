/** The transfer agent API as a part of the server: its routes, what its callers are held to, its document. */
import type { Reads } from "../../database/readers.ts";
import { CALLBACK_KEYS } from "../../http/callback-keys.ts";
import { createGate, type GateSettings } from "../../http/edge/gate.ts";
import type { App, Part } from "../../http/part.ts";
import type { TaAsset } from "../requests/asset.ts";
import { admission } from "./admission.ts";
import { answerError } from "./answer-error.ts";
import { bodyRoom } from "./body-room.ts";
import { type Caller, callerLookup } from "./caller.ts";
import { mountRoutes } from "./mount.ts";
import { taApi } from "./openapi.ts";
import { BODY_PACE, type Pace } from "./read-body.ts";
import type { TaBounds, TaServices } from "./route.ts";

export type TaPartSettings = TaServices & {
  /** For keys, which are remembered: the same object for all that share what is remembered. */
  readonly keys: Reads;
  readonly assets: ReadonlyMap<string, TaAsset>;
  /** How often a key may ask, and an address without a good key or signature may try. */
  readonly limits: Pick<GateSettings<Caller>, "limit" | "attempts">;
  readonly bounds: TaBounds & {
    /** Bytes of bodies under way in this process, together. */
    readonly allBodiesBytes: number;
    /** How fast a body must come; `BODY_PACE` unless given. */
    readonly pace?: Pace;
  };
};

const DOCUMENT_PATH = "/openapi.json";

/** Header field of the caller's key, as messages name it. */
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
    // The body is read later, once its sender is known: see `Admission`.
    app.addContentTypeParser("application/json", (_request, _payload, done) => done(null));
    app.setErrorHandler(answerError);
    mountRoutes(app, settings, admitted);
  };

  return {
    name: "ta",
    paths: [
      {
        path: "/api/v1/investor/whitelist",
        about: `transfer agent: POST with a key in ${KEY_HEADER}`,
      },
      { path: CALLBACK_KEYS.path, about: CALLBACK_KEYS.about },
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
