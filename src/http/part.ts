import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { RefusalOf } from "./refusal.ts";
import type { Route } from "./route.ts";

/** The server as parts see it. */
export type App = FastifyInstance;

/** What a part adds to the document beside its routes. Names of schemas are unique over all parts. */
export type PartDescription = {
  /** The heading of its operations and webhooks. */
  readonly tag: { readonly name: string; readonly description: string };
  /** Schema of its errors; `Error` unless given. */
  readonly error?: { readonly name: string; readonly schema: z.ZodType };
  readonly paths?: Readonly<Record<string, object>>;
  readonly webhooks?: Readonly<Record<string, object>>;
  /** Schemas that `paths` and `webhooks` refer to. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
};

/** One of the interfaces, ready to be mounted. */
export type Part = {
  readonly name: "graphql" | "rest" | "ta" | "web" | "roots" | "page" | "operator" | "docs";
  /** What `/` says about it. */
  readonly paths: readonly { readonly path: string; readonly about: string }[];
  readonly routes?: readonly Route[];
  /** How the bodies of its routes arrive: parsed JSON unless given, its text, or left to `RequestBody.read`. */
  readonly bodies?: "json" | "text" | "unread";
  /** The form of its errors; the common error body unless given. */
  readonly refusalOf?: RefusalOf;
  /** What `/openapi.json` says of it beside its routes; they are left out of it unless given. */
  readonly described?: PartDescription;
  /** Answers `/` for callers that take HTML; others get a list of what is served. */
  home?(request: FastifyRequest, reply: FastifyReply): unknown;
  /** Mounts what is no route, such as pages. Hooks that it adds hold for this part alone. */
  register?(app: App): void | Promise<void>;
};
