/** Bounds the memory that bodies under way take together. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "../http/http-error.ts";

/** Bodies of this size are not worth counting. */
const SMALL_BYTES = 64 * 1024;

/**
 * Reserves room for a request's body until its connection is done with it; a body without
 * `Content-Length` counts as the largest one.
 */
export const bodyRoom = (settings: { readonly totalBytes: number; readonly bodyBytes: number }) => {
  let taken = 0;
  /** @throws HttpError 503 while there is no room */
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const length = Number(request.headers["content-length"] ?? settings.bodyBytes);
    // One that is too large is refused by its length, before it takes any room.
    if (length <= SMALL_BYTES || length > settings.bodyBytes) return;
    if (taken + length > settings.totalBytes) {
      throw new HttpError(503, "too many large requests at once; try again in a few seconds", {
        "retry-after": "3",
      });
    }
    taken += length;
    reply.raw.once("close", () => {
      taken -= length;
    });
  };
};
