/** Whether the first register of a pack came from the checkpoints that the pack has of the time before. */
import { Buffer } from "node:buffer";
import type { Fact, ObjectFact } from "../log/fact.ts";
import { membershipKey } from "../pipelines/holder-lifecycle.ts";
import { roleKey } from "../projections/roles.ts";
import { AuditPackError, FILES } from "./pack-form.ts";
import type { Standing } from "./pack-lines.ts";
import { PackRegister } from "./pack-register.ts";

type Expected = {
  readonly standing: Standing;
  readonly checkpoint: bigint;
  isProven: boolean;
};

export class PackOpening {
  readonly #coinType: string;
  readonly #expected = new Map<string, Expected>();
  #proven = 0;

  constructor(coinType: string) {
    this.#coinType = coinType;
  }

  /** How much of it is proven. */
  get proven(): number {
    return this.#proven;
  }

  expect(standing: Standing): void {
    const key = keyOf(standing);
    const { checkpoint } = standing.kind === "object" ? standing.fact : standing.range;
    if (this.#expected.has(key)) throw new AuditPackError(FILES.firstState, `has ${key} twice`);
    this.#expected.set(key, { standing, checkpoint, isProven: false });
  }

  /**
   * Holds the facts of a checkpoint against what stands from it.
   * @throws AuditPackError (stop) when they say something else
   */
  meet(checkpoint: bigint, facts: readonly Fact[]): void {
    // What each object was when the checkpoint ended.
    const objects = new Map<string, Fact>();
    for (const fact of facts) if (fact.kind !== "event") objects.set(fact.objectId, fact);
    for (const [objectId, fact] of objects) {
      this.#compare(`object ${objectId}`, checkpoint, (standing) => {
        if (fact.kind !== "object" || standing.kind !== "object") return false;
        return isSameObject(fact, standing.fact);
      });
    }
    const { memberships, roles } = new PackRegister(this.#coinType).apply(facts);
    for (const range of memberships) {
      this.#compare(
        `membership ${membershipKey(range)}`,
        checkpoint,
        (standing) => standing.kind === "membership" && standing.range.value === range.value,
      );
    }
    for (const range of roles) this.#compare(`role ${roleKey(range)}`, checkpoint, () => true);
  }

  #compare(key: string, checkpoint: bigint, isSame: (standing: Standing) => boolean): void {
    const expected = this.#expected.get(key);
    if (expected === undefined || expected.checkpoint > checkpoint) return;
    if (expected.checkpoint < checkpoint || !isSame(expected.standing)) {
      throw new AuditPackError(
        FILES.firstState,
        `${key} is not what checkpoint ${checkpoint} made of it`,
      );
    }
    this.#proven += expected.isProven ? 0 : 1;
    expected.isProven = true;
  }

  /** @throws AuditPackError (stop) naming what no checkpoint of the pack proves */
  assertProven(): void {
    for (const [key, { checkpoint, isProven }] of this.#expected) {
      if (isProven) continue;
      throw new AuditPackError(
        FILES.firstState,
        `${key} is said to stand since checkpoint ${checkpoint}, which does not prove it`,
      );
    }
  }
}

const keyOf = (standing: Standing): string => {
  if (standing.kind === "object") return `object ${standing.fact.objectId}`;
  if (standing.kind === "role") return `role ${roleKey(standing.range)}`;
  return `membership ${membershipKey(standing.range)}`;
};

const isSameObject = (one: ObjectFact, other: ObjectFact): boolean =>
  one.version === other.version &&
  one.type === other.type &&
  one.transaction === other.transaction &&
  one.index === other.index &&
  one.txDigest === other.txDigest &&
  one.sender === other.sender &&
  one.timestampMs === other.timestampMs &&
  one.name === other.name &&
  Buffer.compare(one.contents, other.contents) === 0;
