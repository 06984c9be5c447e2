/** Walks an object's versions back over whole checkpoints, each step by its effects. */
import type { Checkpoint, Transaction } from "../../ledger/decode/checkpoint.ts";
import { previousTransactionOf } from "../../ledger/guided/read-found.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import {
  WalkEndedError,
  type WholeCheckpoint,
  type WholeCheckpoints,
} from "./whole-checkpoints.ts";

/** A version of an object, and the transaction that wrote it. */
export type ObjectStep = {
  readonly version: bigint;
  /** Version that the transaction took in; null: it created the object. */
  readonly before: bigint | null;
  readonly whole: WholeCheckpoint;
  readonly transaction: Transaction;
};

export type Walking = {
  readonly index: Pick<LedgerIndex, "description" | "checkpointOf">;
  readonly checkpoints: WholeCheckpoints;
};

/** More changes of one object are not followed in one walk. */
const MOST_STEPS = 20_000;

/**
 * The versions of an object from one back to its creation, or as long as the caller asks. Where a
 * summary commits to its objects, the newest version in a checkpoint must be the one that it left.
 * @param from a version, its transaction's digest, and the checkpoint that changes it further
 * @throws WalkEndedError when a step is missing, cannot be had, does not write the version or does
 * not leave it
 */
export async function* walkBack(
  { index, checkpoints }: Walking,
  id: string,
  from: {
    readonly version: bigint;
    readonly previousTransaction: string;
    readonly changedIn?: bigint | undefined;
  },
  signal: AbortSignal,
): AsyncGenerator<ObjectStep> {
  let { version, previousTransaction: digest } = from;
  let after = from.changedIn ?? null;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const named = `transaction ${digest}, which wrote version ${version} of object ${id}`;
    const sequence = await index.checkpointOf(digest, signal);
    if (sequence === null) {
      throw new WalkEndedError(`${index.description} does not know the checkpoint of ${named}`);
    }
    const whole = await checkpoints.read(sequence, signal).catch((error: unknown) => {
      if (!(error instanceof WalkEndedError)) throw error;
      throw new WalkEndedError(`${named}: ${error.message}`, { cause: error });
    });
    const transaction = whole.checkpoint.transactions.find((one) => one.digest === digest);
    const written = transaction?.outputObjects.find((object) => object.id === id);
    if (transaction === undefined || written?.version !== version) {
      throw new WalkEndedError(`checkpoint ${sequence} does not have ${named}`);
    }
    // The set has every leaf of the commitment, so what it lacks the validators denied.
    const left = whole.objects?.find(id)?.version;
    if (whole.objects !== null && sequence !== after && left !== version) {
      throw new WalkEndedError(
        `checkpoint ${sequence} left object ${id} at version ${left ?? "none"}, not at ${version}`,
      );
    }
    after = sequence;
    yield { version, before: written.versionBefore, whole, transaction };
    if (written.versionBefore === null) return;
    const previous = previousTransactionOf(whole.raw, id, written.versionBefore);
    if (previous === null) {
      throw new WalkEndedError(
        `checkpoint ${sequence} does not name the transaction that wrote version ${written.versionBefore} of object ${id}`,
      );
    }
    version = written.versionBefore;
    digest = previous;
  }
  throw new WalkEndedError(`object ${id} changed more than ${MOST_STEPS} times since`);
}

/** What a checkpoint's transactions do to an object, in order; `after` is null when they remove it. */
export const changesIn = (
  { transactions }: Checkpoint,
  id: string,
): readonly { readonly before: bigint | null; readonly after: bigint | null }[] =>
  transactions.flatMap(({ outputObjects, removedObjects }) => [
    ...outputObjects
      .filter((object) => object.id === id)
      .map(({ version, versionBefore }) => ({ before: versionBefore, after: version })),
    ...removedObjects
      .filter((object) => object.id === id)
      .map(({ version }) => ({ before: version, after: null })),
  ]);
