import { type SealedCheckpoint, sealCheckpoint } from "../wire/checkpoint.ts";
import { hash } from "../wire/digest.ts";
import { executeSystem } from "./execute.ts";
import { clockContents } from "./genesis.ts";
import { CLOCK } from "./ids.ts";
import type { Chain, OpenCheckpoint } from "./state.ts";

/** Begins the next checkpoint; time never runs backwards. */
export const openCheckpoint = (chain: Chain, timestampMs: bigint): OpenCheckpoint => ({
  sequence: chain.nextSequence,
  timestampMs: timestampMs < chain.timestampMs ? chain.timestampMs : timestampMs,
  transactions: [],
});

/** Puts the transaction in by which the validators agree on the time: the first of every commit. */
export const executePrologue = (chain: Chain, open: OpenCheckpoint): void => {
  chain.round += 1n;
  const commit = hash(Buffer.from(`commit/${chain.round}`));
  executeSystem(
    chain,
    open,
    {
      kind: "prologue",
      epoch: chain.epoch,
      round: chain.round,
      timestampMs: open.timestampMs,
      consensusDigest: commit,
      additionalStateDigest: hash(commit),
    },
    [CLOCK],
    (execution) => execution.write(CLOCK, clockContents(open.timestampMs)),
  );
};

/** Closes the checkpoint: no transaction can be added any more. */
export const closeCheckpoint = (chain: Chain, open: OpenCheckpoint): SealedCheckpoint => {
  const sealed = sealCheckpoint(
    {
      epoch: chain.epoch,
      sequence: open.sequence,
      networkTransactions: chain.networkTransactions,
      previousDigest: chain.previousDigest,
      epochGas: chain.epochGas,
      timestampMs: open.timestampMs,
    },
    open.transactions,
  );
  chain.nextSequence += 1n;
  chain.previousDigest = sealed.digest;
  chain.timestampMs = open.timestampMs;
  return sealed;
};
