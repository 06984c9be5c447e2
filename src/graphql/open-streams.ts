/** The streams of a process that are open: how many there may be, and what ends them from outside. */
import type { ServerResponse } from "node:http";
import { HttpError } from "../http/http-error.ts";
import { CACHE_MS } from "../http/keys.ts";
import { KEEP_ALIVE } from "./sse.ts";

/** Why a stream ends that would go on. */
export type EndReason = "revoked" | "shutdown";

export class StreamEnd extends Error {
  override readonly name = "StreamEnd";
  readonly reason: EndReason;

  constructor(reason: EndReason) {
    super(`the stream ended: ${reason}`);
    this.reason = reason;
  }
}

export type OpenStreamsSettings = {
  readonly perKey: number;
  readonly perProcess: number;
  /** Between two signs of life, in milliseconds. */
  readonly keepAliveMs: number;
  /** Those of these ids whose keys still open. */
  readonly openKeys: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
};

/** How many there may be; a sign of life comes well within the minute that proxies wait for one. */
export const STREAMS: Omit<OpenStreamsSettings, "openKeys"> = {
  perKey: 16,
  perProcess: 2_000,
  keepAliveMs: 20_000,
};

export type OpenStreams = {
  /**
   * Counts a stream until its connection is gone. The signal aborts with a StreamEnd when it is to end.
   * @throws HttpError (429) when its key, or the process, has as many as it may
   */
  enter(key: string, response: ServerResponse): AbortSignal;
  /** Asks all to end, and lets no more in. */
  end(): void;
  /** Open now. */
  readonly size: number;
  /** Bytes that were written and not yet taken. */
  readonly untakenBytes: number;
  /** Streams that were cut because they were not read, since the process began. */
  readonly cuts: number;
  /** Counts one that was cut. */
  countCut(): void;
};

type Stream = { readonly response: ServerResponse; readonly ending: AbortController };

/** Seconds: streams do not end by themselves, but another one of the same caller might. */
const RETRY_AFTER = "5";

/** One round of looks for all streams; none while there are none. */
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
      const open = await openKeys([...byKey.keys()]);
      for (const [key, streams] of byKey) {
        if (open.has(key)) continue;
        for (const { ending } of [...streams]) ending.abort(new StreamEnd("revoked"));
      }
    } catch {
      // Without the database there are no events either; the next round comes soon.
    } finally {
      isLooking = false;
    }
  };

  const look = () => {
    if (!isLooking) void endRevoked();
    const now = performance.now();
    if (now < aliveAtMs) return;
    aliveAtMs = now + keepAliveMs;
    // Who has not taken the last one shows no life by another.
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
