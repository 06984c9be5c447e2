/**
 * Releases a held coin: applies the facts that its rows lack, from the log and in bounded batches, and then fills in the
 * digests, as if it had never been held.
 *
 * The pipeline goes on meanwhile and needs no lock: its batches make no rows of a held coin. A release counts as an
 * exchange of the tables (`rebuilds`), so that a batch made before it fails and is made again with the coin.
 */
import { getTableName } from "drizzle-orm";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import { within } from "../database/session.ts";
import { appendRows } from "../database/table-rows.ts";
import type { FactSource } from "../log/log.ts";
import { type CheckpointDigest, digestsOf, NO_ROWS, shownDigest } from "../projections/digests.ts";
import { type HeldCoin, type HeldCoins, heldIn, heldText } from "../projections/held-coins.ts";
import {
  type LeftOut,
  leftOutIn,
  leftOutOf,
  withoutLeftOut,
} from "../projections/left-out-facts.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import { noteHolds } from "../projections/quarantines.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { type Moving, writeRows } from "./apply.ts";
import { refusedCoins, soundRows } from "./held-rows.ts";
import type { Pipeline } from "./pipeline.ts";
import { linesOf, storedCheckpoints } from "./stored-rows.ts";

export type Releasing = {
  /** The database, not a transaction. */
  readonly on: Transactor;
  readonly pipeline: Pipeline;
  readonly coinType: string;
  readonly log: FactSource;
  /** Bounds of one batch. */
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
};

/** After a pass this short, milliseconds, the pipeline may wait for the rest. */
const SHORT_PASS_MS = 1_000;

/**
 * Applies a held coin's facts in order and releases it; a coin that is not held has none. Resumes where an earlier call
 * ended.
 * @returns null when the coin is released, else why it is held on: the facts before are applied
 * @throws the signal's reason when it aborts
 */
export const releaseCoin = async (releasing: Releasing): Promise<HeldCoin | null> => {
  const { on, pipeline, signal } = releasing;
  for (let last: "pass" | "all" = "pass"; ; ) {
    signal.throwIfAborted();
    const beganMs = performance.now();
    const passed: Passed =
      last === "pass"
        ? await pass(releasing, on)
        : await on.transaction(async (tx) => {
            await lockWatermark(tx, pipeline);
            return await pass(releasing, within(tx), tx);
          });
    if (passed.heldOn !== undefined) return passed.heldOn;
    if (passed.isReleased) break;
    last = passed.isAll && performance.now() - beganMs < SHORT_PASS_MS ? "all" : "pass";
  }
  await fillDigests(on, pipeline);
  return null;
};

type Passed = {
  /** The coin is not held, or not any more. */
  readonly isReleased?: boolean;
  /** It has all facts up to the watermark, as it was when the pass began. */
  readonly isAll?: boolean;
  /** A fact could not be applied again. */
  readonly heldOn?: HeldCoin | undefined;
};

/** Applies one batch of the coin. In a transaction that locks the watermark it releases the coin after the last one. */
const pass = async (
  { pipeline, coinType, log, maxFacts, maxBytes }: Releasing,
  on: Transactor,
  locked?: Tx,
): Promise<Passed> => {
  const before = await on.statement((sql) => readMark(sql, pipeline));
  const coin = before.held.get(coinType);
  if (coin === undefined) return { isReleased: true };
  const { next } = before;
  const names = pipeline.facts;
  const batch =
    coin.from < next
      ? await log.readFacts({ from: coin.from, upTo: next - 1n, names, maxFacts, maxBytes })
      : null;
  const own = batch?.facts.filter((fact) => fact.coinType === coinType) ?? [];
  const facts = withoutLeftOut(own, before.leftOut);
  let sound = await soundRows(pipeline, facts, on, new Map());
  const move = (heldOn: HeldCoin | undefined) => {
    const from = batch === null ? next : batch.last.sequence + 1n;
    const isAll = heldOn === undefined && from >= next;
    const now =
      locked !== undefined && isAll
        ? undefined
        : {
            ...coin,
            from,
            ...(heldOn && { from: heldOn.from, reason: heldOn.reason, fact: heldOn.fact }),
          };
    return { moving: moveHeld(pipeline, coinType, before, now), isAll };
  };
  for (;;) {
    const heldOn = sound.found.get(coinType);
    const { moving, isAll } = move(heldOn);
    try {
      const isReleased = locked !== undefined && isAll;
      const also =
        isReleased || heldOn !== undefined ? ({ sql }: Tx) => noteHolds(sql, pipeline) : undefined;
      await writeRows(on, moving, sound.rows.writes, also, async () => new HeldMovedError());
      return { isAll, heldOn, isReleased };
    } catch (error) {
      // The next pass begins from what another one has done.
      if (error instanceof HeldMovedError) return {};
      if (locked !== undefined) throw error;
      const refused = await refusedCoins(pipeline, sound.facts, on, error);
      if (refused.size === 0) throw error;
      sound = await soundRows(pipeline, facts, on, new Map(), refused);
    }
  }
};

/** Another process released the coin, or the tables were exchanged. */
class HeldMovedError extends Error {}

type Mark = {
  readonly next: bigint;
  readonly rebuilds: number;
  readonly held: HeldCoins;
  /** Hex; of the checkpoint before `undigestedFrom`. */
  readonly digest: string | null;
  readonly undigestedFrom: bigint | null;
  readonly leftOut: LeftOut;
};

type MarkRow = Omit<Mark, "held" | "leftOut"> & {
  readonly heldText: string | null;
  readonly leftOutText: string | null;
};

const readMark = async (sql: Sql, { name, watermark }: ProgressTables): Promise<Mark> => {
  const [row] = await sql<MarkRow[]>`
    select next_checkpoint as next, rebuilds, held::text as "heldText", encode(digest, 'hex') as digest,
           undigested_from as "undigestedFrom", ${sql.unsafe(leftOutOf("w.pipeline"))} as "leftOutText"
    from ${sql(getTableName(watermark))} w where pipeline = ${name}`;
  if (row === undefined) throw new Error(`${name}: the watermark lost its row`);
  return { ...row, held: heldIn(row.heldText), leftOut: leftOutIn(row.leftOutText) };
};

/** Lets no batch or release move the pipeline until the transaction ends. */
export const lockWatermark = async (
  { sql }: Tx,
  { name, watermark }: ProgressTables,
): Promise<void> => {
  await sql`select from ${sql(getTableName(watermark))} where pipeline = ${name} for update`;
};

/** @param now undefined: released */
const moveHeld = (
  { name, watermark }: ProgressTables,
  coinType: string,
  { rebuilds, held }: Mark,
  now: HeldCoin | undefined,
): Moving => {
  const from = held.get(coinType)?.from ?? 0n;
  const given = [name, `${rebuilds}`, coinType, from];
  const set =
    now === undefined
      ? "held = nullif(held - $3::text, '{}'), rebuilds = rebuilds + 1"
      : `held = held || $${given.push(heldText(new Map([[coinType, now]])))}::jsonb`;
  return {
    mark: `
      update ${getTableName(watermark)} set ${set}
      where pipeline = $1 and rebuilds = $2 and (held -> $3::text ->> 'from')::int8 = $4
      returning 1`,
    given,
  };
};

/** Rows of digests that are written at once. */
const DIGESTS_AT_ONCE = 10_000;

/**
 * Fills in the digests from the stored rows once no coin is held: first up to where the pipeline is, then, while it
 * waits, the rest. Resumes where an earlier call ended.
 */
export const fillDigests = async (on: Transactor, pipeline: Pipeline): Promise<void> => {
  await on.transaction((tx) => fillUpTo(tx, pipeline, "open"));
  await on.transaction(async (tx) => {
    await lockWatermark(tx, pipeline);
    await fillUpTo(tx, pipeline, "whole");
  });
};

const fillUpTo = async (tx: Tx, pipeline: Pipeline, then: "open" | "whole"): Promise<void> => {
  const { sql } = tx;
  const { watermark, digests, layout, name } = pipeline;
  const { next, rebuilds, held, digest, undigestedFrom } = await readMark(sql, pipeline);
  if (undigestedFrom === null || held.size > 0) return;
  // Rows of committed checkpoints do not change: a state that ends later moves to another table, in one statement.
  const span = { first: undigestedFrom, last: next - 1n };
  let newest: Uint8Array = digest === null ? NO_ROWS : Buffer.from(digest, "hex");
  const made: CheckpointDigest[] = [];
  const write = async () => {
    if (made.length > 0) await appendRows(sql, digests, made.splice(0));
  };
  for await (const { checkpoint, rows } of storedCheckpoints(sql, pipeline, span)) {
    for (const one of digestsOf(newest, layout, linesOf(checkpoint, rows))) {
      newest = one.digest;
      made.push(one);
    }
    if (made.length >= DIGESTS_AT_ONCE) await write();
  }
  await write();
  const moved = await sql`
    update ${sql(getTableName(watermark))} set
      digest = decode(${newest === NO_ROWS ? null : shownDigest(newest)}, 'hex'),
      undigested_from = ${then === "whole" ? null : next}, rebuilds = rebuilds + ${then === "whole" ? 1 : 0}
    where pipeline = ${name} and rebuilds = ${rebuilds} and held is null and undigested_from = ${undigestedFrom}
    returning 1`;
  if (moved.length === 0) throw new DigestsInterruptedError(name);
};

/** A coin was held, or the tables exchanged, while digests were filled in. Nothing was written. Give it again. */
export class DigestsInterruptedError extends Error {
  override readonly name = "DigestsInterruptedError";
  readonly remedy: Remedy = "retry";

  constructor(pipeline: string) {
    super(`${pipeline}: a coin was held, or the tables exchanged, while digests were filled in`);
  }
}
