import { GrpcTypes } from "@mysten/sui/grpc";
import {
  askWithRetries,
  defaultRetryPolicy,
  type OnSetback,
  type RetryPolicy,
  Setback,
} from "../sources/fetch-attempts.ts";
import {
  type GrpcBounds,
  GrpcMessageTooLargeError,
  type GrpcNode,
  grpcCodeOf,
  isNotOffered,
  openGrpcCalls,
} from "../sources/grpc-calls.ts";
import { SourceRefusedError } from "../sources/source-errors.ts";
import { BelowIndexError, HistoryIndexMissingError } from "./history-errors.ts";
import type { LedgerIndex, ObjectHead } from "./ledger-index.ts";
import { askEdge, askList, type ListAnswer, type ListRequest } from "./list-request.ts";
import { SCAN_BOUNDS, type ScanBounds, scanLists, wantedOf } from "./list-scan.ts";

export type GrpcIndexOptions = Omit<GrpcNode, "description" | "headers"> & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry?: RetryPolicy;
  readonly bounds?: GrpcBounds;
  readonly scan?: ScanBounds;
  readonly onSetback?: OnSetback;
};

const MIB = 1024 * 1024;

/** Objects of one request for heads (archive nodes take 50), and requests at the same time. */
const HEADS = { batch: 50, concurrent: 4 };

/** `google.rpc.Code` of an object that is not there. */
const NOT_FOUND = 5;

/** How a node says that it has no index, whatever the code. */
const INDEX_OFF = /\bindex(es|ing)? (is|are) disabled\b/i;

/** The lists of a full node over gRPC. Contacts nothing yet. */
export const grpcIndex = ({
  host,
  tls,
  headers = {},
  retry = defaultRetryPolicy,
  bounds = { answerMs: 60_000, maxMessageBytes: 16 * MIB },
  scan = SCAN_BOUNDS,
  onSetback,
}: GrpcIndexOptions): LedgerIndex => {
  const description = `grpc+${tls ? "https" : "http"}://${host}`;
  const calls = openGrpcCalls({ description, host, tls, headers }, bounds);
  const { client, transport, ask, failed } = calls;
  const { ledgerService, stateService } = client;
  /** Halved when the node refuses so many. */
  let headsBatch = HEADS.batch;

  /** Null: not there. */
  const retried = <T extends object>(
    wanted: string,
    attempt: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | null> =>
    askWithRetries<T | null>(
      {
        source: description,
        wanted,
        policy: retry,
        ...(onSetback && { onSetback }),
        attempt: async () => {
          try {
            return await attempt();
          } catch (error) {
            const failure = failed(error, wanted, signal);
            if (failure === null) return null;
            // Lists and look-ups are small: such an answer is wrong, and no reason to stop.
            if (failure instanceof GrpcMessageTooLargeError) {
              throw new Setback("damaged", failure.message, 0, failure);
            }
            throw failure;
          }
        },
      },
      signal,
    );

  /** Null also where the node does not offer the call: hints are optional. */
  const hinted: typeof retried = async (wanted, attempt, signal) => {
    try {
      return await retried(wanted, attempt, signal);
    } catch (error) {
      if (isNotOffered(error)) return null;
      throw error;
    }
  };

  /** Asks for a list. */
  const listed = async <T extends object>(
    wanted: string,
    first: bigint,
    attempt: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    let below = "it says no more";
    const noting = async (): Promise<T> => {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const code = grpcCodeOf(error);
        if (code === "OUT_OF_RANGE") below = error.message;
        // Some nodes call it an outage, which would be retried.
        if (code !== undefined && INDEX_OFF.test(error.message)) {
          const answer = `${code}: ${error.message}`;
          throw new HistoryIndexMissingError(description, answer, { cause: error });
        }
        throw error;
      }
    };
    try {
      const answer = await retried(wanted, noting, signal);
      if (answer !== null) return answer;
    } catch (error) {
      if (!isNotOffered(error) || !(error instanceof Error)) throw error;
      throw new HistoryIndexMissingError(description, "UNIMPLEMENTED", { cause: error });
    }
    throw new BelowIndexError(description, first, below);
  };

  const pageOf = (request: ListRequest, signal: AbortSignal): Promise<ListAnswer> =>
    listed(
      wantedOf(request.what, request),
      request.first,
      () => askList(calls, request, bounds.answerMs, signal),
      signal,
    );

  /** The first checkpoint listed in that direction. */
  const edge = async (ordering: GrpcTypes.Ordering, signal: AbortSignal): Promise<bigint> => {
    const wanted = "how far its lists go";
    const attempt = async () => {
      const checkpoint = await askEdge(calls, ordering, bounds.answerMs, signal);
      if (checkpoint === undefined) throw new Setback("push-back", "it lists no checkpoint");
      return { checkpoint };
    };
    return (await listed(wanted, 0n, attempt, signal)).checkpoint;
  };

  const headsOf = async (ids: readonly string[], signal: AbortSignal): Promise<Heads> => {
    const wanted = `the newest versions of ${ids.length} objects`;
    const attempt = async () => {
      const { objects } = await ask(
        (options) =>
          ledgerService.batchGetObjects(
            {
              requests: ids.map((objectId) => ({ objectId })),
              readMask: { paths: ["object_id", "version", "digest", "previous_transaction"] },
            },
            options,
          ),
        signal,
      );
      if (objects.length !== ids.length) {
        throw new Setback("push-back", `it answered ${objects.length} of ${ids.length} objects`);
      }
      return ids.map((id, n) => [id, headOf(id, objects[n])] as const);
    };
    try {
      const heads = await retried(wanted, attempt, signal);
      if (heads !== null) return heads;
      // Absence is known of one object only.
      if (ids.length === 1) return ids.map((id) => [id, null] as const);
    } catch (error) {
      if (ids.length === 1 || grpcCodeOf(error) !== "INVALID_ARGUMENT") throw error;
    }
    const half = Math.ceil(ids.length / 2);
    headsBatch = Math.min(headsBatch, half);
    return [
      ...(await headsOf(ids.slice(0, half), signal)),
      ...(await headsOf(ids.slice(half), signal)),
    ];
  };

  const serviceInfo = async (signal: AbortSignal) => {
    const wanted = "its service info";
    const attempt = async () => {
      const { chainId, checkpointHeight: newest } = await ask(
        (options) => ledgerService.getServiceInfo({}, options),
        signal,
      );
      if (chainId === undefined || newest === undefined) {
        throw new Setback("push-back", `${wanted} lacks the chain id or the newest checkpoint`);
      }
      return { chainId, newest };
    };
    const info = await retried(wanted, attempt, signal);
    if (info !== null) return info;
    throw new SourceRefusedError(description, wanted, "NOT_FOUND");
  };

  return {
    description,
    chainId: async (signal) => (await serviceInfo(signal)).chainId,
    newest: async (signal) => (await serviceInfo(signal)).newest,
    covers: async (signal) => {
      const { ASCENDING, DESCENDING } = GrpcTypes.Ordering;
      const [first, last] = await Promise.all([edge(ASCENDING, signal), edge(DESCENDING, signal)]);
      return { first, last };
    },
    touching: (what, range, signal) =>
      scanLists({ node: description, ask: pageOf }, what, range, scan, signal),
    heads: async (ids, signal) => {
      const heads = new Map<string, ObjectHead | null>();
      for (let at = 0; at < ids.length; ) {
        const batches: Promise<Heads>[] = [];
        const size = headsBatch;
        for (; batches.length < HEADS.concurrent && at < ids.length; at += size) {
          batches.push(headsOf(ids.slice(at, at + size), signal));
        }
        for (const [id, head] of (await Promise.all(batches)).flat()) heads.set(id, head);
      }
      return heads;
    },
    checkpointOf: async (digest, signal) => {
      const answer = await retried(
        `transaction ${digest}`,
        () =>
          ask(
            (options) =>
              ledgerService.getTransaction(
                { digest, readMask: { paths: ["checkpoint"] } },
                options,
              ),
            signal,
          ),
        signal,
      );
      return answer?.transaction?.checkpoint ?? null;
    },
    epochEnd: async (epoch, signal) => {
      const answer = await hinted(
        `the end of epoch ${epoch}`,
        () =>
          ask(
            (options) =>
              ledgerService.getEpoch({ epoch, readMask: { paths: ["last_checkpoint"] } }, options),
            signal,
          ),
        signal,
      );
      return answer?.epoch?.lastCheckpoint ?? null;
    },
    metadataOf: async (coinType, signal) => {
      const answer = await hinted(
        `metadata of ${coinType}`,
        () => ask((options) => stateService.getCoinInfo({ coinType }, options), signal),
        signal,
      );
      const id = answer?.metadata?.id;
      return id === undefined ? [] : [id];
    },
    close: async () => transport.close(),
  };
};

type Heads = readonly (readonly [string, ObjectHead | null])[];

const headOf = (id: string, answer: GrpcTypes.GetObjectResult | undefined): ObjectHead | null => {
  const result = answer?.result;
  if (result?.oneofKind === "error") {
    if (result.error.code === NOT_FOUND) return null;
    throw new Setback("push-back", `${id}: ${result.error.message}`);
  }
  const object = result?.oneofKind === "object" ? result.object : undefined;
  const { version, digest, previousTransaction } = object ?? {};
  if (version === undefined || digest === undefined || previousTransaction === undefined) {
    throw new Setback("push-back", `its answer for object ${id} lacks version or digest`);
  }
  if (object?.objectId !== id) {
    throw new Setback("push-back", `it answered object ${object?.objectId} for ${id}`);
  }
  return { version, digest, previousTransaction };
};
