/** Rows of a batch without the facts of held coins, and which coins must be held for its sake. */
import postgres from "postgres";
import type { Transactor } from "../database/connect.ts";
import type { Fact } from "../log/fact.ts";
import { ImpossibleBalanceError } from "../projections/balances.ts";
import { writeAll } from "../projections/batch-write.ts";
import { type HeldCoin, type HeldCoins, heldFrom, MOST_HELD } from "../projections/held-coins.ts";
import { errorOf } from "../waiting/remedy.ts";
import { type BatchRows, makeRows, type Pipeline } from "./pipeline.ts";
import { UnappliableFactError } from "./undecodable-fact.ts";

export type SoundRows = {
  readonly rows: BatchRows;
  /** The facts that they were made from. */
  readonly facts: readonly Fact[];
  /** Coins held from a checkpoint of this batch on. */
  readonly found: HeldCoins;
};

/**
 * Makes the rows of a batch without the facts of held coins. A coin with a fact that cannot be applied is held from
 * the fact's checkpoint on: rows are of whole checkpoints.
 * @param held before the batch
 * @param found in this batch so far
 * @throws UnappliableFactError (stop) when the fact has no coin type, or too many coins are held
 */
export const soundRows = async (
  pipeline: Pipeline,
  all: readonly Fact[],
  on: Transactor,
  held: HeldCoins,
  found: HeldCoins = new Map(),
): Promise<SoundRows> => {
  const now = new Map(found);
  for (;;) {
    const facts = withoutHeld(all, new Map([...held, ...now]));
    try {
      return { rows: await makeRows(pipeline, facts, on), facts, found: now };
    } catch (error) {
      if (!(error instanceof UnappliableFactError) || !facts.includes(error.fact)) throw error;
      const { coinType, checkpoint } = error.fact;
      if (coinType === null || held.size + now.size >= MOST_HELD) throw error;
      now.set(coinType, heldFrom(checkpoint, error, error.fact));
    }
  }
};

const withoutHeld = (facts: readonly Fact[], held: HeldCoins): readonly Fact[] => {
  if (held.size === 0) return facts;
  return facts.filter(({ coinType, checkpoint }) => {
    const from = coinType === null ? undefined : held.get(coinType)?.from;
    return from === undefined || checkpoint < from;
  });
};

/** Classes of what Postgres refuses for its values: data exceptions, and constraints. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ImpossibleBalanceError ||
  (error instanceof postgres.PostgresError && /^2[23]/.test(error.code));

/**
 * The coins whose rows the database refuses by themselves, each from the first such checkpoint on; empty when the error
 * is no refusal, or no coin's alone. Halves the coins, then the checkpoints: one bad coin of 1,000 takes about twenty
 * tries.
 * @param on outside a transaction: each try is one that is rolled back
 */
export const refusedCoins = async (
  pipeline: Pipeline,
  facts: readonly Fact[],
  on: Transactor,
  error: unknown,
): Promise<HeldCoins> => {
  const refused = new Map<string, HeldCoin>();
  if (!isRefusal(error)) return refused;
  const tryWith = (isTried: (fact: Fact) => boolean) =>
    refusalOf(pipeline, facts.filter(isTried), on);
  const search = async (coins: readonly string[]): Promise<void> => {
    const [only] = coins;
    if (only === undefined) return;
    const among = new Set<string | null>(coins);
    const why = await tryWith(({ coinType }) => among.has(coinType));
    if (why === undefined) return;
    if (coins.length === 1)
      return void refused.set(only, await firstRefused(facts, only, why, tryWith));
    const middle = coins.length / 2;
    await search(coins.slice(0, middle));
    await search(coins.slice(middle));
  };
  await search([...new Set(facts.flatMap(({ coinType }) => coinType ?? []))]);
  return refused;
};

/** The first checkpoint with which the facts of a refused coin are refused. */
const firstRefused = async (
  facts: readonly Fact[],
  coinType: string,
  refusal: Error,
  tryWith: (isTried: (fact: Fact) => boolean) => Promise<Error | undefined>,
): Promise<HeldCoin> => {
  const own = facts.filter((fact) => fact.coinType === coinType);
  const checkpoints = [...new Set(own.map(({ checkpoint }) => checkpoint))];
  // Accepted up to `low`, excluded; refused with `high`.
  let [low, high, why] = [0, checkpoints.length - 1, refusal];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const last = checkpoints[middle] ?? 0n;
    const found = await tryWith((fact) => fact.coinType === coinType && fact.checkpoint <= last);
    if (found === undefined) low = middle + 1;
    else [high, why] = [middle, found];
  }
  return heldFrom(checkpoints[high] ?? 0n, why);
};

/** Why the database refuses rows of these facts; undefined when it does not. Writes nothing. */
const refusalOf = async (
  pipeline: Pipeline,
  facts: readonly Fact[],
  on: Transactor,
): Promise<Error | undefined> => {
  const { writes } = await makeRows(pipeline, facts, on);
  const tried = new Error("tried, and to be rolled back");
  try {
    await on.transaction(async (tx) => {
      await writeAll(tx, writes);
      throw tried;
    });
  } catch (error) {
    if (error === tried) return undefined;
    if (isRefusal(error)) return errorOf(error);
    throw error;
  }
  return undefined;
};
