/** Proves a pack's first register by its checkpoints up to it. */
import { Buffer } from "node:buffer";
import type { Fact, ObjectFact } from "../../log/fact.ts";
import { membershipKey } from "../../pipelines/holder-lifecycle.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { roleKey } from "../../projections/roles.ts";
import { FILES, packError } from "./form.ts";
import { keyOf, type StateItem, sinceOf } from "./lines.ts";
import { PackRegister } from "./register.ts";

type Expected = {
  readonly item: StateItem;
  readonly checkpoint: bigint;
  isProven: boolean;
};

export class PackOpening {
  readonly #expected = new Map<string, Expected>();
  /** Memberships and roles to apply, so that their end is noticed later. */
  readonly #waiting: StateItem[] = [];
  #isSorted = false;
  readonly #register: PackRegister;
  readonly #first: bigint;
  #proven = 0;

  /** @param first the checkpoint of the first register */
  constructor(coinType: string, first: bigint) {
    this.#register = new PackRegister(coinType);
    this.#first = first;
  }

  get proven(): number {
    return this.#proven;
  }

  expect(item: StateItem): void {
    const key = keyOf(item);
    const checkpoint = sinceOf(item);
    if (this.#expected.has(key)) throw packError(FILES.firstState, `has ${key} twice`);
    if (checkpoint > this.#first) {
      throw packError(
        FILES.firstState,
        `${key} is said to stand since checkpoint ${checkpoint}, which is behind the first register`,
      );
    }
    this.#expected.set(key, { item, checkpoint, isProven: false });
    if (item.kind !== "object") this.#waiting.push(item);
  }

  /**
   * Compares a checkpoint's facts with the items since; call in ascending order.
   * @throws AuditPackError (stop) if they differ
   */
  meet(checkpoint: bigint, facts: readonly Fact[]): void {
    const objects = new Map<string, Fact>();
    for (const fact of facts) if (fact.kind !== "event") objects.set(fact.objectId, fact);
    for (const [objectId, fact] of objects) {
      this.#compare(`object ${objectId}`, checkpoint, (item) => {
        if (fact.kind !== "object" || item.kind !== "object") return false;
        return isSameObject(fact, item.fact);
      });
    }
    this.#applyBefore(checkpoint);
    const { memberships, roles } = this.#register.apply(facts);
    // Starting ranges follow the ended ones that they replace.
    const lastOf = <Range>(ranges: readonly Range[], keyed: (range: Range) => string) =>
      new Map(ranges.map((range) => [keyed(range), range]));
    for (const [key, range] of lastOf(memberships, membershipKey)) {
      this.#compare(`membership ${key}`, checkpoint, (item) => {
        if (item.kind !== "membership") return false;
        return range.until === STILL_OPEN && item.range.value === range.value;
      });
    }
    for (const [key, { until }] of lastOf(roles, roleKey)) {
      this.#compare(`role ${key}`, checkpoint, () => until === STILL_OPEN);
    }
  }

  /** Applies items from before a checkpoint, so that their end is noticed there. */
  #applyBefore(checkpoint: bigint): void {
    if (!this.#isSorted) this.#waiting.sort((a, b) => (sinceOf(a) < sinceOf(b) ? 1 : -1));
    this.#isSorted = true;
    for (
      let next = this.#waiting.at(-1);
      next !== undefined && sinceOf(next) < checkpoint;
      next = this.#waiting.at(-1)
    ) {
      this.#waiting.pop();
      this.#register.put(next);
    }
  }

  #compare(key: string, checkpoint: bigint, isSame: (item: StateItem) => boolean): void {
    const expected = this.#expected.get(key);
    if (expected === undefined || expected.checkpoint > checkpoint) return;
    if (expected.checkpoint < checkpoint || !isSame(expected.item)) {
      throw packError(FILES.firstState, `${key} is not what checkpoint ${checkpoint} made of it`);
    }
    this.#proven += expected.isProven ? 0 : 1;
    expected.isProven = true;
  }

  /** @throws AuditPackError (stop) naming an item that no checkpoint proves */
  assertProven(): void {
    for (const [key, { checkpoint, isProven }] of this.#expected) {
      if (isProven) continue;
      throw packError(
        FILES.firstState,
        `${key} is said to stand since checkpoint ${checkpoint}, which does not prove it`,
      );
    }
  }
}

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
