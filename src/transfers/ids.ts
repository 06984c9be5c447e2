/**
 * Ids of transfer events: a record's position in its project's history, as one number.
 *
 *     id = block time (unix seconds) * 10^6 + network * 10^5 + ordinal
 *
 * `network` is the index of the record's network among all that the project ever had in this
 * database (from 0, in order of arrival; networks of one start in the order of the file). `ordinal`
 * counts the project's records of that network in that second, from 1, in chain order. Block times
 * never run back on a chain, so ids rise with it, and records that follow each other in a block
 * have consecutive ids. Ids depend only on chain and configuration: a replay yields the same ids,
 * and a reorganisation keeps the earlier ones. Time, not block number, because blocks of several
 * networks do not compare. Below 2^53 until the year 2255, so that every JSON parser keeps them.
 */
import type { Remedy } from "../waiting/remedy.ts";

const ORDINALS = 100_000n;
const NETWORKS = 10n;

export const MOST_NETWORKS = Number(NETWORKS);

/** Ids cannot express this position; the message names the exceeded bound. */
export class TransferEventIdError extends Error {
  override readonly name = "TransferEventIdError";
  readonly remedy: Remedy = "stop";
}

/** Inputs of a record's id, besides the record before it. */
type RecordTime = {
  /** Unix seconds. */
  readonly blockTimestamp: bigint;
  /** For the error message. */
  readonly block: bigint;
};

/**
 * @param network index of the network among the project's, from 0 to 9
 * @param last id of the record before the first one; null when there is none
 */
export const transferEventIds = (network: number, last: bigint | null) => {
  if (!Number.isInteger(network) || network < 0 || network >= MOST_NETWORKS) {
    throw new TransferEventIdError(
      `ids have room for ${MOST_NETWORKS} networks of a project, including its former ones in this database; ` +
        `this one is number ${network + 1}: list its tokens in a project of another name, which starts at network 1`,
    );
  }
  let before = last;
  /** @throws TransferEventIdError (stop) when time runs back or a second holds too many records */
  return ({ blockTimestamp, block }: RecordTime): bigint => {
    const base = (blockTimestamp * NETWORKS + BigInt(network)) * ORDINALS;
    const id = before !== null && before > base ? before + 1n : base + 1n;
    if (id >= base + ORDINALS) {
      throw new TransferEventIdError(
        secondOf(id) > blockTimestamp
          ? `block ${block} has timestamp ${blockTimestamp}, but a record before it has ${secondOf(id)}: timestamps run backwards on this chain`
          : `block ${block}: more than ${ORDINALS - 1n} records of one project in second ${blockTimestamp}`,
      );
    }
    before = id;
    return id;
  };
};

/** All ids of a project's records at this time (unix seconds) or later are larger. */
export const idBefore = (blockTimestamp: bigint): bigint => blockTimestamp * NETWORKS * ORDINALS;

const secondOf = (id: bigint): bigint => (id - 1n) / (NETWORKS * ORDINALS);
