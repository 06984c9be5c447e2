/** What a chain looks like now, seen from the blocks already read: head, finality, reorganisation. */
import { highest, lowest } from "./block-numbers.ts";
import type { LinkedBlock } from "./fact.ts";
import type { KnownBlocks } from "./known-blocks.ts";
import type { EvmNetwork, Finality } from "./network.ts";
import { chainIdCall, checkChainId } from "./rpc/chain-id.ts";
import { type Endpoint, type Outcome, resultOf } from "./rpc/endpoint.ts";
import { LyingRpcError, RpcUnavailableError } from "./rpc/errors.ts";
import { hex } from "./rpc/logs.ts";
import { readBlocks } from "./rpc/range.ts";
import { readBlock } from "./rpc/replies.ts";

export type ChainView = {
  readonly head: LinkedBlock;
  /** Newest final block by the network's setting; -1 while there is none. */
  readonly finalBlock: bigint;
  /** Where the chain left the known blocks; null while the newest known one is in it. */
  readonly fork: Fork | null;
};

export type Fork = {
  /** Newest known block that is still in the chain; null when none is. */
  readonly ancestor: LinkedBlock | null;
};

/** Known blocks compared with the chain in one request; doubles while none is found. */
const FIRST_LOOK_BACK = 16;

/**
 * Looks at the chain through one endpoint.
 *
 * An endpoint below the newest known block is only behind as long as its head is known: a chain that
 * lost blocks counts as replaced once it has a block of its own in their place.
 *
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 * @throws RpcUnavailableError (retry) when the endpoint is behind everything that is known
 */
export const viewChain = async (
  endpoint: Endpoint,
  network: EvmNetwork,
  known: KnownBlocks,
  signal: AbortSignal,
): Promise<ChainView> => {
  const { finality } = network;
  const tip = known.tip();
  const blocks = [
    "latest",
    ...(typeof finality === "string" && finality !== "latest" ? [finality] : []),
    ...(tip === undefined ? [] : [hex(tip.number)]),
  ];
  const [id, ...outcomes] = await endpoint.outcomes(
    [
      chainIdCall,
      ...blocks.map((block) => ({ method: "eth_getBlockByNumber", params: [block, false] })),
    ],
    signal,
  );
  checkChainId(endpoint.label, network.chainId, id);
  const answers = new Map(blocks.map((block, i) => [block, outcomes[i]]));
  const head = blockIn(endpoint, answers.get("latest"));
  if (head === undefined) {
    throw new LyingRpcError(endpoint.label, "missing block", "has no latest block");
  }
  const view = {
    head,
    finalBlock: finalIn(endpoint, finality, head, answers.get(String(finality))),
  };
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
  if (now.hash === compared.hash) return { ...view, fork: null };
  const ancestor = await commonAncestor(endpoint, known, compared.number - 1n, signal);
  return { ...view, fork: { ancestor } };
};

const blockIn = (endpoint: Endpoint, outcome: Outcome | undefined) =>
  outcome === undefined ? undefined : readBlock(endpoint.label, resultOf(outcome));

const finalIn = (
  endpoint: Endpoint,
  finality: Finality,
  head: LinkedBlock,
  answer: Outcome | undefined,
): bigint => {
  if (typeof finality === "number") {
    return highest(head.number - BigInt(finality), -1n);
  }
  // Before its first epoch a chain has no such block yet.
  if (answer?.ok === false && /not found|unknown block/i.test(answer.error.details)) return -1n;
  const block = blockIn(endpoint, answer);
  if (block === undefined) return -1n;
  return lowest(block.number, head.number);
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
    const hashes = new Set(blocks.map(({ hash }) => hash));
    const found = candidates.find(({ hash }) => hashes.has(hash));
    if (found !== undefined) return found;
    number = oldest.number - 1n;
  }
};
