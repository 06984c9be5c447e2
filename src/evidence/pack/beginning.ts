/** The first register of a pack, where all facts since the coin's first one are known: nothing in it is taken on faith. */
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { TierName } from "../../../client/pack-error.ts";
import type { PackFiles } from "../../../client/pack-files.ts";
import { jsonLines } from "../../../client/pack-lines.ts";
import type { Fact, ObjectFact } from "../../log/fact.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import { FILES, packError } from "./form.ts";
import { keyOf, type Standing, sinceOf, standingIn, standingLine } from "./lines.ts";
import { type Happened, PackRegister } from "./register.ts";

export class PackBeginning {
  readonly register: PackRegister;
  readonly #coinType: string;
  readonly #objects = new Map<string, ObjectFact>();

  constructor(coinType: string) {
    this.#coinType = coinType;
    this.register = new PackRegister(coinType);
  }

  /** Goes on by facts of the coin, in chain order. @throws UndecodableFactError (stop) */
  apply(facts: readonly Fact[]): Happened {
    for (const fact of facts) {
      if (fact.kind === "object") this.#objects.set(fact.objectId, fact);
      else if (fact.kind === "removal") this.#objects.delete(fact.objectId);
    }
    return this.register.apply(facts);
  }

  #standing(): Map<string, Standing> {
    const { memberships, roles } = this.register;
    const all = [
      ...[...this.#objects.values()].map((fact): Standing => ({ kind: "object", fact })),
      ...memberships.map((range): Standing => ({ kind: "membership", range })),
      ...roles.map((range): Standing => ({ kind: "role", range })),
    ];
    return new Map(all.map((standing) => [keyOf(standing), standing]));
  }

  /**
   * Holds what the pack says of the first register against what stands now.
   * @returns how many things stand
   * @throws AuditPackError (stop) naming what does not stand, or is left out
   */
  async compare(pack: PackFiles, tier?: TierName): Promise<number> {
    const standing = this.#standing();
    const count = standing.size;
    for await (const line of jsonLines(pack, FILES.firstState)) {
      const key = keyOf(standingIn(line, this.#coinType, STILL_OPEN));
      const found = standing.get(key);
      if (found === undefined || standingLine(found) !== canonicalJson(line)) {
        throw packError(FILES.firstState, `${key} is not what the ledger made of it`, tier);
      }
      standing.delete(key);
    }
    for (const [key, left] of standing) {
      throw packError(
        FILES.firstState,
        `leaves out ${key}, which stands since checkpoint ${sinceOf(left)}`,
        tier,
      );
    }
    return count;
  }
}
