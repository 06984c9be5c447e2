/** Large constant texts such as pages' scripts: encoded once and shared by all answers. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { parentPort } from "node:worker_threads";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createUnsent, noRoomToSend, type Unsent } from "./unsent.ts";

/** Values of `content-encoding`. */
type Encoding = "identity" | "gzip" | "br";

export type LargeText = {
  readonly bytes: Readonly<Record<Encoding, Buffer>>;
  readonly etag: string;
};

/** Quality 5 of 11: 0.3 s for 9 MB, and a sixth smaller than gzip. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** The encodings are made in sequence, to save memory. */
export const largeText = async (identity: Buffer): Promise<LargeText> => {
  const zipped = await promisify(gzip)(identity);
  const br = await promisify(brotliCompress)(identity, BROTLI);
  // Weak: shared by all encodings.
  const etag = `W/"${createHash("sha256").update(identity).digest("base64url")}"`;
  return { bytes: { identity, gzip: zipped, br }, etag };
};

/**
 * Sends a page to the parent thread without copying its large texts.
 * @param texts those within the page
 */
export const handOver = (page: object, texts: readonly LargeText[]): void => {
  const buffers = texts.flatMap((text) => Object.values(text.bytes).map(({ buffer }) => buffer));
  parentPort?.postMessage(
    page,
    buffers.filter((buffer) => buffer instanceof ArrayBuffer),
  );
};

const MIB = 1024 * 1024;

/** Bound of unsent pages: their bytes are shared, so it bounds socket buffers. */
export const pagesUnsent = (onFull?: () => void): Unsent =>
  createUnsent({ totalBytes: 96 * MIB, nameBytes: 32 * MIB, onFull });

/**
 * Sets the header fields and returns the body: compressed if accepted, 304 if unchanged. Browsers
 * revalidate every time, so that no page of an older version is shown.
 * @throws HttpError (503) while too many bytes are unsent, in all or to the caller's address
 */
export const largeBody = (
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag }: LargeText,
  unsent: Unsent,
): string | Buffer => {
  const encoding = encodingFor(request.headers["accept-encoding"] ?? "");
  const body = bytes[encoding];
  const known = request.headers["if-none-match"]?.includes(etag) ?? false;
  if (!known && request.method !== "HEAD" && !unsent.hold(request.ip, body.length, reply.raw)) {
    throw noRoomToSend();
  }
  const earlier = reply.getHeader("vary");
  const vary = earlier === undefined ? "accept-encoding" : `${earlier}, accept-encoding`;
  reply.headers({ "cache-control": "no-cache", etag, vary });
  if (known) {
    reply.status(304);
    return "";
  }
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return body;
};

/** The smallest accepted encoding; `q=0` refuses one. */
const encodingFor = (accepted: string): Encoding => {
  const takes = (encoding: Encoding) =>
    accepted
      .toLowerCase()
      .split(",")
      .some((each) => {
        const [name = "", ...parameters] = each.split(";").map((part) => part.trim());
        return name === encoding && !parameters.some((part) => /^q=0(\.0*)?$/.test(part));
      });
  if (takes("br")) return "br";
  return takes("gzip") ? "gzip" : "identity";
};
