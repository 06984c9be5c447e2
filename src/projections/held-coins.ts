/**
 * Coins that a pipeline holds: a fact of the coin could not be applied, so that its facts from that checkpoint on are not
 * in the rows. All other coins go on. The held facts are the log's own, from `from` to the watermark.
 *
 * They stand in the watermark's row (`held`), which every batch moves, every guarded statement reads, and a replay
 * exchanges.
 */
import type { Remedy } from "../waiting/remedy.ts";

export type HeldCoin = {
  /** First checkpoint whose facts of the coin are not in the rows. */
  readonly from: bigint;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

/** By coin type. */
export type HeldCoins = ReadonlyMap<string, HeldCoin>;

/** When more have to be held, not a coin is at fault: the pipeline stops. Bounds the watermark's row. */
export const MOST_HELD = 100;

const LONGEST_REASON = 500;

/** @param error why a fact could not be applied */
export const heldFrom = (from: bigint, { message }: Error): HeldCoin => ({
  from,
  // Postgres keeps no NUL in JSON.
  reason: message.slice(0, LONGEST_REASON).replaceAll("\0", "\ufffd"),
  since: new Date().toISOString(),
});

/** As the watermark has it, parsed. */
export type StoredHeld = Readonly<
  Record<string, Omit<HeldCoin, "from"> & { readonly from: string }>
>;

export const heldOf = (stored: StoredHeld | null): HeldCoins =>
  new Map(
    Object.entries(stored ?? {}).map(([coinType, held]) => [
      coinType,
      { ...held, from: BigInt(held.from) },
    ]),
  );

/** @param text of a watermark's `held` */
export const heldIn = (text: string | null): HeldCoins =>
  heldOf(text === null ? null : JSON.parse(text));

/** JSON for a watermark's `held`. */
export const heldText = (held: HeldCoins): string =>
  JSON.stringify(
    Object.fromEntries(
      [...held].map(([coinType, one]) => [coinType, { ...one, from: `${one.from}` }]),
    ),
  );

/** First checkpoint that lacks facts of one of these coins; undefined when none is held. */
export const firstHeld = (held: HeldCoins): bigint | undefined =>
  [...held.values()].map(({ from }) => from).sort((a, b) => (a < b ? -1 : 1))[0];

/**
 * The rows lack facts of this coin that could not be applied. Wait until the coin is released, or ask for the state
 * before.
 */
export class QuarantinedError extends Error {
  override readonly name = "QuarantinedError";
  readonly remedy: Remedy = "wait";
  readonly coinType: string;
  readonly pipeline: string;
  readonly checkpoint: bigint;
  readonly reason: string;

  constructor(pipeline: string, coinType: string, { from, reason }: HeldCoin) {
    super(`${coinType} is in quarantine from checkpoint ${from} on: ${reason}`);
    this.coinType = coinType;
    this.pipeline = pipeline;
    this.checkpoint = from;
    this.reason = reason;
  }
}
