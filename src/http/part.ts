import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Direct } from "./direct.ts";

/** The server as parts see it. */
export type App = FastifyInstance;

/**
 * One of the interfaces, ready to be mounted. Hooks, body parsers and the error handler that
 * `register` adds hold for this part alone.
 */
export type Part = {
  readonly name: "graphql" | "rest" | "ta" | "web" | "roots" | "page" | "operator";
  /** What `/` says about it. */
  readonly paths: readonly { readonly path: string; readonly about: string }[];
  /** Paths that it also answers the short way. */
  readonly direct?: readonly Direct[];
  /** Answers `/` for whoever takes HTML; others are told what is served here. */
  home?(request: FastifyRequest, reply: FastifyReply): unknown;
  register(app: App): void | Promise<void>;
};
