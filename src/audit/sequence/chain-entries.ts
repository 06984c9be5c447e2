/**
 * Sequence entries with the ends of the hash chains over times and digests (log_blocks) and input
 * versions (log_inputs): a saved entry shows later changes up to its checkpoint. Body: `{ chainId,
 * from, through, hash }`.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { type BlockStretch, blockChainEnd, blockStretches } from "../../log/block-chain.ts";
import { chainEnd, LogChangedError, type LogFault } from "../../log/chain.ts";
import { type BlocksPlace, checkBlocks, stretchBegin } from "../../log/check-blocks.ts";
import { checkInputs, type InputStretch, inputEnd, inputStretches } from "../../log/input-chain.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { appendEntry, chainIdOf, logSince, textIn } from "./sequence.ts";

/** Publishes the ends of both chains, for each stretch. */
type ChainEntries = {
  /**
   * Checks a bounded part of the unpublished log against its chain, and appends an entry for each
   * stretch that grew since its last entry. Returns whether all is done.
   * @throws LogChangedError (stop) when the log does not match a chain or the last entry; nothing
   * is signed then
   */
  next(on: Database): Promise<{ readonly ended: boolean }>;
};

/** Content of a stretch's last entry. */
type Published = { readonly through: bigint; readonly hash: Buffer };

type Place = { readonly next: bigint | null };

/** A chain whose ends are published; `At` is a check's place in it. */
type PublishedChain<Stretch extends { readonly from: bigint }, At extends Place> = {
  readonly kind: "blocks" | "inputs";
  readonly stretches: (sql: Sql) => Promise<readonly Stretch[]>;
  /** Last checkpoint of a stretch in the chain; below its first if none. */
  readonly end: (
    sql: Sql,
    stretch: Stretch,
  ) => Promise<{ readonly through: bigint; readonly hash: Uint8Array }>;
  readonly begin: (sql: Sql, stretch: Stretch) => Promise<At>;
  /** Place after the published end; null where another log's blocks end elsewhere. */
  readonly behind: (sql: Sql, stretch: Stretch, published: Published) => Promise<At | null>;
  readonly check: (
    sql: Sql,
    place: At,
    before: bigint,
  ) => Promise<{ readonly faults: readonly LogFault[]; readonly place: At }>;
};

const BLOCKS: PublishedChain<BlockStretch, BlocksPlace> = {
  kind: "blocks",
  stretches: blockStretches,
  end: async (sql, { from, to }) => {
    const { next, hash } = await blockChainEnd(sql, from, to);
    return { through: next - 1n, hash };
  },
  begin: stretchBegin,
  behind: async (sql, { filled }, { through, hash }) => {
    const [row] = await sql<{ reachedMs: bigint }[]>`
      select reached_ms as "reachedMs" from log_blocks
      where first_checkpoint <= ${through} and first_checkpoint + count - 1 = ${through}
      order by first_checkpoint desc limit 1`;
    return row === undefined ? null : { next: through + 1n, filled, hash, ...row };
  },
  check: checkBlocks,
};

const INPUTS: PublishedChain<InputStretch, { readonly next: bigint }> = {
  kind: "inputs",
  stretches: inputStretches,
  end: async (sql, stretch) => {
    const { checkpoint, hash } = await inputEnd(sql, stretch);
    return { through: checkpoint, hash };
  },
  begin: async (_, { from }) => ({ next: from }),
  behind: async (sql, { from }, { through, hash }) => {
    const end = await inputEnd(sql, { from, to: through + 1n });
    if (end.checkpoint === through && hash.equals(end.hash)) return { next: through + 1n };
    const what = "log_input_chain does not have the hash of an entry of the sequence";
    throw new LogChangedError({ checkpoint: through, what });
  },
  check: checkInputs,
};

export const createChainEntries = (key: DeploymentKey): ChainEntries => {
  const chains = [publishing(key, BLOCKS), publishing(key, INPUTS)];
  return {
    next: (on) =>
      on.transaction(async ({ sql }) => {
        // First: see `extendChain`.
        await chainEnd(sql);
        for (const publish of chains) if (!(await publish(sql))) return { ended: false };
        return { ended: true };
      }),
  };
};

/** Publishes a chain's ends; returns whether that is done. */
const publishing = <Stretch extends { readonly from: bigint }, At extends Place>(
  key: DeploymentKey,
  chain: PublishedChain<Stretch, At>,
) => {
  /** Stretches being checked, by first checkpoint: place, and last published checkpoint. */
  const known = new Map<bigint, { readonly place: At; readonly published: bigint }>();

  const beginning = async (sql: Sql, stretch: Stretch) => {
    const published = await publishedOf(sql, chain.kind, stretch.from);
    const place = published && (await chain.behind(sql, stretch, published));
    if (place === null) return { place: await chain.begin(sql, stretch), published: -1n };
    return { place, published: published?.through ?? -1n };
  };

  const publish = async (sql: Sql, stretch: Stretch): Promise<boolean> => {
    const { from } = stretch;
    const { through, hash } = await chain.end(sql, stretch);
    if (through < from) return true;
    const { place, published } = known.get(from) ?? (await beginning(sql, stretch));
    // Published parts were checked; a chain that ends earlier is another log's, or was shortened.
    if (published >= through) return true;
    const { faults, place: reached } = await chain.check(sql, place, through + 1n);
    const [fault] = faults;
    if (fault !== undefined) {
      known.delete(from);
      throw new LogChangedError(fault);
    }
    const isDone = (reached.next ?? from) > through;
    // If the entry is not committed, the stretch is checked again from what is.
    if (isDone) known.delete(from);
    else known.set(from, { place: reached, published });
    if (!isDone) return false;
    await appendEntry(sql, key, chain.kind, {
      chainId: await chainIdOf(sql),
      from: `${from}`,
      through: `${through}`,
      hash: Buffer.from(hash).toString("hex"),
    });
    return true;
  };

  return async (sql: Sql): Promise<boolean> => {
    for (const stretch of await chain.stretches(sql)) {
      if (!(await publish(sql, stretch))) return false;
    }
    return true;
  };
};

/** Entries searched for the last one of a stretch, of which there are two. */
const NEWEST = 20;

/** The sequence's last entry for a stretch of this log; null if none. */
const publishedOf = async (sql: Sql, kind: string, from: bigint): Promise<Published | null> => {
  const rows = await sql<{ body: string }[]>`
    select body from log_sequence where kind = ${kind} and number > ${await logSince(sql)}
    order by number desc limit ${NEWEST}`;
  for (const { body } of rows) {
    const entry = JSON.parse(body);
    if (textIn(entry, "from") !== `${from}`) continue;
    const through = BigInt(textIn(entry, "through"));
    return { through, hash: Buffer.from(textIn(entry, "hash"), "hex") };
  }
  return null;
};
