import { shownUrl } from "../../settings/shown-url.ts";
import { pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { createAdaptiveConcurrency } from "./adaptive-concurrency.ts";
import {
  CheckpointFileError,
  type Decompress,
  decompressBlocking,
  decompressCheckpoint,
} from "./chk-file.ts";
import { fetchAndPoll } from "./fetch-ahead.ts";
import {
  askWithRetries,
  defaultRetryPolicy,
  fetchWithRetries,
  type NetworkOptions,
} from "./fetch-attempts.ts";
import { createHttpClient, type HttpBounds } from "./http-get.ts";
import { askObject, type ObjectAnswer, readObject } from "./object-store-answer.ts";
import type { CheckpointSource } from "./source.ts";
import { NO_OBSERVER, reporting } from "./source-contact.ts";
import { CheckpointMissingError } from "./source-errors.ts";

export type ObjectStoreOptions = NetworkOptions & {
  /** Objects are `{base}/{sequence}.binpb.zst`; a query string is kept. */
  readonly base: URL;
  /** A checkpoint believed to exist, where the search for the newest starts. */
  readonly startsAt?: bigint;
  readonly http?: Omit<HttpBounds, "sockets">;
  /** Limits for objects and decompressed checkpoints, bytes. */
  readonly maxObjectBytes?: number;
  readonly maxCheckpointBytes?: number;
  /** Whether it may block its thread, which takes less processor time. */
  readonly mayBlock?: boolean;
  /** How long a checkpoint may be missing after a later one, ms: uploads finish out of order. */
  readonly missingGraceMs?: number;
};

const MIB = 1024 * 1024;

/** No single existence check is critical. */
const LOOK = { attempts: 4, backoff: { firstMs: 500, maxMs: 2_000 } };

/** Polls at the tip between checks for later checkpoints. */
const LOOK_BEYOND_EVERY_POLLS = 20;
/** Distances checked: a lost upload, a lost batch, a late start. */
const LOOK_BEYOND = [1n, 16n, 256n] as const;

const LARGEST = 2n ** 63n - 1n;

type Fetched = Pick<RawCheckpoint, "sequence" | "bytes"> & { readonly isCompressed: boolean };

const asTransferred: Decompress = async (_, compressed) => compressed;

/**
 * An archive in an object store: compressed protobuf, one object per checkpoint.
 *
 * Fetches with adaptive concurrency and delivers in order. Polls at the tip, where 404 means "not
 * yet". Retries failures (with the server's `Retry-After`); source-errors.ts says how it gives up.
 */
export const objectStoreSource = ({
  base,
  startsAt = 0n,
  headers = {},
  concurrency: concurrencyBounds = { min: 1, max: 64, start: 4 },
  window = { checkpoints: 512, bytes: 128 * MIB },
  retry = defaultRetryPolicy,
  http = { silenceMs: 20_000, answerMs: 120_000 },
  maxObjectBytes = 128 * MIB,
  maxCheckpointBytes = 256 * MIB,
  mayBlock = false,
  pollMs = 250,
  missingGraceMs = 60_000,
  onSetback = () => {},
  observer = NO_OBSERVER,
}: ObjectStoreOptions): CheckpointSource => {
  const description = shownUrl(base.href);
  const concurrency = createAdaptiveConcurrency(concurrencyBounds);
  // Two sockets for existence checks besides fetches.
  const client = createHttpClient({ ...http, sockets: concurrencyBounds.max + 2 }, headers);
  /** Highest checkpoint read: where the next search for the newest starts. */
  let highestSeen: bigint | null = null;

  const urlOf = (sequence: bigint): URL => {
    const url = new URL(base);
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/${sequence}.binpb.zst`;
    return url;
  };

  const seen = (sequence: bigint) => {
    if (highestSeen === null || sequence > highestSeen) highestSeen = sequence;
  };

  const fetchAs = async (
    isCompressed: boolean,
    sequence: bigint,
    signal: AbortSignal,
  ): Promise<Fetched | null> => {
    const decompress = isCompressed ? asTransferred : decompressCheckpoint;
    const answer = await fetchWithRetries<ObjectAnswer | null>(
      {
        source: description,
        sequence,
        concurrency,
        policy: retry,
        onSetback,
        size: (read) => read?.transferred ?? 0,
        attempt: () => {
          const url = urlOf(sequence);
          const bounds = { maxObjectBytes, maxCheckpointBytes, decompress };
          const wanted = { client, source: description, url, sequence, ...bounds };
          return reporting(observer, readObject(wanted, signal), signal);
        },
      },
      signal,
    );
    if (answer === null) return null;
    seen(sequence);
    return { sequence, bytes: answer.checkpoint, isCompressed };
  };

  const fetchOne = (sequence: bigint, signal: AbortSignal) => fetchAs(false, sequence, signal);

  const isThere = async (sequence: bigint, signal: AbortSignal): Promise<boolean> => {
    const attempt = async (): Promise<boolean> => {
      await concurrency.cleared(signal);
      const wanted = { client, source: description, url: urlOf(sequence), sequence };
      return reporting(observer, askObject(wanted, signal), signal);
    };
    const wanted = `asking for ${sequence}`;
    return await askWithRetries({ source: description, wanted, attempt, policy: LOOK }, signal);
  };

  const latest = async (signal: AbortSignal): Promise<bigint | null> => {
    const look = (from: bigint) =>
      newestPresent(async (at) => at <= LARGEST && (await isThere(at, signal)), from);
    const found = (highestSeen === null ? null : await look(highestSeen)) ?? (await look(startsAt));
    // A web page instead of a store answers every request: trust only what can be read.
    const isRead = found !== null && highestSeen !== null && found <= highestSeen;
    if (found !== null && !isRead && (await fetchOne(found, signal)) === null) return null;
    highestSeen = found;
    return found;
  };

  /** Polls for `sequence`; null when `signal` aborts. */
  const waitFor = async (
    sequence: bigint,
    laterAlreadySeen: bigint | null,
    graceMs: number,
    signal: AbortSignal,
  ): Promise<Fetched | null> => {
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
      if (laterSeen !== null && performance.now() - missingSince > graceMs) {
        throw new CheckpointMissingError(description, sequence, laterSeen);
      }
      await pause(pollMs, signal);
    }
    return null;
  };

  /** Fetches a damaged one again, with retries; null when `signal` aborts. */
  const open = async (
    { sequence, bytes }: Fetched,
    graceMs: number,
    signal: AbortSignal,
  ): Promise<Uint8Array | null> => {
    try {
      const name = `object of ${bytes.byteLength} bytes`;
      return await decompressBlocking(name, bytes, maxCheckpointBytes);
    } catch (error) {
      if (!(error instanceof CheckpointFileError)) throw error;
    }
    try {
      return (await waitFor(sequence, null, graceMs, signal))?.bytes ?? null;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  };

  return {
    description,
    chainId: async () => null,
    latest,
    checkpoints: async function* (range, signal) {
      const graceMs = range.graceMs ?? missingGraceMs;
      const fetched = fetchAndPoll(
        {
          ...{ range, concurrency, bounds: window },
          fetch: (sequence, during) => fetchAs(mayBlock, sequence, during),
          // At the tip most are missing: start with one and double.
          startWith: 1,
        },
        (sequence, laterSeen) => waitFor(sequence, laterSeen, graceMs, signal),
        signal,
      );
      for await (const one of fetched) {
        // Decompressed when due: garbage collection of short-lived buffers is cheap.
        const bytes = one.isCompressed ? await open(one, graceMs, signal) : one.bytes;
        if (bytes === null) return;
        yield { sequence: one.sequence, encoding: "protobuf", bytes };
      }
    },
    close: async () => client.close(),
  };
};

/**
 * Finds the newest checkpoint of a store that can only tell whether it has a given one.
 *
 * Exponential, then binary search from `from`: about 2·log2(distance) requests. Assumes that the
 * store is filled in order; with concurrent writers the result may be a little low.
 *
 * @param from start; null when it is not there
 */
const newestPresent = async (
  isThere: (sequence: bigint) => Promise<boolean>,
  from: bigint,
): Promise<bigint | null> => {
  if (!(await isThere(from))) return null;
  let there = from;
  let stride = 1n;
  while (await isThere(there + stride)) {
    there += stride;
    stride *= 2n;
  }
  let absent = there + stride;
  while (absent - there > 1n) {
    const middle = (there + absent) / 2n;
    if (await isThere(middle)) there = middle;
    else absent = middle;
  }
  return there;
};
