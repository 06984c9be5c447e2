import { shownUrl } from "../../settings/shown-url.ts";
import { pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { type ConcurrencyBounds, createAdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { fetchAhead, type WindowBounds } from "./fetch-ahead.ts";
import {
  askPatiently,
  defaultRetryPolicy,
  fetchPatiently,
  type OnSetback,
  type RetryPolicy,
} from "./fetch-attempts.ts";
import { createHttpClient, type HttpBounds } from "./http-get.ts";
import { newestPresent } from "./newest-present.ts";
import { askObject, type ObjectAnswer, readObject } from "./object-store-answer.ts";
import type { CheckpointSource } from "./source.ts";
import { type Hearing, heard, NO_HEARING } from "./source-contact.ts";
import { CheckpointMissingError } from "./source-errors.ts";

export type ObjectStoreOptions = {
  /** Objects are `{base}/{sequence}.binpb.zst`; a query string is kept on every one of them. */
  readonly base: URL;
  /** What the operator says the chain is; an object store cannot tell. */
  readonly chainId?: string | null;
  /** A checkpoint believed to be there, where looking for the newest one starts. */
  readonly startsAt?: bigint;
  /** Sent with every request; never shown. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly concurrency?: ConcurrencyBounds;
  readonly window?: WindowBounds;
  readonly retry?: RetryPolicy;
  readonly http?: Omit<HttpBounds, "sockets">;
  /** Largest object, and largest decompressed checkpoint, bytes. */
  readonly maxObjectBytes?: number;
  readonly maxCheckpointBytes?: number;
  /** How often to look for the next checkpoint at the tip, milliseconds. */
  readonly pollMs?: number;
  /**
   * How long a checkpoint may stay away after a later one was seen, milliseconds: uploads may finish
   * out of order.
   */
  readonly missingGraceMs?: number;
  /** Told of every failed attempt that is followed by another: worth a line in the log. */
  readonly onSetback?: OnSetback;
  /** Told of every answer, "not there" included, and of every question without one. */
  readonly hearing?: Hearing | undefined;
};

const MIB = 1024 * 1024;

/** Nothing depends on a single question whether something is there. */
const LOOK = { attempts: 4, backoff: { firstMs: 500, maxMs: 2_000 } };

/** How often, while waiting at the tip, to look whether something later is there. */
const LOOK_BEYOND_EVERY_POLLS = 20;
/** How far beyond the awaited checkpoint to look: one lost upload, a lost batch, a late start. */
const LOOK_BEYOND = [1n, 16n, 256n] as const;

/** Checkpoints have no larger numbers. */
const LARGEST = 2n ** 63n - 1n;

/**
 * An archive of checkpoints in an object store: zstd-compressed protobuf, one object each.
 *
 * Fetches with adaptive concurrency and delivers in order. 404 means "not there yet": at the tip it
 * asks again every `pollMs`. What goes wrong on the way is retried (429 and 5xx with the server's own
 * `Retry-After`); see `ObjectStoreOptions` for the bounds and source-errors.ts for how it gives up.
 */
export const objectStoreSource = ({
  base,
  chainId = null,
  startsAt = 0n,
  headers = {},
  concurrency: concurrencyBounds = { min: 1, max: 64, start: 4 },
  window = { checkpoints: 512, bytes: 128 * MIB },
  retry = defaultRetryPolicy,
  http = { silenceMs: 20_000, answerMs: 120_000 },
  maxObjectBytes = 128 * MIB,
  maxCheckpointBytes = 256 * MIB,
  pollMs = 250,
  missingGraceMs = 60_000,
  onSetback = () => {},
  hearing = NO_HEARING,
}: ObjectStoreOptions): CheckpointSource => {
  const description = shownUrl(base.href);
  const concurrency = createAdaptiveConcurrency(concurrencyBounds);
  // Two more than fetches may run at once: looking for the newest must not wait behind them.
  const client = createHttpClient({ ...http, sockets: concurrencyBounds.max + 2 }, headers);
  /** The highest checkpoint read: where the next look for the newest starts. */
  let highestSeen: bigint | null = null;

  const urlOf = (sequence: bigint): URL => {
    const url = new URL(base);
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/${sequence}.binpb.zst`;
    return url;
  };

  const seen = (sequence: bigint) => {
    if (highestSeen === null || sequence > highestSeen) highestSeen = sequence;
  };

  const fetchOne = async (sequence: bigint, signal: AbortSignal): Promise<RawCheckpoint | null> => {
    const answer = await fetchPatiently<ObjectAnswer | null>(
      {
        source: description,
        sequence,
        concurrency,
        policy: retry,
        onSetback,
        size: (read) => read?.transferred ?? 0,
        attempt: () => {
          const url = urlOf(sequence);
          const bounds = { maxObjectBytes, maxCheckpointBytes };
          const wanted = { client, source: description, url, sequence, ...bounds };
          return heard(hearing, readObject(wanted, signal), signal);
        },
      },
      signal,
    );
    if (answer === null) return null;
    seen(sequence);
    return { sequence, encoding: "protobuf", bytes: answer.checkpoint };
  };

  const isThere = async (sequence: bigint, signal: AbortSignal): Promise<boolean> => {
    const attempt = async (): Promise<boolean> => {
      await concurrency.cleared(signal);
      const wanted = { client, source: description, url: urlOf(sequence), sequence };
      return heard(hearing, askObject(wanted, signal), signal);
    };
    const wanted = `asking for ${sequence}`;
    return await askPatiently({ source: description, wanted, attempt, policy: LOOK }, signal);
  };

  const latest = async (signal: AbortSignal): Promise<bigint | null> => {
    const look = (from: bigint) =>
      newestPresent(async (at) => at <= LARGEST && (await isThere(at, signal)), from);
    const found = (highestSeen === null ? null : await look(highestSeen)) ?? (await look(startsAt));
    // A page in place of the store says "there" to every question: only what can be read is.
    const isRead = found !== null && highestSeen !== null && found <= highestSeen;
    if (found !== null && !isRead && (await fetchOne(found, signal)) === null) return null;
    highestSeen = found;
    return found;
  };

  /** Waits at the tip until `sequence` is there; null when `signal` aborts first. */
  const waitFor = async (
    sequence: bigint,
    laterAlreadySeen: bigint | null,
    signal: AbortSignal,
  ): Promise<RawCheckpoint | null> => {
    let laterSeen = laterAlreadySeen;
    let missingSince = performance.now();
    for (let polls = 1; !signal.aborted; polls += 1) {
      const raw = await fetchOne(sequence, signal);
      if (raw !== null) return raw;
      if (laterSeen === null && polls % LOOK_BEYOND_EVERY_POLLS === 0) {
        for (const distance of LOOK_BEYOND) {
          if (await isThere(sequence + distance, signal)) laterSeen = sequence + distance;
        }
        if (laterSeen !== null) missingSince = performance.now();
      }
      if (laterSeen !== null && performance.now() - missingSince > missingGraceMs) {
        throw new CheckpointMissingError(description, sequence, laterSeen);
      }
      await pause(pollMs, signal);
    }
    return null;
  };

  return {
    description,
    chainId: async () => chainId,
    latest,
    checkpoints: async function* ({ first, last, atOnce }, signal) {
      try {
        // At the tip nearly everything ahead is absent: begin with one and double while they come.
        const ahead = { fetch: fetchOne, concurrency, bounds: window, startWith: 1 };
        for (let next = first; last === undefined || next <= last; ) {
          const reached = yield* fetchAhead(
            { ...ahead, range: { first: next, last, atOnce } },
            signal,
          );
          next = reached.next;
          if (signal.aborted || (last !== undefined && next > last)) return;
          const raw = await waitFor(next, reached.laterSeen, signal);
          if (raw === null) return;
          yield raw;
          next += 1n;
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
    close: async () => client.close(),
  };
};
