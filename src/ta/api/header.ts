import type { FastifyRequest } from "fastify";

/** A header field, by its name in lower case; one that must not stand twice and does is none. */
export const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
};
