import { ByteWriter } from "../wire/byte-writer.ts";
import { type SealedCheckpoint, sealCheckpoint } from "../wire/checkpoint.ts";
import { hash } from "../wire/digest.ts";
import { NO_GAS } from "../wire/effects.ts";
import { executeSystem, GAS_PRICE } from "./execute.ts";
import { clockContents, systemStateContents } from "./genesis.ts";
import { CLOCK, SYSTEM, SYSTEM_STATE } from "./ids.ts";
import type { Chain, OpenCheckpoint } from "./state.ts";
import { nextCommittee } from "./validators.ts";

/** A protocol version that has all features used here. */
const PROTOCOL_VERSION = 100n;
/** All staked SUI, in its smallest unit. */
const TOTAL_STAKE = 8_000_000_000_000_000_000n;

/** Opens the next checkpoint; time never runs backwards. */
export const openCheckpoint = (chain: Chain, timestampMs: bigint): OpenCheckpoint => ({
  sequence: chain.nextSequence,
  timestampMs: timestampMs < chain.timestampMs ? chain.timestampMs : timestampMs,
  transactions: [],
});

/** Adds the consensus prologue, the first transaction of every commit, which sets the time. */
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

/** Adds the transaction that ends the epoch, the last of its last checkpoint. */
export const executeChangeEpoch = (chain: Chain, open: OpenCheckpoint): void => {
  const { epochGas: gas } = chain;
  const epoch = chain.epoch + 1n;
  executeSystem(
    chain,
    open,
    {
      kind: "change-epoch",
      epoch,
      protocolVersion: PROTOCOL_VERSION,
      gas,
      timestampMs: open.timestampMs,
    },
    [SYSTEM_STATE],
    (execution) => {
      execution.write(SYSTEM_STATE, systemStateContents());
      execution.emit(
        { package: SYSTEM, module: "sui_system" },
        `${SYSTEM}::sui_system_state_inner::SystemEpochInfoEvent`,
        new ByteWriter()
          .u64(epoch)
          .u64(PROTOCOL_VERSION)
          .u64(GAS_PRICE)
          .u64(TOTAL_STAKE)
          .u64(0n) // reinvested by the storage fund
          .u64(gas.storage)
          .u64(gas.rebate)
          .u64(0n) // balance of the storage fund
          .u64(0n) // subsidy
          .u64(gas.computation)
          .u64(0n) // rewards given out
          .u64(0n) // left over for the storage fund
          .done(),
      );
    },
  );
};

/** Closes the checkpoint, and the epoch if it is the last; see `Summary.commits`. */
export const closeCheckpoint = (
  chain: Chain,
  open: OpenCheckpoint,
  endsEpoch: boolean,
  commits: boolean,
): SealedCheckpoint => {
  const next = endsEpoch ? nextCommittee(chain.epoch, chain.committee) : null;
  const sealed = sealCheckpoint(
    {
      epoch: chain.epoch,
      sequence: open.sequence,
      networkTransactions: chain.networkTransactions,
      previousDigest: chain.previousDigest,
      epochGas: chain.epochGas,
      timestampMs: open.timestampMs,
      endOfEpoch: next && { nextCommittee: next, nextProtocolVersion: PROTOCOL_VERSION },
      commits,
    },
    chain.committee,
    open.transactions,
  );
  if (next !== null) {
    chain.epoch += 1n;
    chain.committee = next;
    chain.epochGas = NO_GAS;
  }
  chain.nextSequence += 1n;
  chain.previousDigest = sealed.digest;
  chain.timestampMs = open.timestampMs;
  return sealed;
};
