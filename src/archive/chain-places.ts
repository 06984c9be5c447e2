/** Where the three hash chains of a log stand between two chunks of its archive. */
import { Buffer } from "node:buffer";
import { countOf } from "../log/block.ts";
import { blockHash } from "../log/block-chain.ts";
import { hashFacts, linkOf } from "../log/chain-hash.ts";
import type { AppendBatch } from "../log/fact.ts";
import { inputLink, inputsOf } from "../log/input-chain.ts";

/** Last hashes, hex. */
export type ChainPlaces = {
  /** The log's chain of facts. */
  readonly facts: string;
  /** Chains of times and digests, and of input versions, from the archive's first checkpoint on. */
  readonly blocks: string;
  readonly inputs: string;
};

export const ARCHIVE_START = "00".repeat(32);

const bytesOf = (hash: string) => Buffer.from(hash, "hex");
const hexOf = (hash: Uint8Array) => Buffer.from(hash).toString("hex");

/**
 * Chains after a batch, computed from its facts, times, digests and input versions alone.
 * @param onLink called with the chain of facts at each checkpoint that has some
 */
export const placesAfter = (
  before: ChainPlaces,
  { marks, facts, blocks: pieces }: AppendBatch,
  onLink: (checkpoint: bigint, hash: string) => void = () => {},
): ChainPlaces => {
  let hash: Uint8Array = bytesOf(before.facts);
  let inputs: Uint8Array = bytesOf(before.inputs);
  let at = 0;
  for (const mark of marks) {
    const from = at;
    while (facts[at]?.checkpoint === mark.sequence) at += 1;
    const own = facts.slice(from, at);
    hash = linkOf(hash, mark, hashFacts(own).all.hash);
    const taken = inputsOf(own);
    if (taken.length > 0) inputs = inputLink(inputs, mark.sequence, taken).hash;
    onLink(mark.sequence, hexOf(hash));
  }
  let blocks: Uint8Array = bytesOf(before.blocks);
  for (const { first: firstCheckpoint, ...block } of pieces) {
    blocks = blockHash(blocks, { firstCheckpoint, count: countOf(block) ?? 0, ...block });
  }
  return { facts: hexOf(hash), blocks: hexOf(blocks), inputs: hexOf(inputs) };
};
