/** What an audit pack says of operators' acts: each once, in the order in which they were done, on the coin or on all. */
import { canonicalJson } from "./canonical-json.mjs";
import { fail } from "./pack-error.mjs";
import { ACTS } from "./pack-forms.mjs";
import { hexOf, utf8 } from "./sum-tree.mjs";

export class PackActs {
  #coinType;
  #before = { number: "0", at: "", entry: null };

  constructor({ coinType }) {
    this.#coinType = coinType;
  }

  /** Holds a line, whose form was checked, against the manifest and the line before it. */
  next(act, count) {
    const before = this.#before;
    const wrong = (what) => fail(ACTS, `line ${count} ${what}`);
    if (act.coinType !== (act.scope === "coin" ? this.#coinType : null)) {
      wrong("is neither on the pack's coin nor on the whole deployment");
    }
    if (BigInt(act.number) <= BigInt(before.number)) wrong("stands out of its order");
    if (act.at < before.at) wrong(`is dated ${act.at}, before the line above it`);
    // Acts are published in their order, and those of a pack before it is made.
    if (act.entry !== null && before.entry !== null && BigInt(act.entry) <= BigInt(before.entry)) {
      wrong(`names entry ${act.entry}, and the line above it ${before.entry}`);
    }
    if (count > 1 && act.entry !== null && before.entry === null) {
      wrong("has an entry, and the line above it has none");
    }
    this.#before = act;
  }
}

export const actHash = async ({ entry: _, ...act }) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(canonicalJson(act)))));
