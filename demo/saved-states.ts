/** Saved states of the simulation, for fast restarts; else it is made again from its seed. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Newest states kept; a reader may be behind. */
const KEPT = 3;

const NAME = /^(\d+)\.state$/;

/** Keeps states under `dataDir/demo-ledger-states`. */
export class SavedStates {
  readonly #dir: string;

  constructor(dataDir: string) {
    this.#dir = join(dataDir, "demo-ledger-states");
  }

  /** States before a checkpoint, nearest first. */
  *before(sequence: bigint): Iterable<Uint8Array> {
    for (const next of this.#list()) {
      if (next <= sequence) yield new Uint8Array(readFileSync(this.#path(next)));
    }
  }

  /** Saves a state that continues with checkpoint `next`; drops the oldest. */
  save(next: bigint, state: Uint8Array): void {
    mkdirSync(this.#dir, { recursive: true });
    const temporary = `${this.#path(next)}.${process.pid}.part`;
    writeFileSync(temporary, state);
    renameSync(temporary, this.#path(next));
    for (const old of this.#list().slice(KEPT)) rmSync(this.#path(old), { force: true });
  }

  /** Checkpoints that saved states continue with, newest first. */
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
