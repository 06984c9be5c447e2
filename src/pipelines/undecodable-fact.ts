import type { EventFact, Fact, ObjectFact } from "../log/fact.ts";
import type { Remedy } from "../waiting/remedy.ts";

/**
 * A fact does not follow from those before it, or cannot be read at all: its coin is held from its checkpoint on
 * (held-rows.ts). Without a coin type it stops the pipeline.
 */
export class UnappliableFactError extends Error {
  override readonly name: string = "UnappliableFactError";
  readonly remedy: Remedy = "stop";
  readonly fact: Fact;

  constructor(message: string, fact: Fact, options?: ErrorOptions) {
    super(message, options);
    this.fact = fact;
  }
}

/**
 * A fact of the contract does not have the layout of its type: the package differs from the one this
 * version knows. Nothing was written; stop. Correct the layouts in `src/ledger/contract/`, or the
 * packages configured; the log keeps the fact as it was read, so the pipeline goes on from there.
 */
export class UndecodableFactError extends UnappliableFactError {
  override readonly name = "UndecodableFactError";

  constructor(pipeline: string, fact: Fact, cause: unknown) {
    super(
      `${pipeline}: cannot read ${factInWords(fact)}: ${cause instanceof Error ? cause.message : String(cause)}`,
      fact,
      { cause },
    );
  }
}

/** An object is written or removed in an older version than it already had: facts are missing, or of another chain. */
export class OlderVersionError extends UnappliableFactError {
  override readonly name = "OlderVersionError";

  constructor(fact: Exclude<Fact, EventFact>, known: bigint) {
    super(
      `${factInWords(fact)} is of version ${fact.version} of ${fact.objectId}, which had version ${known} before`,
      fact,
    );
  }
}

const factInWords = ({ kind, type, checkpoint, transaction, index, txDigest }: Fact): string =>
  `the ${kind} ${type} at checkpoint ${checkpoint}, transaction ${transaction} (${txDigest}), index ${index}`;

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
