/** Ends of the hash chains, cached by the appending process, which needs no look-up for links. */
import type { Transactor } from "../database/connect.ts";
import { blockChainEnd, blockLinks, blockStretches } from "./block-chain.ts";
import { type CoinEnd, chainEnd, coinEnds, completeChains, NO_FACTS } from "./chain.ts";
import { hashFacts, isChainedCoin, linkOf, START } from "./chain-hash.ts";
import type { CheckpointMark, ReadFact } from "./fact.ts";
import {
  type Input,
  type InputLink,
  inputEnd,
  inputLink,
  inputStretches,
  inputsOf,
} from "./input-chain.ts";
import type { logBlockChain, logBlocks, logChain, logCoinChain } from "./tables.ts";

/** Last hashes; coin types missing in `coins` are unknown. */
type Ends = {
  readonly chain: Uint8Array;
  readonly blocks: Uint8Array;
  readonly inputs: Uint8Array;
  readonly coins: ReadonlyMap<string, CoinEnd>;
};

type Linking = {
  /** Hash of the fact chain before the first link. */
  readonly before: Uint8Array;
  /** Yields each checkpoint's facts once hashed; returns all links. */
  hash(): Generator<readonly ReadFact[], Links>;
};

/** Links that an append adds to the chains. */
export type Links = {
  readonly chain: readonly (typeof logChain.$inferSelect)[];
  readonly coins: readonly (typeof logCoinChain.$inferSelect)[];
  readonly blocks: readonly (typeof logBlockChain.$inferSelect)[];
  readonly inputChain: readonly InputLink[];
  /** Inputs covered by `inputChain`. */
  readonly inputs: readonly Input[];
  readonly after: Ends;
};

export type ChainEnds = {
  /** Prepares the links of an append. First completes the chains of an older log. */
  linkingOf(on: Transactor, appended: Appended): Promise<Linking>;
  /** After a commit. */
  keep(links: Links): void;
  /** After an uncertain commit, or another process's append. */
  forget(): void;
};

type Appended = {
  readonly facts: readonly ReadFact[];
  /** Checkpoints with facts, with the running count of facts. */
  readonly checkpoints: readonly (CheckpointMark & { readonly facts: number })[];
  readonly blocks: readonly (typeof logBlocks.$inferSelect)[];
};

/** Coin types cached; others are looked up again. */
const MOST_COINS = 10_000;

export const createChainEnds = (): ChainEnds => {
  let known: Omit<Ends, "coins"> | undefined;
  const coins = new Map<string, CoinEnd>();

  const load = async (on: Transactor) => {
    await completeChains(on);
    known = await on.transaction(async ({ sql }) => {
      const { hash: chain } = await chainEnd(sql);
      const { hash: inputs } = await inputEnd(sql, (await inputStretches(sql))[1]);
      const appended = (await blockStretches(sql)).find(({ filled }) => !filled);
      if (appended === undefined) return { chain, blocks: START, inputs };
      const { hash: blocks } = await blockChainEnd(sql, appended.from, appended.to);
      return { chain, blocks, inputs };
    });
    return known;
  };

  return {
    linkingOf: async (on, appended) => {
      const ends = known ?? (await load(on));
      const missing = new Set<string>();
      for (const { coinType } of appended.facts) {
        if (isChainedCoin(coinType) && !coins.has(coinType)) missing.add(coinType);
      }
      const found =
        missing.size === 0
          ? new Map<string, CoinEnd>()
          : await on.statement((sql) => coinEnds(sql, missing));
      for (const coinType of missing) coins.set(coinType, found.get(coinType) ?? NO_FACTS);
      return { before: ends.chain, hash: () => linksBehind({ ...ends, coins }, appended) };
    },
    keep: ({ after }) => {
      const { coins: moved, ...ends } = after;
      known = ends;
      for (const [coinType, end] of moved) {
        // Moved to the end: the least recently used is evicted first.
        coins.delete(coinType);
        coins.set(coinType, end);
      }
      for (const coinType of coins.keys()) {
        if (coins.size <= MOST_COINS) break;
        coins.delete(coinType);
      }
    },
    forget: () => {
      known = undefined;
      coins.clear();
    },
  };
};

function* linksBehind(
  { chain: before, blocks: blocksBefore, inputs: inputsBefore, coins: coinsBefore }: Ends,
  { facts, checkpoints, blocks: rows }: Appended,
): Generator<readonly ReadFact[], Links> {
  const chain: (typeof logChain.$inferSelect)[] = [];
  const coins: (typeof logCoinChain.$inferSelect)[] = [];
  const coinsAfter = new Map<string, CoinEnd>();
  const inputChain: InputLink[] = [];
  const inputs: Input[] = [];
  let hash = before;
  let inputsAfter = inputsBefore;
  let from = 0;
  for (const mark of checkpoints) {
    const { sequence: checkpoint, facts: upTo } = mark;
    const own = facts.slice(from, upTo);
    const hashed = hashFacts(own);
    from = upTo;
    hash = linkOf(hash, mark, hashed.all.hash);
    chain.push({ checkpoint, facts: hashed.all.facts, hash });
    const taken = inputsOf(own);
    if (taken.length > 0) {
      const link = inputLink(inputsAfter, checkpoint, taken);
      inputChain.push(link);
      inputs.push(...taken);
      inputsAfter = link.hash;
    }
    for (const [coinType, ofCoin] of hashed.coins) {
      const end = coinsAfter.get(coinType) ?? coinsBefore.get(coinType) ?? NO_FACTS;
      const next = {
        facts: end.facts + BigInt(ofCoin.facts),
        hash: linkOf(end.hash, mark, ofCoin.hash),
      };
      coinsAfter.set(coinType, next);
      coins.push({ coinType, checkpoint, ...next });
    }
    yield own;
  }
  const blocks = blockLinks(blocksBefore, rows);
  const blocksAfter = blocks.at(-1)?.hash ?? blocksBefore;
  return {
    chain,
    coins,
    blocks,
    inputChain,
    inputs,
    after: { chain: hash, blocks: blocksAfter, inputs: inputsAfter, coins: coinsAfter },
  };
}
