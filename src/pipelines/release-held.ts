/**
 * Gives held coins their facts again: at a pipeline's start, since a new version or a mended log may apply them, and for
 * `quarantine retry`. Also goes on with a release, or a fill of digests, that ended early.
 */
import { getTableName } from "drizzle-orm";
import type { Database } from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import { countOfCoin } from "../log/coin-facts.ts";
import { type HeldCoin, type HeldCoins, heldIn } from "../projections/held-coins.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import type { Pipeline } from "./pipeline.ts";
import { fillDigests, type Releasing, releaseCoin } from "./release.ts";

export type ReleasingHeld = Omit<Releasing, "on" | "coinType"> & {
  readonly database: Database;
  /** Only this one; all by default. */
  readonly coinType?: string | undefined;
  /** Called for each coin with null once it is released, else with why it is held on. */
  readonly onTried: (coinType: string, held: HeldCoin | null) => void;
};

/** Coins that a pipeline holds now. */
export const heldCoins = async (
  { sql }: Pick<Database, "sql">,
  { name, watermark }: ProgressTables,
): Promise<HeldCoins> => {
  const [row] = await sql<{ held: string | null }[]>`
    select held::text as held from ${sql(getTableName(watermark))} where pipeline = ${name}`;
  return heldIn(row?.held ?? null);
};

/** Facts in the log that the rows lack. */
export const waitingFacts = (
  { sql }: Pick<Database, "sql">,
  { facts }: Pipeline,
  coinType: string,
  { from }: HeldCoin,
): Promise<bigint> => countOfCoin(sql, { coinType, names: facts, from });

/**
 * Tries each held coin once. One process at a time: two would fill in the same digests.
 * @throws DigestsInterruptedError (retry); the signal's reason when it aborts
 */
export const releaseHeld = async (releasing: ReleasingHeld): Promise<void> => {
  const { database, pipeline, coinType: only, signal, onTried } = releasing;
  await using _lock = await acquireWriterLock(database, `release ${pipeline.name}`, { signal });
  for (const coinType of (await heldCoins(database, pipeline)).keys()) {
    if (only !== undefined && coinType !== only) continue;
    onTried(coinType, await releaseCoin({ ...releasing, on: database, coinType }));
  }
  await fillDigests(database, pipeline);
};
