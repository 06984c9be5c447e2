/**
 * Answers as server-sent events, in the protocol of graphql-sse ("distinct connections"): their text, the
 * streams that are open, and the sending of events no faster than they are read.
 */
import type { ServerResponse } from "node:http";
import { Counter, Gauge, type Registry } from "prom-client";
import { HttpError } from "../../http/http-error.ts";
import { CACHE_MS } from "../../http/keys.ts";
import { registered } from "../../http/metrics.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type ErrorCode, errorsBody } from "../errors.ts";
import type { RequestScope } from "../request.ts";

const EVENT_STREAM = "text/event-stream";

/** Whether a caller takes events; most also take JSON, for what is no subscription. */
export const takesEvents = (accept: string | undefined): boolean =>
  accept?.includes(EVENT_STREAM) ?? false;

/** Whether a caller takes nothing but events. */
export const takesEventsAlone = (accept: string | undefined): boolean =>
  takesEvents(accept) && !/json|\*\/\*|application\/\*/.test(accept ?? "");

/**
 * One result.
 * @param json on one line, as `JSON.stringify` makes it
 * @param at where to continue, for `Last-Event-ID`
 */
export const nextEvent = (json: string, at?: string): string =>
  `${at === undefined ? "" : `id: ${at}\n`}event: next\ndata: ${json}\n\n`;

/** Only an id: where a reconnection continues that has had no event. */
export const beginning = (at: string): string => `id: ${at}\n\n`;

/** Nothing more will come, and the client must not reconnect. */
export const COMPLETE_EVENT = "event: complete\ndata:\n\n";

/** A comment, so that proxies see that the connection is alive. */
export const KEEP_ALIVE = ":\n\n";

/** Header fields of a stream: no proxy may cache, buffer or transform it. */
export const STREAM_FIELDS = {
  "content-type": `${EVENT_STREAM}; charset=utf-8`,
  "cache-control": "no-cache, no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Why the service ends a stream. */
type EndReason = "revoked" | "shutdown";

/** Reason of the signal that ends a stream. */
class StreamEnd extends Error {
  override readonly name = "StreamEnd";
  readonly reason: EndReason;

  constructor(reason: EndReason) {
    super(`the stream ended: ${reason}`);
    this.reason = reason;
  }
}

type OpenStreamsSettings = {
  readonly perKey: number;
  readonly perProcess: number;
  /** Milliseconds between two keep-alive comments. */
  readonly keepAliveMs: number;
  /** The ids among these whose keys are still valid. */
  readonly openKeys: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
};

/** Keep-alives come well within the minute that proxies wait for one. */
export const STREAMS: Omit<OpenStreamsSettings, "openKeys"> = {
  perKey: 16,
  perProcess: 2_000,
  keepAliveMs: 20_000,
};

export type OpenStreams = {
  /**
   * Counts a stream until its connection closes, once if its request runs again. The signal aborts when the stream has to end.
   * @throws HttpError (429) when its key, or the process, has its maximum; (503) while the service ends
   */
  enter(key: string, response: ServerResponse): AbortSignal;
  /** Ends all, and lets no more in. */
  end(): void;
  /** Open now. */
  readonly size: number;
  /** Bytes written and not yet taken by the callers. */
  readonly untakenBytes: number;
  /** Streams cut because they were not read in time, since the process began. */
  readonly cuts: number;
  countCut(): void;
};

type Stream = { readonly response: ServerResponse; readonly ending: AbortController };

/** Seconds: another stream of the same caller may end by then. */
const RETRY_AFTER = "5";

/** One timer serves all streams, and none runs while no stream is open. */
export const createOpenStreams = (settings: OpenStreamsSettings): OpenStreams => {
  const { perKey, perProcess, keepAliveMs, openKeys } = settings;
  const byKey = new Map<string, Set<Stream>>();
  let size = 0;
  let cuts = 0;
  let ended = false;
  let round: NodeJS.Timeout | undefined;
  let isLooking = false;
  let aliveAtMs = 0;

  const all = () => byKey.values().flatMap((streams) => streams.values());

  const endRevoked = async () => {
    isLooking = true;
    try {
      // Only these: another key may have entered meanwhile.
      const keys = [...byKey.keys()];
      const open = await openKeys(keys);
      for (const key of keys) {
        if (open.has(key)) continue;
        for (const { ending } of [...(byKey.get(key) ?? [])])
          ending.abort(new StreamEnd("revoked"));
      }
    } catch {
      // Without the database there are no events either; the next round retries.
    } finally {
      isLooking = false;
    }
  };

  const look = () => {
    if (!isLooking) void endRevoked();
    const now = performance.now();
    if (now < aliveAtMs) return;
    aliveAtMs = now + keepAliveMs;
    // A caller that has not taken what was written gets no more of it.
    for (const { response } of all()) {
      if (response.writableLength === 0 && !response.writableEnded) response.write(KEEP_ALIVE);
    }
  };

  const leave = (key: string, stream: Stream) => {
    const streams = byKey.get(key);
    if (!streams?.delete(stream)) return;
    size -= 1;
    if (streams.size === 0) byKey.delete(key);
    if (size > 0) return;
    clearInterval(round);
    round = undefined;
  };

  return {
    enter(key, response) {
      if (ended)
        throw new HttpError(503, "the service is ending; try again", { "retry-after": "1" });
      const streams = byKey.get(key) ?? new Set<Stream>();
      const entered = [...streams].find((stream) => stream.response === response);
      if (entered !== undefined) return entered.ending.signal;
      if (streams.size >= perKey) throw tooMany(`of one key are open; at most ${perKey} may be`);
      if (size >= perProcess) throw tooMany(`are open; at most ${perProcess} may be`);
      const stream = { response, ending: new AbortController() };
      streams.add(stream);
      byKey.set(key, streams);
      size += 1;
      response.once("close", () => leave(key, stream));
      if (round === undefined) {
        aliveAtMs = performance.now() + keepAliveMs;
        round = setInterval(look, Math.min(CACHE_MS, keepAliveMs)).unref();
      }
      return stream.ending.signal;
    },
    end: () => {
      ended = true;
      for (const { ending } of [...all()]) ending.abort(new StreamEnd("shutdown"));
    },
    get size() {
      return size;
    },
    get untakenBytes() {
      return all().reduce((sum, { response }) => sum + response.writableLength, 0);
    },
    get cuts() {
      return cuts;
    },
    countCut: () => {
      cuts += 1;
    },
  };
};

const tooMany = (which: string): HttpError =>
  new HttpError(429, `too many streams ${which}. End others first, or share one`, {
    "retry-after": RETRY_AFTER,
  });

/** An event as it is sent. */
export type Frame = {
  readonly bytes: Buffer;
  /** Where to continue after it. */
  readonly at: string | undefined;
};

type SendStream = {
  readonly frames: AsyncIterable<Frame>;
  /** Where the frames begin, if that is known. */
  readonly at: string | undefined;
  readonly response: ServerResponse;
  readonly scope: RequestScope;
  /** Aborts when the caller hangs up, or with a `StreamEnd`. */
  readonly signal: AbortSignal;
  readonly bounds: StreamBounds;
};

export type StreamBounds = {
  /** Most bytes written and not yet taken; more wait. */
  readonly untakenBytes: number;
  /** Milliseconds that they may wait; then the stream is cut. */
  readonly slowMs: number;
};

export const STREAM_BOUNDS: StreamBounds = { untakenBytes: 32 * 1024, slowMs: 30_000 };

/** Between the last event and the end of the answer, so that a client reads the event first. */
const LAST_EVENT_MS = 50;

/** Resolves when the stream has ended, "cut" if it was not read in time. Never rejects. */
export const sendStream = async (stream: SendStream): Promise<"ended" | "cut"> => {
  const { frames, response, scope, signal, bounds } = stream;
  let { at } = stream;
  /** @param isFinal the client must not reconnect */
  const endWith = (code: ErrorCode, message: string, isFinal: boolean) => {
    if (response.destroyed) return;
    const error = { message, extensions: { code, ...(at !== undefined && { after: at }) } };
    response.write(nextEvent(JSON.stringify({ errors: [error] })));
    if (isFinal) response.end(COMPLETE_EVENT);
    else setTimeout(() => response.end(), LAST_EVENT_MS);
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
  "the events were not read in time; subscribe again with this after to continue behind the last event sent";
const REVOKED = "the key was revoked";
const ENDING =
  "the service is ending; connect again with this after to continue behind the last event sent";

/** Writes of one turn of the event loop leave in one packet. */
const writeTogether = (response: ServerResponse, bytes: Buffer): void => {
  if (response.writableCorked === 0) {
    response.cork();
    setImmediate(() => response.uncork());
  }
  response.write(bytes);
};

/** Waits until everything written is taken; false when that takes too long, or the stream is over. */
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
    // Not `drain`, which fires only above Node's own bounds. This write is done once all before it are.
    response.write(KEEP_ALIVE, drained);
    signal.addEventListener("abort", over, { once: true });
  });

/** Metrics of the streams of a process. */
export const streamGauges = (registry: Registry, streams: OpenStreams): void => {
  const registers = [registry];
  new Gauge({
    ...registered("holderbook_graphql_streams_open"),
    registers,
    collect() {
      this.set(streams.size);
    },
  });
  new Gauge({
    ...registered("holderbook_graphql_streams_untaken_bytes"),
    registers,
    collect() {
      this.set(streams.untakenBytes);
    },
  });
  new Counter({
    ...registered("holderbook_graphql_streams_cut_total"),
    registers,
    collect() {
      this.reset();
      this.inc(streams.cuts);
    },
  });
};
