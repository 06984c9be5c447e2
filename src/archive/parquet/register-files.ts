/** Movements, and the register at a checkpoint, from one snapshot. */
import type { Tx } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { decimalsOf } from "../../log/coins.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../projections/needed.ts";
import { assertCommitted, NotYetIndexedError, STILL_FILLING } from "../../projections/past.ts";
import { tokensAt } from "../../projections/tokens.ts";
import {
  grantRows,
  heldAt,
  movementRows,
  objectRows,
  walletRows,
} from "../../projections/whole-register.ts";
import { highest } from "../../values/bigints.ts";
import type { ExportFolder } from "./folder.ts";
import { GRANTS, MOVEMENTS, OBJECTS, REGISTER, type RegisterToken, TOKENS } from "./tables.ts";

/**
 * To be called in a snapshot.
 * @throws NotYetIndexedError (wait) while a pipeline is being rebuilt or filled
 */
export const writeRegister = async (tx: Tx, folder: ExportFolder): Promise<void> => {
  const { sql } = tx;
  const { first, last, at } = folder.wanted;
  const furthest = highest(last, at);
  assertCommitted(furthest, await guardedReads(tx, FOR_CAP_TABLES).committed());
  const mark = await checkpointMark(tx, at);
  if (mark === null) throw new NotYetIndexedError(STILL_FILLING);
  const held = (await heldAt(sql, FOR_CAP_TABLES, furthest)).map(
    ({ coinType, pipeline, from, reason }) => ({ coinType, pipeline, from, reason }),
  );
  const without = [...new Set(held.map(({ coinType }) => coinType))];
  const register = {
    held,
    metadata: () => ({
      checkpoint: `${at}`,
      checkpoint_time: new Date(Number(mark.timestampMs)).toISOString(),
      checkpoint_digest: mark.digest,
    }),
  };
  const coins = (await allTokens(tx, at)).filter(({ coinType }) => !without.includes(coinType));

  async function* wallets() {
    const { sequence: checkpoint, timestampMs } = mark ?? { sequence: at, timestampMs: 0n };
    for (const { coinType } of coins) yield* walletRows(sql, coinType, { checkpoint, timestampMs });
  }
  await folder.write({ name: "tokens.parquet", columns: TOKENS, rows: once(coins), ...register });
  await folder.write({
    ...{ name: "register.parquet", columns: REGISTER, rows: wallets() },
    ...register,
  });
  await folder.write({
    ...{ name: "grants.parquet", columns: GRANTS, rows: grantRows(sql, at, { without }) },
    ...register,
  });
  await folder.write({
    ...{ name: "objects.parquet", columns: OBJECTS, rows: objectRows(sql, at, { without }) },
    ...register,
  });
  await folder.write({
    ...{ name: "movements.parquet", columns: MOVEMENTS, held },
    rows: movementRows(sql, { from: first, to: last, without }),
    metadata: () => ({ first_checkpoint: `${first}`, last_checkpoint: `${last}` }),
  });
};

async function* once<Row>(rows: readonly Row[]) {
  yield rows;
}

const TOKENS_PER_PAGE = 1_000;

const allTokens = async (tx: Tx, at: bigint): Promise<readonly RegisterToken[]> => {
  const found: RegisterToken[] = [];
  for (let after = ""; ; ) {
    const page = await tokensAt(tx, { limit: TOKENS_PER_PAGE, after, at });
    const decimals = await decimalsOf(
      tx,
      page.map(({ coinType }) => coinType),
    );
    for (const token of page) {
      after = token.coinType;
      found.push({ ...token, decimals: decimals.get(after) ?? null });
    }
    if (page.length < TOKENS_PER_PAGE) return found;
  }
};
