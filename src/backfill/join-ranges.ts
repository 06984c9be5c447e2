/**
 * Reads a far range of checkpoints with the help of workers, and leaves the rest to the reader.
 *
 * plan → queue → workers → `backfill_ranges` → in order: link, packages, signatures → log.append
 *
 * Only the holder of the log's lock appends. A restart at any moment goes on from the log and the
 * rows, no matter which process made them.
 */
import { ChunkFormError } from "../archive/chunk.ts";
import type { Sql } from "../database/connect.ts";
import type { Queues, Wake } from "../lanes/queues.ts";
import { ContractLayoutError } from "../ledger/contract/layout.ts";
import { CheckpointDecodeError } from "../ledger/decode/cursor.ts";
import { CertificateError } from "../ledger/proof/proof-errors.ts";
import { refusalCounter } from "../ledger/reading/pass.ts";
import { openProving, type ProveBatch } from "../ledger/reading/proving.ts";
import { readPlace } from "../ledger/reading/read.ts";
import type { Guide, GuideFrom } from "../ledger/reading/reader.ts";
import { markIn } from "../log/block.ts";
import { InvalidBatchError } from "../log/log-errors.ts";
import {
  type CheckpointSpan,
  dropRange,
  failRange,
  plannedUpTo,
  planRanges,
  RANGE_CHANNEL,
  rangeAt,
  readAgainFrom,
  reviseRanges,
  unreadRanges,
} from "../log/ranges.ts";
import { followingAbort } from "../waiting/following-abort.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { createWaker } from "../waiting/waker.ts";
import { unpackRange } from "./range-content.ts";
import type { ReadRange } from "./read-range.ts";
import { paceFrom, progressOf } from "./show-progress.ts";

/** Name of the queue. */
export const BACKFILL_QUEUE = "backfill";

type Joining = {
  readonly queue: Pick<ReturnType<Queues["queue"]>, "add">;
  /** Checkpoints of a range. */
  readonly size: bigint;
  /** Ranges planned ahead of the log: read ones wait in the database. */
  readonly ahead: number;
  /** Interval of wake-ups for ranges without a result, ms. */
  readonly wakeEveryMs: number;
};

/** Of a thousand checkpoints, a range has 40 KB of times and digests, besides its facts. */
export const JOINING = { ahead: 256, wakeEveryMs: 5_000 } as const;

/** A range that is due could not be read several times. Retried; the message has its reason. */
export class RangeFailedError extends Error {
  override readonly name = "RangeFailedError";
  readonly remedy: Remedy = "retry";
}

/** A range's content does not join the log, or is not what a worker writes. */
class RangeRefusedError extends Error {
  override readonly name = "RangeRefusedError";
}

/** Wake-ups after which the due range is late, a minute: its worker's source may wait for a checkpoint without end. */
const LATE_AFTER_LOOKS = 12;

/** Failures of one range after which the reader reports it. */
const MOST_FAILURES = 3;

/** Appends what workers read up to `last`, which the reader must have been given. */
export const joinRanges = (joining: Joining): Guide => {
  // Kept over retries.
  let rateAt: ReturnType<typeof paceFrom> | undefined;
  return async (from, signal) => {
    const { log, database, on, last } = from;
    if (last === undefined) throw new Error("a backfill needs its last checkpoint");
    const { nextCheckpoint: next } = await log.highWater();
    if (next > last) return;
    await on.statement((sql) => reviseRanges(sql, { next, last }));
    using during = followingAbort(signal);
    const joiner = createJoiner(from, during.signal);
    const changed = createWaker();
    database.listen(RANGE_CHANNEL, () => changed.wake(), during.signal);
    rateAt ??= paceFrom(next, performance.now());
    const show = progressOf(from, { last, rateAt });
    let [wokenMs, looks] = [Number.NEGATIVE_INFINITY, 0];
    for (let due = next; due <= last; ) {
      signal.throwIfAborted();
      const mark = changed.mark();
      const planned = await plan(on, { due, last }, joining);
      if (planned || performance.now() - wokenMs > joining.wakeEveryMs) {
        await wake(database.sql, joining, { due, times: Math.floor(looks / LATE_AFTER_LOOKS) });
        await show(due);
        wokenMs = performance.now();
        looks += 1;
      }
      const joined = await joiner.join(due);
      if (joined === null) await changed.since(mark, joining.wakeEveryMs, signal);
      else [due, looks] = [joined + 1n, 0];
    }
  };
};

/** Plans further ranges once a quarter of them was appended; whether it did. */
const plan = async (
  on: GuideFrom["on"],
  { due, last }: { readonly due: bigint; readonly last: bigint },
  { size, ahead }: Joining,
): Promise<boolean> =>
  on.transaction(async ({ sql }) => {
    const planned = await plannedUpTo(sql);
    const ranges: CheckpointSpan[] = [];
    let first = planned.last === null ? due : planned.last + 1n;
    if (planned.count > (ahead * 3) / 4) return false;
    for (let count = planned.count; count < ahead && first <= last; count += 1) {
      const end = first + size - 1n;
      ranges.push({ first, last: end < last ? end : last });
      first = end + 1n;
    }
    await planRanges(sql, ranges);
    return ranges.length > 0;
  });

/**
 * Names ranges without a result to workers.
 * @param times how often the due one was late: each time another worker gets it, too
 */
const wake = async (
  sql: Sql,
  { queue, ahead }: Joining,
  { due, times }: { readonly due: bigint; readonly times: number },
): Promise<void> => {
  const unread = await unreadRanges(sql, ahead);
  await queue.add(
    unread.map(({ first }): Wake => {
      const again = first === due && times > 0 ? `-${times}` : "";
      return { id: `range-${first}${again}`, lane: first };
    }),
  );
};

/** Appends the range that begins with a checkpoint; its last one, or null while it was not read. */
type Joiner = { join(first: bigint): Promise<bigint | null> };

const createJoiner = (from: GuideFrom, signal: AbortSignal): Joiner => {
  const { log, database, on, source, verification, telemetry, appended, feed, refetches } = from;
  let prove: ProveBatch | null = null;
  const proofsOf = async (read: ReadRange) => {
    if (verification.level !== "signatures") return {};
    const onRefused = refusalCounter(telemetry.figures);
    const mark = await log.highWater();
    prove ??= await openProving({ sql: database.sql, source, verification, mark, onRefused });
    return prove(read, refetches, signal);
  };

  /** The log's first range follows nothing: only our own source tells its chain. */
  const assertBegins = async ({ first, blocks }: ReadRange["batch"]): Promise<void> => {
    const digest = markIn(blocks, first)?.digest;
    for await (const raw of source.checkpoints({ first, last: first }, signal)) {
      const { mark } = readPlace(raw);
      if (mark.digest === digest) continue;
      throw new RangeRefusedError(
        `checkpoint ${first} has digest ${digest} in it, but ${mark.digest} in LEDGER_SOURCE of this process: give workers the same`,
      );
    }
  };

  /** @throws RangeRefusedError when it does not follow the log, or was read without a package */
  const assertJoins = async (read: ReadRange): Promise<void> => {
    const { level, packages, previousDigest, batch } = read;
    if (level !== verification.level) {
      throw new RangeRefusedError(
        `it was read with VERIFY=${level}, not ${verification.level}: give workers the settings of this process`,
      );
    }
    const { packages: known, last } = await log.highWater();
    const lacking = known.find((address) => !packages.includes(address));
    if (lacking !== undefined) {
      throw new RangeRefusedError(`it was read without package ${lacking}, which joined before it`);
    }
    if (last === null) await assertBegins(batch);
    else if (previousDigest !== last.digest) {
      throw new RangeRefusedError(
        `it follows a checkpoint of digest ${previousDigest ?? "none"}, but checkpoint ${batch.first - 1n} has ${last.digest}`,
      );
    }
  };

  return {
    join: async (first) => {
      const row = await rangeAt(database.sql, first);
      if (row?.content == null) {
        if (row !== null && row.failures >= MOST_FAILURES) {
          throw new RangeFailedError(`range of checkpoint ${first}: ${row.failure}`);
        }
        return null;
      }
      try {
        const read = await unpackRange(row.content, Number(row.rawBytes ?? 0));
        if (read.batch.first !== first || read.batch.last.sequence !== row.last) {
          throw new RangeRefusedError("it has other checkpoints than were asked for");
        }
        await assertJoins(read);
        const proven = await proofsOf(read);
        signal.throwIfAborted();
        await log.append({ ...read.batch, ...proven }, read.coins, on);
        feed?.push({ first, last: read.batch.last, facts: read.batch.facts });
        appended(read);
        if ((read.batch.joined ?? []).length > 0) {
          await on.statement((sql) => readAgainFrom(sql, row.last + 1n));
        }
        await on.statement((sql) => dropRange(sql, first));
        return row.last;
      } catch (error) {
        if (!isOfContent(error)) throw error;
        // The next attempt verifies from the log's newest committee.
        prove = null;
        const reason = `${error.name}: ${error.message}`;
        await on.statement((sql) => failRange(sql, first, { reason, worker: null }));
        return null;
      }
    },
  };
};

/** Whether another reading of the range may help. */
const isOfContent = (error: unknown): error is Error =>
  error instanceof RangeRefusedError ||
  error instanceof CertificateError ||
  error instanceof CheckpointDecodeError ||
  error instanceof ContractLayoutError ||
  error instanceof InvalidBatchError ||
  error instanceof ChunkFormError;
