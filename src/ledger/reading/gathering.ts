import { type BlockBuilder, createBlockBuilder } from "../../log/block.ts";
import {
  type AppendBatch,
  type CheckpointMark,
  type CoinDecimals,
  factBytes,
  type JoinedPackage,
  type ReadFact,
} from "../../log/fact.ts";
import { createWaker } from "../../waiting/waker.ts";
import type { CertifiedSummary } from "../proof/certificate.ts";
import type { ReadCheckpoint } from "./read.ts";

/** Limits of a batch; its last checkpoint may exceed them. */
export type BatchBounds = {
  readonly facts: number;
  /** Approximate bytes in memory (`factBytes`). */
  readonly bytes: number;
  readonly checkpoints: number;
  /** Age at which a batch is appended anyway, ms. */
  readonly ageMs: number;
};

/** A batch to append, with statistics. */
export type GatheredBatch = {
  readonly batch: AppendBatch;
  readonly coins: readonly CoinDecimals[];
  readonly checkpoints: number;
  /** With signature verification: summaries that end an epoch, and the last one, ascending. */
  readonly certified?: readonly CertifiedSummary[];
  /** Checkpoints ruled out by the prefilter. */
  readonly skipped: number;
  readonly rawBytes: number;
  /** Start of decoding the first checkpoint and end of the last, `performance.now()`. */
  readonly beganMs: number;
  readonly decodedMs: number;
};

/**
 * A buffer of one batch between decoding (`add`) and appending (`take`).
 *
 * State    Next state
 * empty    `add`: filling, or full; `end`: ended
 * filling  `add`: filling, or full; `take` when due: empty; `end`: ended
 * full     `take`: empty; `end`: ended. `add` must wait for `room`.
 * ended    `take`: the last batch, then null. `add` is an error.
 */
export type Gathering = {
  /** Waits for room, or until `signal` aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** @param beganMs start of decoding; now by default */
  add(read: ReadCheckpoint, rawBytes: number, beganMs?: number): void;
  /** The source has nothing ready: the batch may go early. */
  idle(): void;
  end(): void;
  /**
   * The next batch: when full, old, or at the end; or when the source is idle and the batch is
   * `lingerMs` old. Null at the end or when `signal` aborts.
   */
  take(lingerMs: () => number, signal: AbortSignal): Promise<GatheredBatch | null>;
};

type Building = {
  readonly startedAt: number;
  readonly beganMs: number;
  decodedMs: number;
  readonly first: bigint;
  last: CheckpointMark;
  readonly marks: CheckpointMark[];
  readonly block: BlockBuilder;
  readonly facts: ReadFact[];
  readonly coins: CoinDecimals[];
  readonly joined: JoinedPackage[];
  factBytes: number;
  /** Ends of epochs, and the newest summary. */
  certified: CertifiedSummary[];
  checkpoints: number;
  skipped: number;
  rawBytes: number;
};

export const createGathering = (bounds: BatchBounds): Gathering => {
  let building: Building | null = null;
  let sourceIdle = false;
  let ended = false;
  /** Wakes the waiting side. */
  const other = createWaker();

  const isFull = ({ facts, factBytes: bytes, checkpoints }: Building): boolean =>
    facts.length >= bounds.facts || bytes >= bounds.bytes || checkpoints >= bounds.checkpoints;

  const dueInMs = (batch: Building, lingerMs: number): number => {
    if (ended || isFull(batch)) return 0;
    const ageMs = performance.now() - batch.startedAt;
    return Math.max(0, (sourceIdle ? Math.min(lingerMs, bounds.ageMs) : bounds.ageMs) - ageMs);
  };

  return {
    room: async (signal) => {
      while (building !== null && isFull(building) && !signal.aborted) {
        await other.since(other.mark(), undefined, signal);
      }
    },
    add: (
      { mark, facts, coins, joined, skipped, certified },
      rawBytes,
      beganMs = performance.now(),
    ) => {
      if (ended) throw new Error("a checkpoint was added after the end of its batches");
      sourceIdle = false;
      building ??= {
        startedAt: performance.now(),
        beganMs,
        decodedMs: beganMs,
        first: mark.sequence,
        last: mark,
        marks: [],
        block: createBlockBuilder(),
        facts: [],
        coins: [],
        joined: [],
        factBytes: 0,
        certified: [],
        checkpoints: 0,
        skipped: 0,
        rawBytes: 0,
      };
      building.last = mark;
      building.decodedMs = performance.now();
      building.block.add(mark);
      building.checkpoints += 1;
      building.skipped += skipped ? 1 : 0;
      building.rawBytes += rawBytes;
      if (certified !== undefined) {
        if (building.certified.at(-1)?.nextCommittee === null) building.certified.pop();
        building.certified.push(certified);
      }
      if (facts.length > 0) building.marks.push(mark);
      for (const fact of facts) {
        building.facts.push(fact);
        building.factBytes += factBytes(fact);
      }
      building.coins.push(...coins);
      building.joined.push(...joined);
      if (building.checkpoints === 1 || isFull(building)) other.wake();
    },
    idle: () => {
      sourceIdle = true;
      other.wake();
    },
    end: () => {
      ended = true;
      other.wake();
    },
    take: async (lingerMs, signal) => {
      while (!signal.aborted) {
        if (building !== null) {
          const due = dueInMs(building, lingerMs());
          if (due === 0) {
            const { first, last, marks, block, facts, joined, coins, ...took } = building;
            building = null;
            other.wake();
            const blocks = [{ first, ...block.packed() }];
            const batch = { first, last, marks, blocks, facts, joined };
            return { ...took, coins, batch };
          }
          await other.since(other.mark(), due, signal);
        } else if (ended) {
          return null;
        } else {
          await other.since(other.mark(), undefined, signal);
        }
      }
      return null;
    },
  };
};
