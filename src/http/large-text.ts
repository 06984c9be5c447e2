/** Large constant texts such as pages' scripts: encoded once and shared by all answers. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { parentPort } from "node:worker_threads";
import { brotliCompress, constants, gzip } from "node:zlib";
import { hasHungUp } from "./hung-up.ts";
import type { Fields, Reply, Visit } from "./route.ts";
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
 * A reply with a large text: compressed if accepted, 304 if unchanged. Browsers revalidate every
 * time, so that no page of an older version is shown. Undefined if the caller is gone.
 * @param fields further header fields
 * @throws HttpError (503) while too many bytes are unsent, in all or to the caller's address
 */
export const largeReply = (
  { raw, response, remoteAddress }: Visit,
  { bytes, etag }: LargeText,
  unsent: Unsent,
  contentType: string,
  fields: Fields = {},
): Reply | undefined => {
  if (hasHungUp(response)) return undefined;
  const encoding = encodingFor(raw.headers["accept-encoding"] ?? "");
  const body = bytes[encoding];
  // CORS sets the field before.
  const vary = response.hasHeader("vary")
    ? `${response.getHeader("vary")}, accept-encoding`
    : "accept-encoding";
  const headers = { "cache-control": "no-cache", etag, vary, ...fields };
  if (raw.headers["if-none-match"]?.includes(etag)) {
    return { status: 304, headers, contentType, body: "" };
  }
  if (raw.method !== "HEAD" && !unsent.hold(remoteAddress, body.length, response)) {
    throw noRoomToSend();
  }
  const encoded = encoding === "identity" ? {} : { "content-encoding": encoding };
  return { status: 200, headers: { ...headers, ...encoded }, contentType, body };
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
