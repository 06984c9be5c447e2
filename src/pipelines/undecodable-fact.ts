import type { EventFact, Fact, ObjectFact } from "../log/fact.ts";
import type { Remedy } from "../waiting/remedy.ts";

/**
 * A fact of the contract does not have the layout of its type: the package differs from the one this
 * version knows. Nothing was written; stop. Correct the layouts in `src/ledger/contract/`, or the
 * packages configured; the log keeps the fact as it was read, so the pipeline goes on from there.
 */
export class UndecodableFactError extends Error {
  override readonly name = "UndecodableFactError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string, fact: Fact, cause: unknown) {
    const { kind, type, checkpoint, transaction, index, txDigest } = fact;
    super(
      `${pipeline}: cannot read the ${kind} ${type} at checkpoint ${checkpoint}, transaction ${transaction} (${txDigest}), index ${index}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/**
 * A fact's contents, by the layout of its type.
 * @throws UndecodableFactError (stop) when they do not fit
 */
export const contentsOf = <Contents>(
  pipeline: string,
  fact: EventFact | ObjectFact,
  decode: (contents: Uint8Array) => Contents,
): Contents => {
  try {
    return decode(fact.contents);
  } catch (error) {
    throw new UndecodableFactError(pipeline, fact, error);
  }
};

/**
 * The coin type a fact is about; every type of the contract is generic over it.
 * @throws UndecodableFactError (stop) when the type names none
 */
export const coinTypeOf = (pipeline: string, fact: Fact): string => {
  if (fact.coinType !== null) return fact.coinType;
  throw new UndecodableFactError(pipeline, fact, "the type names no coin");
};
