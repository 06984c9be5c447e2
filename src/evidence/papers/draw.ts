/**
 * The draw of a sample, for anybody to repeat: each line of `movements.ndjson` is ranked by
 * SHA-256(seed, LF, line), and the smallest ones are drawn. No order of reading and no number of lines matters,
 * and a larger sample begins with the smaller one.
 */
import { createHash } from "node:crypto";

/** SHA-256, as hex, of the seed, LF and the line without its LF; all UTF-8. */
const rankOf = (seed: string, line: string): string =>
  createHash("sha256").update(`${seed}\n${line}`).digest("hex");

/** Something that was drawn, with its rank. */
export type Drawn<Item> = { readonly rank: string; readonly item: Item };

export class Draw<Item> {
  readonly #seed: string;
  readonly #size: number;
  /** By rank, ascending. */
  readonly #drawn: Drawn<Item>[] = [];
  #of = 0;

  constructor(seed: string, size: number) {
    this.#seed = seed;
    this.#size = size;
  }

  /** The sample, in the order in which it is drawn. */
  get drawn(): readonly Drawn<Item>[] {
    return this.#drawn;
  }

  /** How many it was drawn from. */
  get of(): number {
    return this.#of;
  }

  offer(line: string, item: Item): void {
    this.#of += 1;
    const rank = rankOf(this.#seed, line);
    const last = this.#drawn.at(-1);
    if (this.#drawn.length === this.#size && (last === undefined || rank >= last.rank)) return;
    const behind = this.#drawn.findIndex((one) => one.rank > rank);
    this.#drawn.splice(behind < 0 ? this.#drawn.length : behind, 0, { rank, item });
    if (this.#drawn.length > this.#size) this.#drawn.pop();
  }
}
