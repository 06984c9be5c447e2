import { GrpcTypes } from "@mysten/sui/grpc";
import { followingAbort } from "../../waiting/following-abort.ts";
import type { GrpcCalls } from "../sources/grpc-calls.ts";
import type { Touch } from "./ledger-index.ts";

/**
 * One request for checkpoints, in ascending order: each match comes once, and its watermark says
 * that the checkpoint is complete. Lists of transactions leave their last checkpoint open.
 */
export type ListRequest = {
  /** At most as many as the node takes literals. */
  readonly what: readonly Touch[];
  /**
   * First checkpoint. Always explicit: a node raises an open start to where its lists begin, without
   * a word.
   */
  readonly first: bigint;
  /** Last checkpoint, included. */
  readonly last: bigint;
  /** Cursor of an earlier answer to the same request. */
  readonly after: Uint8Array | undefined;
  /** Checkpoints wanted; the node may lower it without a word. */
  readonly limit: number;
};

/** What an answer said, whole or cut off. */
export type ListAnswer = {
  /** Checkpoints with a match, as sent. */
  readonly found: readonly bigint[];
  /** `Watermark.checkpoint`: every match up to it was sent. The only sign of completeness. */
  readonly covered: bigint | undefined;
  /** Where to resume; says nothing about completeness. */
  readonly cursor: Uint8Array | undefined;
};

const NUMBER_ONLY = { paths: ["sequence_number"] };

/** Frames after which an answer is cut off and resumed. */
const MOST_FRAMES = 5_000;

/**
 * Asks once. A stream that breaks after a watermark counts as an answer, because it can be resumed;
 * so does one without an end. `LEDGER_TIP` and other reasons for an end are ignored: they do not
 * say how far the scan went.
 *
 * @throws the call's error, as sent, when it brought nothing
 */
export const askList = async (
  { client }: Pick<GrpcCalls, "client">,
  { what, first, last, after, limit }: ListRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ListAnswer> => {
  using own = followingAbort(signal);
  own.signal.throwIfAborted();
  const found: bigint[] = [];
  let covered: bigint | undefined;
  let cursor: Uint8Array | undefined;
  const call = client.ledgerService.listCheckpoints(
    {
      readMask: NUMBER_ONLY,
      startCheckpoint: first,
      endCheckpoint: last + 1n,
      filter: { terms: what.map((touch) => ({ literals: [literalOf(touch)] })) },
      options: {
        limit,
        ...(after !== undefined && { after }),
        ordering: GrpcTypes.Ordering.ASCENDING,
      },
    },
    { abort: own.signal, timeout: timeoutMs },
  );
  const outcome = await new Promise<{ readonly error?: unknown }>((resolve) => {
    let frames = 0;
    call.responses.onMessage(({ checkpoint, watermark }) => {
      frames += 1;
      if (frames > MOST_FRAMES) return resolve({});
      if (checkpoint?.sequenceNumber !== undefined) found.push(checkpoint.sequenceNumber);
      if (watermark?.cursor !== undefined) cursor = watermark.cursor;
      const complete = watermark?.checkpoint;
      if (complete !== undefined && complete > (covered ?? -1n)) covered = complete;
    });
    call.responses.onError((error) => resolve({ error }));
    call.responses.onComplete(() => resolve({}));
  });
  const isEmpty = covered === undefined && cursor === undefined;
  if (signal.aborted) throw signal.reason;
  if ("error" in outcome && isEmpty) throw outcome.error;
  return { found, covered, cursor };
};

/**
 * Number of the first checkpoint listed in that direction; undefined without any. The one request
 * with an open start: it is raised to where the lists begin.
 */
export const askEdge = async (
  { client }: Pick<GrpcCalls, "client">,
  ordering: GrpcTypes.Ordering,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<bigint | undefined> => {
  using own = followingAbort(signal);
  own.signal.throwIfAborted();
  const { responses } = client.ledgerService.listCheckpoints(
    { readMask: NUMBER_ONLY, options: { limit: 1, ordering } },
    { abort: own.signal, timeout: timeoutMs },
  );
  for await (const { checkpoint } of responses) {
    if (checkpoint?.sequenceNumber !== undefined) return checkpoint.sequenceNumber;
  }
  return undefined;
};

const literalOf = ({ kind, address }: Touch): GrpcTypes.TransactionLiteral => ({
  negated: false,
  predicate: predicateOf(kind, address),
});

const predicateOf = (
  kind: Touch["kind"],
  address: string,
): GrpcTypes.TransactionLiteral["predicate"] => {
  switch (kind) {
    case "events":
      return { oneofKind: "eventType", eventType: { eventType: address } };
    case "calls":
      return { oneofKind: "moveCall", moveCall: { function: address } };
    case "object":
      return { oneofKind: "affectedObject", affectedObject: { objectId: address } };
  }
};
