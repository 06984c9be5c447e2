/**
 * States of the simulation put away now and then, so that a restart need not begin with checkpoint 0.
 * Nothing is lost with them: without a fitting one the ledger is made anew from its seed.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** States kept: the newest ones. A reader may be some way behind what was handed out. */
const KEPT = 3;

const NAME = /^(\d+)\.state$/;

/** Keeps states under `dataDir/demo-ledger-states`. */
export class SavedStates {
  readonly #dir: string;

  constructor(dataDir: string) {
    this.#dir = join(dataDir, "demo-ledger-states");
  }

  /** States from which checkpoint `sequence` can be reached, the nearest first. */
  *before(sequence: bigint): Iterable<Uint8Array> {
    for (const next of this.#list()) {
      if (next <= sequence) yield new Uint8Array(readFileSync(this.#path(next)));
    }
  }

  /** Puts a state away; `next` is the checkpoint it goes on with. The oldest makes room. */
  save(next: bigint, state: Uint8Array): void {
    mkdirSync(this.#dir, { recursive: true });
    const temporary = `${this.#path(next)}.${process.pid}.part`;
    writeFileSync(temporary, state);
    renameSync(temporary, this.#path(next));
    for (const old of this.#list().slice(KEPT)) rmSync(this.#path(old), { force: true });
  }

  /** Checkpoints the kept states go on with, newest first. */
  #list(): readonly bigint[] {
    let names: readonly string[];
    try {
      names = readdirSync(this.#dir);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
    return names
      .flatMap((name) => NAME.exec(name)?.[1] ?? [])
      .map(BigInt)
      .sort((a, b) => (a < b ? 1 : -1));
  }

  #path(next: bigint): string {
    return join(this.#dir, `${next}.state`);
  }
}
