/**
 * Ends of the chains of facts per coin type, as entries of the sequence: who keeps one can hold a pack of all facts
 * of that coin against it, and nothing of it is missing.
 */
import type { Sql } from "../../database/connect.ts";
import { coinEnds, LogChangedError, NO_FACTS } from "../../log/chain.ts";
import { appendOnce, lastCoinEntry } from "./coin-entries.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { type SequenceEntry, textIn } from "./sequence.ts";

/** Where a coin's chain stood when a checkpoint had ended. */
export type CoinEnd = {
  readonly chainId: string;
  readonly coinType: string;
  /** Through here the coin has no further facts. */
  readonly checkpoint: bigint;
};

/**
 * Publishes where the chain of a coin's facts stands at the end of a checkpoint: body `{ chainId, coinType,
 * checkpoint, facts, hash }` with the number of its facts up to and with `checkpoint`, and the hash of the last
 * of its checkpoints (32 zero bytes without facts). `checkpoint` is the one asked for, whether or not the coin
 * has facts in it: behind the last link there is nothing through there.
 *
 * @param sql of a transaction
 * @param end of a checkpoint that is in the log
 * @throws LogChangedError (stop) when the chain contradicts what was published of it; nothing is signed then
 */
export const publishCoinEnd = async (
  sql: Sql,
  key: DeploymentKey,
  { chainId, coinType, checkpoint }: CoinEnd,
): Promise<SequenceEntry> => {
  const before = await lastCoinEntry(sql, { kind: "coin", coinType, checkpoint });
  if (before !== undefined) await holdAgainst(sql, coinType, before);
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  const body = { chainId, coinType, checkpoint: `${checkpoint}`, facts, hash };
  return appendOnce(sql, key, { kind: "coin", coinType, checkpoint }, body, () =>
    changed(coinType, checkpoint),
  );
};

const holdAgainst = async (sql: Sql, coinType: string, { body }: SequenceEntry): Promise<void> => {
  const checkpoint = BigInt(textIn(body, "checkpoint"));
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  if (facts !== body.facts || hash !== body.hash) throw changed(coinType, checkpoint);
};

const changed = (coinType: string, checkpoint: bigint) =>
  new LogChangedError({
    checkpoint,
    what: `log_coin_chain has another end for ${coinType} than the one that was signed in the sequence: facts of it were changed, and the chain made anew`,
  });

/** The last link of a coin up to a checkpoint, as an entry has it. */
const linkAt = async (
  sql: Sql,
  coinType: string,
  checkpoint: bigint,
): Promise<{ readonly facts: string; readonly hash: string }> => {
  const end = (await coinEnds(sql, [coinType], checkpoint)).get(coinType) ?? NO_FACTS;
  return { facts: `${end.facts}`, hash: Buffer.from(end.hash).toString("hex") };
};
