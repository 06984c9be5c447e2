/** The chain now, compared with the blocks already read: head, finality, reorganisation. */
import { highest, lowest } from "../../values/bigints.ts";
import type { LinkedBlock } from "../contract/fact.ts";
import type { EvmNetwork, Finality } from "../contract/network.ts";
import { outcomesOn } from "../rpc/chain-id.ts";
import { type Endpoint, type Outcome, resultOf } from "../rpc/endpoint.ts";
import { LyingRpcError, RpcUnavailableError } from "../rpc/errors.ts";
import { hex } from "../rpc/logs.ts";
import { readBlocks } from "../rpc/ranges.ts";
import { readBlock } from "../rpc/replies.ts";
import type { KnownBlocks } from "./state.ts";

export type ChainView = {
  readonly head: LinkedBlock;
  /** Newest final block by the network's setting; -1 while there is none. */
  readonly finalBlock: bigint;
  /** Where the chain leaves the known blocks; null while the newest known block is in it. */
  readonly fork: Fork | null;
};

type Fork = {
  /** Newest known block that is still in the chain; null when none is. */
  readonly ancestor: LinkedBlock | null;
};

/** Known blocks compared in the first request; doubles until one matches. */
const FIRST_LOOK_BACK = 16;

/**
 * An endpoint below the newest known block counts as behind while its head is known. A chain that lost
 * blocks counts as replaced once it has another block at a known number. Head and tagged final block
 * must match the endpoint's blocks at their numbers: one inflated number would send callbacks that
 * cannot be withdrawn.
 *
 * @throws WrongChainError (stop) when the endpoint now serves another chain
 * @throws RpcUnavailableError (retry) when the endpoint is behind every known block
 * @throws LyingRpcError (retry) when it lacks the blocks it names, or has others at their numbers
 */
export const viewChain = async (
  endpoint: Endpoint,
  network: EvmNetwork,
  known: KnownBlocks,
  signal: AbortSignal,
): Promise<ChainView> => {
  const { finality } = network;
  const tag = typeof finality === "string" && finality !== "latest" ? finality : undefined;
  const tip = known.tip();
  const blocks = [
    "latest",
    ...(tag === undefined ? [] : [tag]),
    ...(tip === undefined ? [] : [hex(tip.number)]),
  ];
  const calls = blocks.map((block) => ({ method: "eth_getBlockByNumber", params: [block, false] }));
  const outcomes = await outcomesOn(endpoint, network.chainId, calls, signal);
  const answers = new Map(blocks.map((block, i) => [block, outcomes[i]]));
  const head = blockIn(endpoint, answers.get("latest"));
  if (head === undefined) {
    throw new LyingRpcError(endpoint.label, "missing block", "has no latest block");
  }
  const tagged = tag === undefined ? undefined : taggedIn(endpoint, answers.get(tag));
  await checkNamed(endpoint, known, tagged === undefined ? [head] : [head, tagged], signal);
  const view = { head, finalBlock: finalIn(finality, head, tagged) };
  if (tip === undefined) return { ...view, fork: null };

  const compared = tip.number <= head.number ? tip : known.at(head.number);
  if (compared === undefined) {
    throw new RpcUnavailableError(
      endpoint.label,
      "failure",
      `is behind: its head is block ${head.number}, block ${tip.number} is known`,
    );
  }
  const now = compared === tip ? blockIn(endpoint, answers.get(hex(tip.number))) : head;
  if (now === undefined || now.number !== compared.number) {
    throw new LyingRpcError(
      endpoint.label,
      now === undefined ? "missing block" : "wrong block",
      `asked for block ${compared.number}, got ${now?.number ?? "none"}, its head is ${head.number}`,
    );
  }
  if (isSame(known, compared, now)) return { ...view, fork: null };
  const ancestor = await commonAncestor(endpoint, known, compared.number - 1n, signal);
  return { ...view, fork: { ancestor } };
};

/**
 * Whether the chain still has a known block. The hash covers the time: of two different times one is
 * false, and the block is read again as if replaced. The oldest one is compared by hash alone: none is
 * left below it to roll back to.
 */
const isSame = (known: KnownBlocks, block: LinkedBlock, now: LinkedBlock) =>
  now.hash === block.hash &&
  (now.timestamp === block.timestamp || known.at(block.number - 1n) === undefined);

const blockIn = (endpoint: Endpoint, outcome: Outcome | undefined) =>
  outcome === undefined ? undefined : readBlock(endpoint.label, resultOf(outcome));

/** The tagged block; a chain has none before its first epoch. */
const taggedIn = (endpoint: Endpoint, answer: Outcome | undefined): LinkedBlock | undefined =>
  answer?.ok === false && /not found|unknown block/i.test(answer.error.details)
    ? undefined
    : blockIn(endpoint, answer);

/** Reads the blocks that the endpoint named by number, except known ones. */
const checkNamed = async (
  endpoint: Endpoint,
  known: KnownBlocks,
  named: readonly LinkedBlock[],
  signal: AbortSignal,
) => {
  const asked = named.filter(({ number, hash }) => known.at(number)?.hash !== hash);
  const numbers = [...new Set(asked.map(({ number }) => number))];
  const { blocks } = await readBlocks(endpoint, numbers, signal);
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]));
  for (const { number, hash } of asked) {
    const found = hashes.get(number);
    if (found === hash) continue;
    throw new LyingRpcError(
      endpoint.label,
      "wrong block",
      `names ${hash} as its block ${number}, and has ${found} there`,
    );
  }
};

const finalIn = (
  finality: Finality,
  head: LinkedBlock,
  tagged: LinkedBlock | undefined,
): bigint => {
  if (typeof finality === "number") return highest(head.number - BigInt(finality), -1n);
  if (finality === "latest") return head.number;
  return tagged === undefined ? -1n : lowest(tagged.number, head.number);
};

const commonAncestor = async (
  endpoint: Endpoint,
  known: KnownBlocks,
  from: bigint,
  signal: AbortSignal,
): Promise<LinkedBlock | null> => {
  let number = from;
  for (let count = FIRST_LOOK_BACK; ; count *= 2) {
    const candidates = known.downFrom(number, count);
    const oldest = candidates.at(-1);
    if (oldest === undefined) return null;
    const { blocks } = await readBlocks(
      endpoint,
      candidates.map((block) => block.number),
      signal,
    );
    const found = candidates.find((each) => blocks.some((now) => isSame(known, each, now)));
    if (found !== undefined) return found;
    number = oldest.number - 1n;
  }
};
