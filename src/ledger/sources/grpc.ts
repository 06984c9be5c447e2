import { type Backoff, backoffMs, pause } from "../../waiting/backoff.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { type ConcurrencyBounds, createAdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { openCheckpointStream } from "./checkpoint-stream.ts";
import { fetchAhead, type WindowBounds } from "./fetch-ahead.ts";
import {
  askPatiently,
  defaultRetryPolicy,
  fetchPatiently,
  type OnSetback,
  type RetryPolicy,
  Setback,
} from "./fetch-attempts.ts";
import { connectGrpc, type GrpcBounds, type NodeInfo } from "./grpc-connection.ts";
import { isNotOffered } from "./grpc-failure.ts";
import type { CheckpointRange, CheckpointSource } from "./source.ts";
import { type Hearing, heard, NO_HEARING } from "./source-contact.ts";
import {
  CheckpointPrunedError,
  SourceChainChangedError,
  SourceUnavailableError,
} from "./source-errors.ts";

export type GrpcOptions = {
  /** Name or address and port. */
  readonly host: string;
  readonly tls: boolean;
  /** Sent with every call, such as a provider's key; never shown. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether to ask for the validators' signatures, too. */
  readonly certificates?: boolean;
  readonly concurrency?: ConcurrencyBounds;
  readonly window?: WindowBounds;
  readonly retry?: RetryPolicy;
  readonly bounds?: GrpcBounds;
  /** Closer to the tip than this, in checkpoints, the stream takes over from fetching. */
  readonly nearTip?: bigint;
  /** A stream without a new checkpoint for this long is given up, milliseconds. */
  readonly silenceMs?: number;
  /** How often to ask for the newest checkpoint while there is no stream, milliseconds. */
  readonly pollMs?: number;
  /** Wait before subscribing again after streams that brought nothing. */
  readonly resubscribe?: Backoff;
  /** How long a checkpoint that was announced may stay away, milliseconds. */
  readonly behindGraceMs?: number;
  readonly onSetback?: OnSetback;
  /** Told of every answer, "not found" included, and of every question without one. */
  readonly hearing?: Hearing | undefined;
};

const MIB = 1024 * 1024;

/** A node without subscriptions is asked for one again only now and then, milliseconds. */
const NOT_OFFERED_PAUSE_MS = 300_000;

/** The next checkpoint to deliver; kept outside the generators so that it survives their errors. */
type Cursor = { next: bigint };

/** Why a subscription is over, and how long the node asked to wait, milliseconds. */
type StreamEnd = { readonly reason: string; readonly pauseMs: number };

/**
 * A full node over gRPC.
 *
 * Far from the tip it fetches checkpoints by number, many at once; near it, it subscribes. The stream
 * is never trusted to be whole: a number it skips is fetched, one it repeats is dropped, and when it
 * breaks or falls silent, fetching carries on while a new one is opened. Unfiltered streams only: a
 * filter matches events and calls, and what happens to objects without either (a failed transaction,
 * a transfer of the object itself) would be lost.
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
  nearTip = 32n,
  silenceMs = 10_000,
  pollMs = 250,
  resubscribe = { firstMs: 500, maxMs: 30_000 },
  behindGraceMs = 60_000,
  onSetback = () => {},
  hearing = NO_HEARING,
}: GrpcOptions): CheckpointSource => {
  const description = `grpc+${tls ? "https" : "http"}://${host}`;
  const connection = connectGrpc({ description, host, tls, headers, certificates }, bounds);
  const concurrency = createAdaptiveConcurrency(concurrencyBounds);
  let knownChain: string | null = null;

  /** Asks the node about itself, patiently, and checks that it is still on the same chain. */
  const nodeInfo = async (signal: AbortSignal): Promise<NodeInfo> => {
    const info = await askPatiently(
      {
        source: description,
        wanted: "its service info",
        policy: retry,
        onSetback,
        attempt: () => heard(hearing, connection.info(signal), signal),
      },
      signal,
    );
    knownChain ??= info.chainId;
    if (info.chainId === knownChain) return info;
    throw new SourceChainChangedError(description, knownChain, info.chainId);
  };

  const fetchOne = async (sequence: bigint, signal: AbortSignal): Promise<RawCheckpoint | null> => {
    const bytes = await fetchPatiently<Uint8Array | null>(
      {
        source: description,
        sequence,
        concurrency,
        policy: retry,
        onSetback,
        size: (answer) => answer?.byteLength ?? 0,
        attempt: () => heard(hearing, connection.checkpoint(sequence, signal), signal),
      },
      signal,
    );
    return bytes === null ? null : { sequence, encoding: "protobuf", bytes };
  };

  /** Fetches up to `last`, moving `cursor`: the node, or its neighbour, said to have all of them. */
  async function* fetched(
    cursor: Cursor,
    { last, atOnce }: { readonly last: bigint; readonly atOnce?: number | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<RawCheckpoint, void, undefined> {
    const ahead = { fetch: fetchOne, concurrency, bounds: window };
    let behindSince: number | null = null;
    while (cursor.next <= last) {
      const before = cursor.next;
      const range = { first: before, last, atOnce };
      for await (const raw of fetchAhead({ ...ahead, range }, signal)) {
        cursor.next = raw.sequence + 1n;
        yield raw;
      }
      if (signal.aborted || cursor.next > last) return;
      // Behind one name there may be several nodes, some of them a little behind, or pruned.
      if (cursor.next > before || behindSince === null) behindSince = performance.now();
      const { firstAvailable } = await nodeInfo(signal);
      if (firstAvailable > cursor.next) {
        throw new CheckpointPrunedError(description, cursor.next, firstAvailable);
      }
      const behindMs = Math.round(performance.now() - behindSince);
      if (behindMs > behindGraceMs) {
        const reason = new Error(`announced, but not found for ${behindMs} ms`);
        throw new SourceUnavailableError(description, `checkpoint ${cursor.next}`, 1, reason);
      }
      await pause(pollMs, signal);
    }
  }

  /**
   * Follows one subscription, moving `cursor`, until `last` or until the stream ends, breaks or falls
   * silent; what it leaves out is fetched.
   */
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
        // Some nodes offer no subscriptions; everything can be had by fetching, a little later.
        if (isNotOffered(error)) return { reason: "not offered", pauseMs: NOT_OFFERED_PAUSE_MS };
        throw error;
      }
      if (announced === "silent") return { reason: `silent for ${silenceMs} ms`, pauseMs: 0 };
      if (announced === "ended") return { reason: "ended by the node", pauseMs: 0 };
      const { sequence, bytes } = announced;
      if (sequence < cursor.next) {
        // Seen before: the node behind the name changed, or fell back. Only progress breaks silence.
        if (performance.now() - progressAt < silenceMs) continue;
        return { reason: `nothing new for ${silenceMs} ms`, pauseMs: 0 };
      }
      const upTo = last === undefined || sequence < last ? sequence : last;
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
    { first, last, atOnce }: CheckpointRange,
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
      const upTo = last === undefined || newest < last ? newest : last;
      const far = upTo - cursor.next >= nearTip;
      if (cursor.next <= upTo) yield* fetched(cursor, { last: upTo, atOnce }, signal);
      // Near the tip do not ask again first: while it moves faster than an answer comes, there would
      // always be one more to fetch. What appears meanwhile is a gap before the stream's first frame.
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
      const published = await askPatiently(
        {
          source: description,
          wanted: `the publication of ${address}`,
          policy: retry,
          onSetback,
          attempt: () => heard(hearing, connection.publishedAt(address, signal), signal),
        },
        signal,
      );
      return published?.checkpoint ?? null;
    },
    close: async () => connection.close(),
  };
};
