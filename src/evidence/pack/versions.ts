/**
 * Whether nothing is missing between the checkpoints of a pack, as far as versions can tell: each
 * transaction must have found every object of the token as the one before it in the pack left it.
 */
import type { Fact } from "../../log/fact.ts";
import type { Standing } from "./lines.ts";

/** The pack leaves something out: an object of the token was written by a transaction that it does not have. */
export class VersionGapError extends Error {
  override readonly name = "VersionGapError";
}

export class PackVersions {
  readonly #versions = new Map<string, bigint>();
  #followed = 0;

  /** How often an object was found as it was left. */
  get followed(): number {
    return this.#followed;
  }

  stands(standing: Standing): void {
    if (standing.kind === "object") {
      this.#versions.set(standing.fact.objectId, standing.fact.version);
    }
  }

  /**
   * @param facts of the token, in chain order
   * @param versionsBefore as excerpts have them
   * @throws VersionGapError
   */
  follow(
    facts: readonly Fact[],
    versionsBefore: ReadonlyMap<number, ReadonlyMap<string, bigint>>,
  ): void {
    for (const fact of facts) {
      if (fact.kind === "event") continue;
      const { objectId, transaction, txDigest } = fact;
      const left = this.#versions.get(objectId);
      const found = versionsBefore.get(transaction)?.get(objectId);
      if (left !== found) {
        const shown = (version: bigint | undefined) =>
          version === undefined ? "not at all" : `in version ${version}`;
        throw new VersionGapError(
          `transaction ${txDigest} found the object ${objectId} ${shown(found)}, but the pack left it ${shown(left)}: a checkpoint between is missing`,
        );
      }
      if (left !== undefined) this.#followed += 1;
      if (fact.kind === "object") this.#versions.set(objectId, fact.version);
      else this.#versions.delete(objectId);
    }
  }
}
