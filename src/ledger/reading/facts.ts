import type { ReadFact } from "../../log/fact.ts";
import { canonicalAddress, FRAMEWORK, splitType } from "../../values/move-type.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import type { Checkpoint, Transaction } from "../decode/checkpoint.ts";
import type { TypeHead, Wanted } from "../decode/decode.ts";

/** Limits of the position format. */
const MAX_TRANSACTIONS = 100_000;
const MAX_EVENTS = 10_000;

/**
 * A checkpoint exceeds the position format (checkpoint * 10^9 + transaction * 10^4 + event). The
 * network's limits are far lower; if they rise, change the format before indexing on.
 */
export class PositionOverflowError extends Error {
  override readonly name = "PositionOverflowError";
  readonly remedy: Remedy = "stop";

  constructor(sequence: bigint, what: string) {
    super(`checkpoint ${sequence}: ${what} exceeds what a position can number`);
  }
}

const METADATA: ReadonlySet<string> = new Set([COIN_METADATA, CURRENCY]);

/**
 * Selects types with facts: those defined by one of the packages (not by the package whose code
 * ran), and the framework's two kinds of coin metadata.
 * @param packages addresses in any form `canonicalAddress` accepts
 */
export const createWanted = (packages: readonly string[]): Wanted => {
  const own: ReadonlySet<string> = new Set(packages.map(canonicalAddress));
  return ({ address, module, name }: TypeHead) =>
    own.has(address) || (address === FRAMEWORK && METADATA.has(`${module}::${name}`));
};

/**
 * Facts of a checkpoint decoded with `createWanted`, in chain order: by transaction; events, then
 * written objects, then removed ones, in the order of the effects. Events keep their index; object
 * changes are numbered from 0 in their transaction.
 * @throws PositionOverflowError (stop)
 */
export const factsOf = (checkpoint: Checkpoint): readonly ReadFact[] => {
  if (checkpoint.transactions.length > MAX_TRANSACTIONS) {
    throw new PositionOverflowError(checkpoint.sequence, `transaction ${MAX_TRANSACTIONS}`);
  }
  return checkpoint.transactions.flatMap((transaction, index) =>
    isEmpty(transaction) ? [] : factsOfTransaction(checkpoint, transaction, index),
  );
};

const isEmpty = ({ events, outputObjects, removedObjects }: Transaction): boolean =>
  events.length + outputObjects.length + removedObjects.length === 0;

const factsOfTransaction = (
  checkpoint: Checkpoint,
  transaction: Transaction,
  index: number,
): readonly ReadFact[] => {
  const last = transaction.events.at(-1);
  if (last !== undefined && last.index >= MAX_EVENTS) {
    throw new PositionOverflowError(
      checkpoint.sequence,
      `event ${last.index} of transaction ${index}`,
    );
  }
  const common = (type: string, position: number) => ({
    checkpoint: checkpoint.sequence,
    transaction: index,
    index: position,
    type,
    ...nameAndCoin(type),
    txDigest: transaction.digest,
    sender: transaction.sender,
    timestampMs: checkpoint.timestampMs,
  });
  const written = transaction.outputObjects.length;
  return [
    ...transaction.events.map(
      (event): ReadFact => ({
        kind: "event",
        ...common(event.type, event.index),
        contents: event.contents,
      }),
    ),
    ...transaction.outputObjects.map(
      (object, i): ReadFact => ({
        kind: "object",
        ...common(object.type, i),
        objectId: object.id,
        version: object.version,
        versionBefore: object.versionBefore,
        contents: object.contents,
      }),
    ),
    ...transaction.removedObjects.map(
      (object, i): ReadFact => ({
        kind: "removal",
        ...common(object.type, written + i),
        objectId: object.id,
        version: object.version,
      }),
    ),
  ];
};

/** A type's name without address, and its coin type; null without one. */
export const nameAndCoin = (type: string): { name: string; coinType: string | null } => {
  const { module, name, parameters } = splitType(type);
  return { name: `${module}::${name}`, coinType: parameters[0] ?? null };
};
