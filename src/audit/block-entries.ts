/**
 * Ends of the chain over times and digests (log_blocks), as entries of the sequence: whoever keeps one can tell
 * whether a time or digest up to there was changed since. Body: `{ chainId, from, through, hash }`.
 */
import type { Database, Sql } from "../database/connect.ts";
import { type BlockStretch, blockChainEnd, blockStretches } from "../log/block-chain.ts";
import { chainEnd, LogChangedError } from "../log/chain.ts";
import { type BlocksPlace, checkBlocks, stretchBegin } from "../log/check-blocks.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { chainIdOf } from "./log-heads.ts";
import { appendEntry, textIn } from "./sequence.ts";

/** Publishes the ends of both stretches of blocks. */
export type BlockEntries = {
  /**
   * Holds the next blocks that no entry covers against their chain, a bounded number of them, and appends an
   * entry for each stretch that ends further on than its last entry says. Returns whether that is done.
   * @throws LogChangedError (stop) when blocks do not fit their chain or the last entry; nothing is signed then
   */
  next(on: Database): Promise<{ readonly ended: boolean }>;
};

/** Of a stretch: how far it was held against its chain, and the last checkpoint that is published. */
type Known = { readonly place: BlocksPlace; readonly published: bigint };

export const createBlockEntries = (key: DeploymentKey): BlockEntries => {
  /** Stretches that are being checked, by their first checkpoint. */
  const known = new Map<bigint, Known>();

  const publish = async (sql: Sql, stretch: BlockStretch): Promise<boolean> => {
    const { from, to } = stretch;
    const end = await blockChainEnd(sql, from, to);
    const { place, published } = known.get(from) ?? (await publishedOf(sql, stretch));
    // What is published is checked; a chain that ends before that is another log's, or shortened.
    if (published >= end.next - 1n) return true;
    const { faults, place: reached } = await checkBlocks(sql, place, end.next);
    const [fault] = faults;
    if (fault !== undefined) {
      known.delete(from);
      throw new LogChangedError(fault);
    }
    const isDone = (reached.next ?? from) >= end.next;
    // An entry that is not committed is made again from what is.
    if (isDone) known.delete(from);
    else known.set(from, { place: reached, published });
    if (!isDone) return false;
    await appendEntry(sql, key, "blocks", {
      chainId: await chainIdOf(sql),
      from: `${from}`,
      through: `${end.next - 1n}`,
      hash: Buffer.from(reached.hash).toString("hex"),
    });
    return true;
  };

  return {
    next: (on) =>
      on.transaction(async ({ sql }) => {
        // First: see `extendChain`.
        await chainEnd(sql);
        for (const stretch of await blockStretches(sql)) {
          if (!(await publish(sql, stretch))) return { ended: false };
        }
        return { ended: true };
      }),
  };
};

/** Entries are looked through for the last one of a stretch, of which there are two. */
const NEWEST = 20;

/** What the sequence says of a stretch; the stretch's beginning where it says nothing. */
const publishedOf = async (sql: Sql, stretch: BlockStretch): Promise<Known> => {
  const rows = await sql<{ body: string }[]>`
    select body from log_sequence where kind = 'blocks' order by number desc limit ${NEWEST}`;
  for (const { body } of rows) {
    const said = JSON.parse(body);
    if (textIn(said, "from") !== `${stretch.from}`) continue;
    const published = BigInt(textIn(said, "through"));
    const [row] = await sql<{ reachedMs: bigint }[]>`
      select reached_ms as "reachedMs" from log_blocks
      where first_checkpoint <= ${published} and first_checkpoint + count - 1 = ${published}
      order by first_checkpoint desc limit 1`;
    // Another log, whose blocks end elsewhere, is looked at from its beginning.
    if (row === undefined) break;
    const hash = Buffer.from(textIn(said, "hash"), "hex");
    const place = { next: published + 1n, filled: stretch.filled, hash, ...row };
    return { place, published };
  }
  return { place: await stretchBegin(sql, stretch), published: -1n };
};
