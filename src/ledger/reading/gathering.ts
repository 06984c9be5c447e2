import { type BlockBuilder, createBlockBuilder } from "../../log/block.ts";
import type {
  AppendBatch,
  CheckpointMark,
  CoinDecimals,
  JoinedPackage,
  ReadFact,
} from "../../log/fact.ts";
import { factBytes } from "../../log/fact-size.ts";
import { createWaker } from "../../waiting/waker.ts";
import type { CertifiedSummary } from "../proof/certificate.ts";
import type { ReadCheckpoint } from "./read.ts";

/**
 * When a batch is full. One checkpoint is always taken whole, so a batch may pass each bound by what
 * its last checkpoint holds.
 */
export type BatchBounds = {
  readonly facts: number;
  /** Bytes of facts in memory, roughly (`factBytes`). */
  readonly bytes: number;
  readonly checkpoints: number;
  /** A batch this old is appended though it is not full, milliseconds. */
  readonly ageMs: number;
};

/** A batch ready to be appended, and what it took to read it. */
export type GatheredBatch = {
  readonly batch: AppendBatch;
  readonly coins: readonly CoinDecimals[];
  readonly checkpoints: number;
  /**
   * Where signatures are verified: the summaries whose signatures prove the batch, which are those that end
   * an epoch and the last one, ascending.
   */
  readonly certified?: readonly CertifiedSummary[];
  /** Checkpoints that the prefilter ruled out. */
  readonly skipped: number;
  /** Bytes of the raw checkpoints. */
  readonly rawBytes: number;
  /** When decoding of its first checkpoint began and that of its last one ended, `performance.now()`. */
  readonly beganMs: number;
  readonly decodedMs: number;
};

/** Checkpoints gathered to a batch by one side, and taken by the other, which appends them. */
export type Gathering = {
  /** Resolves when the batch has room, or when `signal` aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** Adds the next checkpoint; `rawBytes` is what it was read from, `beganMs` since when (now unless given). */
  add(read: ReadCheckpoint, rawBytes: number, beganMs?: number): void;
  /** The source has nothing ready: what there is may go now rather than wait for more. */
  idle(): void;
  /** Nothing more will come. */
  end(): void;
  /**
   * The next batch: when it is full or too old, when nothing more comes, or when the source is idle
   * and the batch has waited for `lingerMs`. Null at the end, or when `signal` aborts.
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
  /** Summaries that end an epoch, and the newest one if it does not. */
  certified: CertifiedSummary[];
  checkpoints: number;
  skipped: number;
  rawBytes: number;
};

export const createGathering = (bounds: BatchBounds): Gathering => {
  let building: Building | null = null;
  let sourceIdle = false;
  let ended = false;
  /** The side that waits, if any: the two wait for each other. */
  const other = createWaker();

  const isFull = ({ facts, factBytes: bytes, checkpoints }: Building): boolean =>
    facts.length >= bounds.facts || bytes >= bounds.bytes || checkpoints >= bounds.checkpoints;

  /** Milliseconds until the batch is due; 0: now. */
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
            const batch = { first, last, marks, block: block.packed(), facts, joined };
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
