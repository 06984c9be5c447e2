/** Sends the events of a subscription over its connection, no faster than they are taken. */
import type { ServerResponse } from "node:http";
import { errorOf } from "../waiting/remedy.ts";
import { type ErrorCode, errorsBody } from "./errors.ts";
import { StreamEnd } from "./open-streams.ts";
import type { RequestScope } from "./request.ts";
import { COMPLETE_EVENT, KEEP_ALIVE, nextEvent } from "./sse.ts";
import type { Frame } from "./subscription.ts";

export type SendStream = {
  readonly frames: AsyncIterable<Frame>;
  /** Where they begin, as far as that is known. */
  readonly at: string | undefined;
  readonly response: ServerResponse;
  readonly scope: RequestScope;
  /** Aborts when the caller hangs up, or with a StreamEnd. */
  readonly signal: AbortSignal;
  readonly bounds: StreamBounds;
};

export type StreamBounds = {
  /** Beyond so many bytes that were not taken nothing more is handed over. */
  readonly untakenBytes: number;
  /** For so long; then the stream is cut. */
  readonly slowMs: number;
};

export const STREAM_BOUNDS: StreamBounds = { untakenBytes: 32 * 1024, slowMs: 30_000 };

/** Between the last event and the end of the answer: a client must have seen the one before the other. */
const LAST_WORD_MS = 50;

/** Resolves when there is nothing more to send; whether it was cut for not being read. Never rejects. */
export const sendStream = async (stream: SendStream): Promise<"ended" | "cut"> => {
  const { frames, response, scope, signal, bounds } = stream;
  let { at } = stream;
  /** The last event, and perhaps word that it need not be asked again. */
  const endWith = (code: ErrorCode, message: string, isOver: boolean) => {
    if (response.destroyed) return;
    const error = { message, extensions: { code, ...(at !== undefined && { after: at }) } };
    response.write(nextEvent(JSON.stringify({ errors: [error] })));
    if (isOver) response.end(COMPLETE_EVENT);
    else setTimeout(() => response.end(), LAST_WORD_MS);
  };

  try {
    for await (const frame of frames) {
      if (signal.aborted) break;
      writeTogether(response, frame.bytes);
      at = frame.at ?? at;
      if (response.writableLength < bounds.untakenBytes) continue;
      if (await taken(response, bounds, signal)) continue;
      if (signal.aborted) break;
      endWith("SLOW_CONSUMER", SLOW, true);
      return "cut";
    }
  } catch (error) {
    if (!signal.aborted) {
      response.write(nextEvent(errorsBody(errorOf(error), scope, at)));
      response.end(COMPLETE_EVENT);
      return "ended";
    }
  }
  const { reason } = signal;
  if (response.destroyed) return "ended";
  if (!(reason instanceof StreamEnd)) response.end(COMPLETE_EVENT);
  else if (reason.reason === "revoked") endWith("UNAUTHENTICATED", REVOKED, true);
  else endWith("RECONNECT", ENDING, false);
  return "ended";
};

const SLOW =
  "the events were not read in time; subscribe again with this after, which goes on behind the last one sent";
const REVOKED = "the key was revoked";
const ENDING =
  "the service is ending; connect again, with this after, which goes on behind the last one sent";

/** What is written in one turn of the loop leaves in one piece. */
const writeTogether = (response: ServerResponse, bytes: Buffer): void => {
  if (response.writableCorked === 0) {
    response.cork();
    setImmediate(() => response.uncork());
  }
  response.write(bytes);
};

/** Waits until what was written is taken; false when it was not in time, or the stream is over. */
const taken = (
  response: ServerResponse,
  { slowMs }: StreamBounds,
  signal: AbortSignal,
): Promise<boolean> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const settle = (isTaken: boolean) => () => {
      clearTimeout(late);
      signal.removeEventListener("abort", over);
      resolve(isTaken);
    };
    const [drained, over] = [settle(true), settle(false)];
    const late = setTimeout(over, slowMs);
    // Not by `drain`: that comes only where Node's own bounds were passed, which are others. This has left once
    // all before it has.
    response.write(KEEP_ALIVE, drained);
    signal.addEventListener("abort", over, { once: true });
  });
