/**
 * What a route of this API is: where it is served, what its caller has to show, what it does, and what
 * the description says of it. `mount.ts` serves the routes, `openapi.ts` describes them.
 */
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { SigningKeys } from "../../callbacks/signing-keys.ts";
import type { Database } from "../../database/connect.ts";
import type { Acceptance } from "../requests/accept.ts";
import type { Fingerprints } from "../requests/fingerprint.ts";
import type { Answer } from "../requests/replays.ts";
import type { AdmittedBody } from "./admission.ts";
import type { Caller } from "./caller.ts";

/** Sizes in bytes. */
export type TaBounds = {
  /** One body. */
  readonly bodyBytes: number;
  /** One decoded file. */
  readonly fileBytes: number;
};

/** What the routes work with. */
export type TaServices = {
  /** Accepts requests and redeliveries. */
  readonly database: Pick<Database, "sql" | "transaction" | "db">;
  /** Answers what is only read. */
  readonly read: Pick<Database, "db">;
  readonly accept: Acceptance;
  readonly fingerprints: Fingerprints;
  readonly signingKeys: Pick<SigningKeys, "publicKeys">;
  /** See `.env.example`. */
  readonly bounds: TaBounds;
  /** Its capitals followed by 00, as a tin, stand for none. */
  readonly platformName: string;
  readonly version: string;
  /** Whether log lines of requests name their traces; false unless given. */
  readonly isTraced?: boolean;
};

export type TaRequest = FastifyRequest<{ Params: Readonly<Record<string, string>> }>;

/** Makes, once, what answers a route's requests; `Shown` is what their callers have shown by then. */
type Handler<Shown extends readonly unknown[]> = (
  services: TaServices,
) => (request: TaRequest, ...shown: Shown) => Promise<Answer>;

type Described = {
  readonly method: "GET" | "POST";
  /** As Fastify writes it. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: (bounds: TaBounds) => string;
  /** Parameters of the path, by their names in `path`; `name` where the description has another one. */
  readonly params?: Readonly<
    Record<string, { readonly name?: string; readonly description: string }>
  >;
  readonly query?: z.ZodObject;
  /** HTTP statuses of refusals, beyond those that follow from `access`. */
  readonly refusals?: readonly number[];
};

/** A route that is served. Besides its own, a GET route also serves HEAD. */
export type ServedRoute = Described & {
  readonly answer: {
    readonly statusCode: number;
    readonly description: string;
    /** JSON Schema. */
    readonly schema: object;
  };
} & (
    | { readonly method: "GET"; readonly access: "open"; readonly handler: Handler<[]> }
    | {
        readonly method: "GET";
        /** The key alone, or also a signature over method, path and time. */
        readonly access: "key" | "signed";
        readonly handler: Handler<[caller: Caller]>;
      }
    | {
        readonly method: "POST";
        /** The key, and a signature that covers the body. */
        readonly access: "signed-body";
        readonly body: {
          /** JSON Schema. */
          readonly schema: object;
          readonly mostBytes: (bounds: TaBounds) => number;
          /** What the description says of the header field `Idempotency-Key`. */
          readonly idempotencyKey: string;
        };
        readonly handler: Handler<[caller: Caller, body: AdmittedBody]>;
      }
  );

/** A route of the former version: 410, by whatever method. */
export type FormerRoute = Described & {
  readonly access: "gone";
  /** What became of it. */
  readonly details: string;
};

export type TaRoute = ServedRoute | FormerRoute;

/** An answer of JSON that was read. */
export const found = (value: unknown): Answer => ({
  statusCode: 200,
  answer: JSON.stringify(value),
});
