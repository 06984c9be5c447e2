/**
 * Large texts that stay the same while the process runs, such as the scripts of pages: bytes that are
 * made once, in every encoding, and lent to each answer.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { parentPort } from "node:worker_threads";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createUnsent, noRoomToSend, type Unsent } from "./unsent.ts";

/** What `content-encoding` says of the bytes. */
type Encoding = "identity" | "gzip" | "br";

export type LargeText = {
  readonly bytes: Readonly<Record<Encoding, Buffer>>;
  readonly etag: string;
};

/** Quality 5 of 11: a third of a second for 9 MB, and a sixth smaller than gzip makes it. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** Compresses a text, once. The encodings are made one after the other: each takes memory of its own. */
export const largeText = async (identity: Buffer): Promise<LargeText> => {
  const zipped = await promisify(gzip)(identity);
  const br = await promisify(brotliCompress)(identity, BROTLI);
  // Weak: the same for all encodings.
  const etag = `W/"${createHash("sha256").update(identity).digest("base64url")}"`;
  return { bytes: { identity, gzip: zipped, br }, etag };
};

/**
 * Hands a page over to the thread that asked for it, without copying its large texts.
 * @param texts those that stand in the page
 */
export const handOver = (page: object, texts: readonly LargeText[]): void => {
  const buffers = texts.flatMap((text) => Object.values(text.bytes).map(({ buffer }) => buffer));
  parentPort?.postMessage(
    page,
    buffers.filter((buffer) => buffer instanceof ArrayBuffer),
  );
};

const MIB = 1024 * 1024;

/** The account of pages: the same bytes for all, so what they take is room in connections. */
export const pagesUnsent = (onFull?: () => void): Unsent =>
  createUnsent({ totalBytes: 96 * MIB, nameBytes: 32 * MIB, onFull });

/**
 * The body to answer with, its header fields set: compressed for who takes it, and nothing but 304 for
 * who has it already. Browsers ask every time, so that none shows the page of an older version.
 * @throws HttpError (503) while too many of its bytes are unsent, in all or to the caller's address
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
  const told = reply.getHeader("vary");
  const vary = told === undefined ? "accept-encoding" : `${told}, accept-encoding`;
  reply.headers({ "cache-control": "no-cache", etag, vary });
  if (known) {
    reply.status(304);
    return "";
  }
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return body;
};

/** The smallest encoding that the caller takes; `q=0` refuses one. */
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
