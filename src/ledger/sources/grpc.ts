import { lowest } from "../../values/bigints.ts";
import { type Backoff, backoffMs, pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { createAdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { openCheckpointStream } from "./checkpoint-stream.ts";
import { fetchAhead } from "./fetch-ahead.ts";
import {
  askWithRetries,
  defaultRetryPolicy,
  fetchWithRetries,
  type NetworkOptions,
  Setback,
} from "./fetch-attempts.ts";
import { type GrpcBounds, isNotOffered } from "./grpc-calls.ts";
import { connectGrpc, type NodeInfo } from "./grpc-connection.ts";
import type { CheckpointRange, CheckpointSource } from "./source.ts";
import { NO_OBSERVER, reporting } from "./source-contact.ts";
import {
  CheckpointPrunedError,
  SourceChainChangedError,
  SourceUnavailableError,
} from "./source-errors.ts";

export type GrpcOptions = NetworkOptions & {
  /** Name or address, with port. */
  readonly host: string;
  readonly tls: boolean;
  /** Whether to request the validators' signatures. */
  readonly certificates?: boolean;
  readonly bounds?: GrpcBounds;
  /** Silence after which a stream is given up, ms. */
  readonly silenceMs?: number;
  /** Delay after streams without a checkpoint. */
  readonly resubscribe?: Backoff;
  /** How long an announced checkpoint may be missing, ms. */
  readonly behindGraceMs?: number;
};

const MIB = 1024 * 1024;

/** Distance to the tip, in checkpoints, below which it subscribes. */
const NEAR_TIP = 32n;

/** Delay before trying subscriptions again on a node without them, ms. */
const NOT_OFFERED_PAUSE_MS = 300_000;

/** Next checkpoint to deliver; survives errors of the generators. */
type Cursor = { next: bigint };

/** Why a subscription ended, and the pause requested, ms. */
type StreamEnd = { readonly reason: string; readonly pauseMs: number };

/**
 * A full node over gRPC.
 *
 * Fetches concurrently far from the tip, and subscribes near it. Streams may have gaps (fetched),
 * repetitions (dropped) and breaks (fetching continues meanwhile). No filters: they match events
 * and calls, and would miss objects changed without either.
 */
export const grpcSource = ({
  host,
  tls,
  headers = {},
  certificates = false,
  concurrency: concurrencyBounds = { min: 1, max: 64, start: 4 },
  window = { checkpoints: 512, bytes: 128 * MIB },
  retry = defaultRetryPolicy,
  bounds = { answerMs: 60_000, maxMessageBytes: 256 * MIB },
  silenceMs = 10_000,
  pollMs = 250,
  resubscribe = { firstMs: 500, maxMs: 30_000 },
  behindGraceMs = 60_000,
  onSetback = () => {},
  observer = NO_OBSERVER,
}: GrpcOptions): CheckpointSource => {
  const description = `grpc+${tls ? "https" : "http"}://${host}`;
  const connection = connectGrpc({ description, host, tls, headers, certificates }, bounds);
  const concurrency = createAdaptiveConcurrency(concurrencyBounds);
  let knownChain: string | null = null;

  /** Asks for the node's state and checks its chain. */
  const nodeInfo = async (signal: AbortSignal): Promise<NodeInfo> => {
    const info = await askWithRetries(
      {
        source: description,
        wanted: "its service info",
        policy: retry,
        onSetback,
        attempt: () => reporting(observer, connection.info(signal), signal),
      },
      signal,
    );
    knownChain ??= info.chainId;
    if (info.chainId === knownChain) return info;
    throw new SourceChainChangedError(description, knownChain, info.chainId);
  };

  const fetchOne = async (sequence: bigint, signal: AbortSignal): Promise<RawCheckpoint | null> => {
    const bytes = await fetchWithRetries<Uint8Array | null>(
      {
        source: description,
        sequence,
        concurrency,
        policy: retry,
        onSetback,
        size: (answer) => answer?.byteLength ?? 0,
        attempt: () => reporting(observer, connection.checkpoint(sequence, signal), signal),
      },
      signal,
    );
    return bytes === null ? null : { sequence, encoding: "protobuf", bytes };
  };

  /** Fetches up to `last`, which the node reported to have, moving `cursor`. */
  async function* fetched(
    cursor: Cursor,
    {
      last,
      maxConcurrent,
      graceMs = behindGraceMs,
    }: Omit<CheckpointRange, "first"> & { last: bigint },
    signal: AbortSignal,
  ): AsyncGenerator<RawCheckpoint, void, undefined> {
    const ahead = { fetch: fetchOne, concurrency, bounds: window };
    let behindSince: number | null = null;
    while (cursor.next <= last) {
      const before = cursor.next;
      const range = { first: before, last, maxConcurrent };
      for await (const raw of fetchAhead({ ...ahead, range }, signal)) {
        cursor.next = raw.sequence + 1n;
        yield raw;
      }
      if (signal.aborted || cursor.next > last) return;
      // One name may lead to several nodes, some behind or pruned.
      if (cursor.next > before || behindSince === null) behindSince = performance.now();
      const { firstAvailable } = await nodeInfo(signal);
      if (firstAvailable > cursor.next) {
        throw new CheckpointPrunedError(description, cursor.next, firstAvailable);
      }
      const behindMs = Math.round(performance.now() - behindSince);
      if (behindMs > graceMs) {
        const reason = new Error(`announced, but not found for ${behindMs} ms`);
        throw new SourceUnavailableError(description, `checkpoint ${cursor.next}`, 1, reason);
      }
      await pause(pollMs, signal);
    }
  }

  /** Reads one subscription, moving `cursor`, until `last` or its end or silence; fetches gaps. */
  async function* streamed(
    cursor: Cursor,
    last: bigint | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<RawCheckpoint, StreamEnd, undefined> {
    using stream = openCheckpointStream(connection, window, signal);
    let progressAt = performance.now();
    while (last === undefined || cursor.next <= last) {
      let announced: Awaited<ReturnType<typeof stream.next>>;
      try {
        announced = await stream.next(progressAt + silenceMs - performance.now());
      } catch (error) {
        if (error instanceof Setback) return { reason: error.message, pauseMs: error.pauseMs };
        // Some nodes offer no subscriptions; fetching works too.
        if (isNotOffered(error)) return { reason: "not offered", pauseMs: NOT_OFFERED_PAUSE_MS };
        throw error;
      }
      if (announced === "silent") return { reason: `silent for ${silenceMs} ms`, pauseMs: 0 };
      if (announced === "ended") return { reason: "ended by the node", pauseMs: 0 };
      const { sequence, bytes } = announced;
      if (sequence < cursor.next) {
        // Seen before: the node changed or fell back. Only progress ends the silence.
        if (performance.now() - progressAt < silenceMs) continue;
        return { reason: `nothing new for ${silenceMs} ms`, pauseMs: 0 };
      }
      const upTo = lowest(sequence, last ?? sequence);
      const inHand = bytes !== null && sequence === upTo;
      const missingUpTo = inHand ? upTo - 1n : upTo;
      if (missingUpTo >= cursor.next) yield* fetched(cursor, { last: missingUpTo }, signal);
      if (signal.aborted) break;
      if (inHand) {
        cursor.next = upTo + 1n;
        yield { sequence, encoding: "protobuf", bytes };
      }
      progressAt = performance.now();
    }
    return { reason: "done", pauseMs: 0 };
  }

  async function* checkpoints(
    { first, last, maxConcurrent, graceMs }: CheckpointRange,
    signal: AbortSignal,
  ): AsyncGenerator<RawCheckpoint, void, undefined> {
    const cursor: Cursor = { next: first };
    let emptyStreams = 0;
    let subscribeAt = 0;
    while (!signal.aborted && (last === undefined || cursor.next <= last)) {
      const { newest, firstAvailable } = await nodeInfo(signal);
      if (firstAvailable > cursor.next) {
        throw new CheckpointPrunedError(description, cursor.next, firstAvailable);
      }
      const upTo = lowest(newest, last ?? newest);
      const far = upTo - cursor.next >= NEAR_TIP;
      if (cursor.next <= upTo)
        yield* fetched(cursor, { last: upTo, maxConcurrent, graceMs }, signal);
      // Near the tip, subscribe without asking again: a fast tip would always be one ahead. The gap
      // is fetched.
      if (far || upTo === last) continue;
      const waitMs = subscribeAt - performance.now();
      if (waitMs > 0) {
        await pause(Math.min(pollMs, waitMs), signal);
        continue;
      }
      const before = cursor.next;
      const { reason, pauseMs } = yield* streamed(cursor, last, signal);
      if (signal.aborted) return;
      emptyStreams = cursor.next > before ? 0 : emptyStreams + 1;
      const backoff = emptyStreams === 0 ? 0 : backoffMs(emptyStreams, resubscribe);
      subscribeAt = performance.now() + Math.max(pauseMs, backoff);
      onSetback({
        source: description,
        wanted: "subscription",
        failures: emptyStreams,
        reason,
        waitMs: Math.max(pauseMs, backoff),
      });
    }
  }

  return {
    description,
    chainId: async (signal) => (await nodeInfo(signal)).chainId,
    latest: async (signal) => (await nodeInfo(signal)).newest,
    checkpoints: async function* (range, signal) {
      try {
        yield* checkpoints(range, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
    coinDecimals: connection.coinDecimals,
    publishedAt: async (address, signal) => {
      const published = await askWithRetries(
        {
          source: description,
          wanted: `the publication of ${address}`,
          policy: retry,
          onSetback,
          attempt: () => reporting(observer, connection.publishedAt(address, signal), signal),
        },
        signal,
      );
      return published?.checkpoint ?? null;
    },
    close: async () => connection.close(),
  };
};
