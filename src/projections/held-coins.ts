/**
 * Coins that a pipeline holds: a fact of the coin could not be applied, so that its facts from that checkpoint on are not
 * in the rows. All other coins go on. The held facts are the log's own, from `from` to the watermark.
 *
 * They stand in the watermark's row (`held`), which every batch moves, every guarded statement reads, and a replay
 * exchanges.
 */
import type { Fact } from "../log/fact.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { COMPLETENESS } from "./incomplete-coins.ts";

/** Where a fact is in the log; with the type of its event or object. */
export type FactPlace = Pick<
  Fact,
  "checkpoint" | "transaction" | "kind" | "index" | "type" | "txDigest"
>;

export type HeldCoin = {
  /** First checkpoint whose facts of the coin are not in the rows. */
  readonly from: bigint;
  readonly reason: string;
  /** The fact that cannot be applied; null when the database refused more than one together. */
  readonly fact: FactPlace | null;
  /** ISO 8601. */
  readonly since: string;
};

/** Stands for a coin type in statements that read no coin's rows; no coin type is empty. */
export const NO_COIN = "";

/** A coin that a pipeline holds. */
export type HeldIn = HeldCoin & { readonly pipeline: string; readonly coinType: string };

/** By coin type. */
export type HeldCoins = ReadonlyMap<string, HeldCoin>;

/** When more have to be held, not a coin is at fault: the pipeline stops. Bounds the watermark's row. */
export const MOST_HELD = 100;

const LONGEST_REASON = 500;

/** @param error why the fact, or those of the checkpoint, could not be applied */
export const heldFrom = (
  from: bigint,
  { message }: Error,
  fact: FactPlace | null = null,
): HeldCoin => ({
  from,
  fact: fact && placeOf(fact),
  // Postgres keeps no NUL in JSON.
  reason: message.slice(0, LONGEST_REASON).replaceAll("\0", "\ufffd"),
  since: new Date().toISOString(),
});

const placeOf = ({
  checkpoint,
  transaction,
  kind,
  index,
  type,
  txDigest,
}: FactPlace): FactPlace => ({
  checkpoint,
  transaction,
  kind,
  index,
  type,
  txDigest,
});

/** As the watermark has it, parsed. */
export type StoredHeld = Readonly<
  Record<
    string,
    Omit<HeldCoin, "from" | "fact"> & {
      readonly from: string;
      readonly fact: (Omit<FactPlace, "checkpoint"> & { readonly checkpoint: string }) | null;
    }
  >
>;

export const heldOf = (stored: StoredHeld | null): HeldCoins =>
  new Map(
    Object.entries(stored ?? {}).map(([coinType, { from, fact, ...rest }]) => [
      coinType,
      {
        ...rest,
        from: BigInt(from),
        fact: fact && { ...fact, checkpoint: BigInt(fact.checkpoint) },
      },
    ]),
  );

/** @param text of a watermark's `held` */
export const heldIn = (text: string | null): HeldCoins =>
  heldOf(text === null ? null : JSON.parse(text));

/** The coins that a pipeline holds, by coin type. */
export const heldInPipeline = (pipeline: string, held: HeldCoins): readonly HeldIn[] =>
  [...held]
    .map(([coinType, coin]) => ({ pipeline, coinType, ...coin }))
    .sort((a, b) => (a.coinType < b.coinType ? -1 : 1));

/** JSON for a watermark's `held`. */
export const heldText = (held: HeldCoins): string =>
  JSON.stringify(Object.fromEntries(held), (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );

/** First checkpoint that lacks facts of one of these coins; undefined when none is held. */
export const firstHeld = (held: HeldCoins): bigint | undefined =>
  [...held.values()].map(({ from }) => from).sort((a, b) => (a < b ? -1 : 1))[0];

/** In words, for callers and operators. */
export const inQuarantine = ({
  pipeline,
  coinType,
  from,
  reason,
}: Pick<HeldIn, "pipeline" | "coinType" | "from" | "reason">): string =>
  pipeline === COMPLETENESS
    ? `${coinType} is incomplete from checkpoint ${from} on: ${reason}`
    : `${coinType} is in quarantine in ${pipeline} from ${unitOf(coinType)} ${from} on: ${reason}`;

/** What `from` counts: blocks for an EVM token, which is named by its chain and address. */
export const unitOf = (coinType: string): "block" | "checkpoint" =>
  /^\d+:0x/.test(coinType) ? "block" : "checkpoint";

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
    super(inQuarantine({ pipeline, coinType, from, reason }));
    this.coinType = coinType;
    this.pipeline = pipeline;
    this.checkpoint = from;
    this.reason = reason;
  }
}
