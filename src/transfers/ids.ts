/**
 * Ids of transfer events: where a record stands in its project's history, as one number.
 *
 *     id = block time (unix seconds) * 10^6 + network * 10^5 + ordinal
 *
 * `network` is the place of the record's network among those that the project ever had in this database
 * (from 0, in the order they came, those of one start in the order of the file), `ordinal` counts the
 * project's records of that network in that second, from 1, in the order of the chain. Block times never
 * run back on a chain, so ids rise with it; records that follow each other in a block have consecutive
 * ids. Nothing but chain and configuration goes in: a replay gives the same ids, and a reorganisation
 * leaves those before it alone. By time rather than by block, because blocks of several networks do not
 * compare. Below 2^53 until the year 2255, so that every JSON parser keeps them.
 */
import type { Remedy } from "../waiting/remedy.ts";

const ORDINALS = 100_000n;
const NETWORKS = 10n;

/** Networks of one project at most. */
export const MOST_NETWORKS = Number(NETWORKS);

/** A place that ids cannot express; the message says which bound was met. Stop. */
export class TransferEventIdError extends Error {
  override readonly name = "TransferEventIdError";
  readonly remedy: Remedy = "stop";
}

/** What a record's id is made of, besides the record before it. */
export type Place = {
  /** Unix seconds. */
  readonly blockTimestamp: bigint;
  /** For the message of an error. */
  readonly block: bigint;
};

/**
 * Gives records of one project on one network their ids, one after the other.
 *
 * @param network place of the network among the project's, from 0 to 9
 * @param last id of the record before the first one; null when there is none
 */
export const transferEventIds = (network: number, last: bigint | null) => {
  if (!Number.isInteger(network) || network < 0 || network >= MOST_NETWORKS) {
    throw new TransferEventIdError(
      `ids have room for ${MOST_NETWORKS} networks of a project, those included that it had in this database before; ` +
        `this one is number ${network + 1}: list its tokens in a project of another name, whose ids count from the first again`,
    );
  }
  let before = last;
  /** @throws TransferEventIdError (stop) when time runs back or a second holds too many records */
  return ({ blockTimestamp, block }: Place): bigint => {
    const base = (blockTimestamp * NETWORKS + BigInt(network)) * ORDINALS;
    const id = before !== null && before > base ? before + 1n : base + 1n;
    if (id >= base + ORDINALS) {
      throw new TransferEventIdError(
        secondOf(id) > blockTimestamp
          ? `block ${block} is of second ${blockTimestamp}, a record before it of second ${secondOf(id)}: time runs back on this chain`
          : `block ${block}: more than ${ORDINALS - 1n} records of one project in second ${blockTimestamp}`,
      );
    }
    before = id;
    return id;
  };
};

const secondOf = (id: bigint): bigint => (id - 1n) / (NETWORKS * ORDINALS);
