import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import type { RefusalOf } from "./refusal.ts";
import type { Reply, Route, Visit } from "./route.ts";

export type App = FastifyInstance;

/**
 * The part's entry in the document besides its routes. Names of schemas are unique over all parts.
 */
export type PartDescription = {
  readonly tag: { readonly name: string; readonly description: string };
  /** Schema of its errors; `Error` by default. */
  readonly error?: { readonly name: string; readonly schema: z.ZodType };
  readonly webhooks?: Readonly<Record<string, object>>;
  /** Schemas that `webhooks` refer to. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
};

export type Part = {
  readonly name: "graphql" | "rest" | "ta" | "web" | "roots" | "page" | "operator" | "docs";
  /** Its lines on `/`. */
  readonly paths: readonly { readonly path: string; readonly about: string }[];
  readonly routes?: readonly Route[];
  /**
   * How bodies of its routes arrive; `unread` leaves them to `RequestBody.read`. JSON by default.
   */
  readonly bodies?: "json" | "text" | "unread";
  /** The form of its errors; the common error body by default. */
  readonly refusalOf?: RefusalOf;
  /** Its entry in `/openapi.json`; absent if all its routes are hidden. */
  readonly described?: PartDescription;
  /** Answers `/` for callers that take HTML; others get the list of paths. */
  home?(visit: Visit): Promise<Reply | undefined>;
  /** Adds hooks to this part only; its paths are in `routes`. */
  register?(app: App): void | Promise<void>;
};
