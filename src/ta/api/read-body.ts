/** Reads a request's body, bounded in size and slowness. */
import type { Readable } from "node:stream";
import { HttpError } from "../../http/http-error.ts";

/** A body must end, or deliver `bytes`, within every `everyMs`. */
export type Pace = { readonly bytes: number; readonly everyMs: number };

/** Some 0.4 Mbit/s: senders of large files are faster. */
export const BODY_PACE: Pace = { bytes: 512 * 1024, everyMs: 10_000 };

type BodyBounds = {
  /** `Content-Length`, if given: too large a body is refused unread. */
  readonly announced: string | undefined;
  readonly mostBytes: number;
  readonly pace: Pace;
  /** Called after each chunk with the bytes so far; false: no room. */
  readonly grow: (toBytes: number) => boolean;
};

/**
 * Stops reading on refusal; the connection stays open.
 * @throws HttpError 413 over the limit, 503 without room, 408 when too slow, 400 when it ends early
 */
export const readBody = (
  payload: Readable,
  { announced, mostBytes, pace, grow }: BodyBounds,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const tooLarge = () =>
      new HttpError(413, `the body is larger than the limit of ${mostBytes} bytes`);
    if (Number(announced ?? 0) > mostBytes) return reject(tooLarge());
    const pieces: Buffer[] = [];
    let bytes = 0;
    let before = 0;

    const settle = () => {
      clearInterval(watch);
      payload.off("data", take).off("end", end).off("close", gone);
    };
    const refuse = (error: HttpError) => {
      settle();
      reject(error);
    };
    const take = (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > mostBytes) return refuse(tooLarge());
      if (!grow(bytes)) return refuse(noRoom());
      pieces.push(piece);
    };
    const end = () => {
      settle();
      resolve(Buffer.concat(pieces, bytes));
    };
    const gone = () => refuse(new HttpError(400, "the request ended before its body"));
    const watch = setInterval(() => {
      if (bytes - before < pace.bytes) refuse(tooSlow(pace));
      before = bytes;
    }, pace.everyMs);
    if (payload.destroyed) return gone();
    payload.on("data", take).on("end", end).on("close", gone);
    // An aborted body emits an error before `close`, which is handled above.
    payload.on("error", () => undefined);
  });

const noRoom = () =>
  new HttpError(503, "too many large requests at once; try again in a few seconds", {
    "retry-after": "3",
  });

const tooSlow = ({ bytes, everyMs }: Pace) =>
  new HttpError(
    408,
    `the body came too slowly: it must end, or bring ${bytes} bytes, within every ${everyMs / 1000} s`,
    { connection: "close" },
  );
