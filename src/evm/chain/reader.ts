/**
 * Reads the tokens of one chain as batches of facts, from their first blocks to the head and on.
 *
 * Final blocks, far enough below the head, are settled: read in ranges as large as the provider
 * allows, several ahead. Blocks above are followed with their parents; the batch that undoes a
 * reorganisation holds the replacement. Tokens added later catch up between steps at the head.
 */

import { highest, lowest } from "../../values/bigints.ts";
import { pause } from "../../waiting/backoff.ts";
import type { EvmFact } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import type { ChainState, EvmBatch } from "../log/chain-state.ts";
import { newSchedules } from "../movements/schedules.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { FinalityViolatedError, LyingRpcError } from "../rpc/errors.ts";
import type { Fleet } from "../rpc/fleet.ts";
import {
  adaptiveRange,
  type LogRange,
  type LogRangeSettings,
  logRangeDefaults,
} from "../rpc/logs.ts";
import { type RangeRead, readRange } from "../rpc/ranges.ts";
import { catchUp } from "./catch-up.ts";
import {
  furthestBehind,
  type ReadingState,
  readingState,
  replacedTokens,
  type TokenGroup,
} from "./state.ts";
import { type ChainView, viewChain } from "./view.ts";

export type ReaderSettings = {
  /** Pause between polls of an unchanged head. */
  readonly pollMs: number;
  /** Blocks below the head that are followed even when they count as final. */
  readonly followDepth: number;
  /** Followed blocks in one batch, unless more were replaced. */
  readonly followBlocks: number;
  /** Settled ranges read ahead of the consumer. */
  readonly ahead: number;
  readonly range: LogRangeSettings;
  /** The head may stay unchanged this long before the other endpoints are asked for theirs. */
  readonly stillMs: number;
  /** Called after every poll that the chain answered without news. */
  readonly onQuiet: () => void;
};

const readerDefaults: ReaderSettings = {
  pollMs: 1_000,
  followDepth: 64,
  followBlocks: 100,
  ahead: 3,
  range: logRangeDefaults,
  stillMs: 60_000,
  onQuiet: () => undefined,
};

/** Longest catch-up between two polls of the head while other tokens wait there. */
const CATCH_UP_TURN_MS = 2_000;

/** The same while no token waits there; bounded so that finality moves on. */
const CATCH_UP_ALONE_MS = 15_000;

/**
 * Endless batches of facts, each continuing the one before. Asking for the next batch confirms the
 * last one; a consumer that could not store it starts again from its own state.
 *
 * @throws LyingRpcError, RpcUnavailableError, RpcRefusedError (retry) when every endpoint failed
 *   repeatedly; WrongChainError, FinalityViolatedError (stop); the reason of `signal`
 */
export async function* readChain(
  network: EvmNetwork,
  rpc: Fleet,
  start: ChainState,
  signal: AbortSignal,
  settings: Partial<ReaderSettings> = {},
): AsyncGenerator<EvmBatch, never> {
  const options = { ...readerDefaults, ...settings };
  const state = readingState(network, start);
  const range = adaptiveRange(options.range);
  const reading: Reading = { network, rpc, state, range, options };
  let newest = { block: -1n, seenAt: 0 };
  for (;;) {
    const { view, batch } = await nextAtHead(reading, signal);
    const now = performance.now();
    if (view.head.number > newest.block) newest = { block: view.head.number, seenAt: now };
    else if (now - newest.seenAt >= options.stillMs) {
      await rpc.leaveBehind(view.head.number, signal);
      newest = { block: view.head.number, seenAt: performance.now() };
    }
    if (batch !== null) {
      yield batch;
      state.apply(batch);
      if (batch.last < view.head.number && batch.tokens.length > 0) continue;
    }
    const settled = settledBlock(view, highest(view.finalBlock, state.finalBlock), options);
    const atHead = network.tokens.some((token) => state.next(token) > settled);
    const turn = performance.now() + (atHead ? CATCH_UP_TURN_MS : CATCH_UP_ALONE_MS);
    let caughtUp = true;
    while (performance.now() < turn) {
      const group = furthestBehind(network.tokens, state, 0n, settled);
      if (group === undefined) break;
      caughtUp = false;
      const common = {
        chainId: network.chainId,
        rollback: null,
        tokens: group.tokens.map(({ address }) => address),
        keepFrom: settled,
        head: view.head,
      };
      const { ahead } = options;
      const head = view.head.number;
      const catching = { ...common, range, ahead, known: state.schedules, head, until: turn };
      for await (const part of catchUp(rpc, group, catching, signal)) {
        const newest = highest(state.known.tip()?.number ?? part.last, part.last);
        const finalBlock = finalOf(network, view, newest, state.finalBlock);
        const caught: EvmBatch = { ...common, ...part, finalBlock };
        yield caught;
        state.apply(caught);
      }
    }
    if (batch === null && caughtUp) {
      options.onQuiet();
      await pause(options.pollMs, signal);
      signal.throwIfAborted();
    }
  }
}

const settledBlock = (view: ChainView, finalBlock: bigint, options: ReaderSettings): bigint =>
  lowest(finalBlock, view.head.number - BigInt(options.followDepth));

/**
 * Depths count from the newest block read, not from an announced head, and no tag reaches beyond it.
 * @param newest newest block read; undefined before the first
 * @param kept the former final block
 */
const finalOf = (
  { finality }: EvmNetwork,
  view: ChainView,
  newest: bigint | undefined,
  kept: bigint,
): bigint => {
  const depth = typeof finality === "number" ? BigInt(finality) : 0n;
  return newest === undefined ? kept : highest(lowest(view.finalBlock, newest - depth), kept);
};

type Reading = {
  readonly network: EvmNetwork;
  readonly rpc: Fleet;
  readonly state: ReadingState;
  readonly range: LogRange;
  readonly options: ReaderSettings;
};

type Step = { readonly view: ChainView; readonly batch: EvmBatch | null };

/** At one endpoint. Follows a chain that replaced final blocks once every endpoint shows it. */
const nextAtHead = async (reading: Reading, signal: AbortSignal): Promise<Step> => {
  const step = (agreed: boolean) =>
    reading.rpc.use((endpoint) => stepAtHead(endpoint, reading, agreed, signal), signal);
  try {
    return await step(false);
  } catch (error) {
    if (error instanceof FinalityViolatedError && error.canRollBack) return step(true);
    throw error;
  }
};

/** One poll of the head with its rollback and facts; no batch when nothing changed. */
const stepAtHead = async (
  endpoint: Endpoint,
  { network, state, range, options }: Reading,
  agreed: boolean,
  signal: AbortSignal,
): Promise<Step> => {
  const { chainId } = network;
  const view = await viewChain(endpoint, network, state.known, signal);
  const rollback = rollbackOf(endpoint.label, view, network, state, agreed);
  // Blocks that replaced final ones are not final themselves yet.
  const kept = rollback === null ? state.finalBlock : lowest(state.finalBlock, rollback.toBlock);
  const settled = settledBlock(view, highest(view.finalBlock, kept), options);
  const tip = rollback?.toBlock ?? state.known.tip()?.number;
  const group =
    rollback === null
      ? furthestBehind(network.tokens, state, settled + 1n, view.head.number)
      : replacedTokens(network.tokens, state, rollback.toBlock, view.head.number);
  const common = { chainId, rollback, keepFrom: settled, head: view.head };
  if (group === undefined) {
    const finalBlock = finalOf(network, view, tip, kept);
    // The first poll yields the head immediately, so that the backlog is known during a range.
    const nothingNew = rollback === null && finalBlock === state.finalBlock && state.headStored;
    if (nothingNew) return { view, batch: null };
    const last = tip ?? -1n;
    const nothing = { tokens: [], first: last + 1n, last, facts: [], schedules: [], blocks: [] };
    return { view, batch: { ...common, ...nothing, finalBlock } };
  }

  const { tokens, first } = group;
  const parent = state.known.at(first - 1n)?.hash;
  const most = first + BigInt(options.followBlocks) - 1n;
  const replacedUpTo = rollback === null ? most : (state.known.tip()?.number ?? most);
  const last = lowest(group.last, highest(most, replacedUpTo));
  const read = await readRange(
    endpoint,
    { chainId, tokens, first, last, linked: { range, parent } },
    signal,
  );
  if (rollback === null) checkKnown(endpoint, state, read);
  const facts = rollback === null ? read.facts : factsAfter(rollback.toBlock, group, state, read);
  const known =
    rollback === null
      ? state.schedules
      : new Map([...state.schedules].filter(([, block]) => block <= rollback.toBlock));
  const asked = { tokens, facts, known, head: view.head.number };
  const schedules = await newSchedules(endpoint, asked, signal);
  const addresses = tokens.map(({ address }) => address);
  const finalBlock = finalOf(network, view, highest(tip ?? last, last), kept);
  const { blocks } = read;
  const covered = { tokens: addresses, first, last, facts, schedules, blocks };
  return { view, batch: { ...common, ...covered, finalBlock } };
};

/** Facts of rolled-back tokens, each from its own next block. */
const factsAfter = (
  toBlock: bigint,
  { tokens }: TokenGroup,
  state: ReadingState,
  { facts }: RangeRead,
): readonly EvmFact[] => {
  const from = new Map(
    tokens.map((token) => [token.address, state.nextAfterRollback(token, toBlock)]),
  );
  return facts.filter(({ token, block }) => block.number >= (from.get(token) ?? 0n));
};

/** A token that catches up inside the followed blocks must see the same blocks. */
const checkKnown = (endpoint: Endpoint, state: ReadingState, read: RangeRead) => {
  for (const { number, hash } of read.blocks) {
    const known = state.known.at(number);
    if (known === undefined || known.hash === hash) continue;
    throw new LyingRpcError(
      endpoint.label,
      "broken chain",
      `block ${number} is ${hash} and was ${known.hash} a moment ago`,
    );
  }
};

/**
 * The rollback after a reorganisation; null when the chain only grew. Withdraws everything if the
 * chain has none of the known blocks and these reach back to the first block read.
 * @param label the endpoint that shows this chain
 * @param agreed every endpoint shows it: also roll back below a block that is final by depth
 * @throws FinalityViolatedError (stop) when a final block was replaced, or no kept block is left
 */
const rollbackOf = (
  label: string,
  { fork }: ChainView,
  network: EvmNetwork,
  state: ReadingState,
  agreed: boolean,
): EvmBatch["rollback"] => {
  if (fork === null) return null;
  const { chainId, finality } = network;
  const { finalBlock } = state;
  const oldest = state.known.oldest()?.number ?? 0n;
  // Blocks are pruned only below a settled one, which is kept.
  if (fork.ancestor === null && oldest > state.first()) {
    throw new FinalityViolatedError(label, {
      chainId,
      block: oldest,
      why: "and none of the blocks that are kept is left",
      canRollBack: false,
    });
  }
  const toBlock = fork.ancestor?.number ?? oldest - 1n;
  const belowFinal = toBlock < finalBlock;
  if (belowFinal && !agreed) {
    // A depth is the operator's estimate; a tag comes from the chain.
    const tag = finality === "safe" || finality === "finalized";
    throw new FinalityViolatedError(label, {
      chainId,
      block: toBlock + 1n,
      why: tag
        ? `which its tag "${finality}" had covered (up to block ${finalBlock})`
        : `which "finality": ${JSON.stringify(finality)} had covered (up to block ${finalBlock})`,
      canRollBack: !tag,
    });
  }
  return { toBlock, belowFinal };
};
