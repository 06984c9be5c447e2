/** The first register of a whole pack, recomputed from all facts since the coin's first. */
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { TierName } from "../../../client/pack-error.ts";
import type { PackFiles } from "../../../client/pack-files.ts";
import { jsonLines } from "../../../client/pack-lines.ts";
import type { Fact, ObjectFact } from "../../log/fact.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { FILES, packError } from "./form.ts";
import { isLeftOut, type LeftOutOfPack } from "./left-out.ts";
import { itemIn, keyOf, type StateItem, sinceOf, stateLine } from "./lines.ts";
import { type Happened, PackRegister } from "./register.ts";

export class PackBeginning {
  readonly register: PackRegister;
  readonly #coinType: string;
  readonly #leftOut: LeftOutOfPack;
  readonly #objects = new Map<string, ObjectFact>();

  constructor(coinType: string, leftOut: LeftOutOfPack = new Map()) {
    this.#coinType = coinType;
    this.#leftOut = leftOut;
    this.register = new PackRegister(coinType, leftOut);
  }

  /** Applies facts in chain order. @throws UndecodableFactError (stop) */
  apply(facts: readonly Fact[]): Happened {
    for (const fact of facts) {
      if (isLeftOut(fact, this.#leftOut)) continue;
      if (fact.kind === "object") this.#objects.set(fact.objectId, fact);
      else if (fact.kind === "removal") this.#objects.delete(fact.objectId);
    }
    return this.register.apply(facts);
  }

  #items(): Map<string, StateItem> {
    const { memberships, roles } = this.register;
    const all = [
      ...[...this.#objects.values()].map((fact): StateItem => ({ kind: "object", fact })),
      ...memberships.map((range): StateItem => ({ kind: "membership", range })),
      ...roles.map((range): StateItem => ({ kind: "role", range })),
    ];
    return new Map(all.map((item) => [keyOf(item), item]));
  }

  /**
   * Compares the pack's first state with the recomputed one.
   * @returns the number of items
   * @throws AuditPackError (stop) naming an item that is wrong or missing
   */
  async compare(pack: PackFiles, tier?: TierName): Promise<number> {
    const items = this.#items();
    const count = items.size;
    for await (const line of jsonLines(pack, FILES.firstState)) {
      const key = keyOf(itemIn(line, this.#coinType, STILL_OPEN));
      const found = items.get(key);
      if (found === undefined || stateLine(found) !== canonicalJson(line)) {
        throw packError(FILES.firstState, `${key} is not what the ledger made of it`, tier);
      }
      items.delete(key);
    }
    for (const [key, left] of items) {
      throw packError(
        FILES.firstState,
        `leaves out ${key}, which stands since checkpoint ${sinceOf(left)}`,
        tier,
      );
    }
    return count;
  }
}
