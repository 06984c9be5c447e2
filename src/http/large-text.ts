/** Large texts that stay the same while the process runs, such as the scripts of pages. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

export type LargeText = {
  readonly text: string;
  readonly gzipped: Buffer;
  readonly etag: string;
};

/** Compresses a text, once. */
export const largeText = async (text: string): Promise<LargeText> => ({
  text,
  gzipped: await promisify(gzip)(text),
  // Weak: the same for both encodings.
  etag: `W/"${createHash("sha256").update(text).digest("base64url")}"`,
});

/**
 * The body to answer with, its header fields set: compressed for who takes it, and nothing but 304 for
 * who has it already. Browsers ask every time, so that none shows the page of an older version.
 */
export const largeBody = (
  request: FastifyRequest,
  reply: FastifyReply,
  { text, gzipped, etag }: LargeText,
): string | Buffer => {
  reply.headers({ "cache-control": "no-cache", etag, vary: "accept-encoding" });
  if (request.headers["if-none-match"]?.includes(etag)) {
    reply.status(304);
    return "";
  }
  if (!/\bgzip\b/.test(request.headers["accept-encoding"] ?? "")) return text;
  reply.header("content-encoding", "gzip");
  return gzipped;
};
