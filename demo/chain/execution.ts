import type { Remedy } from "../../src/waiting/remedy.ts";
import type { AbortLocation, WireEvent } from "../wire/effects.ts";
import type { ObjectOwner, PackageObject } from "../wire/object.ts";
import { createdId } from "./ids.ts";
import type { Chain, OpenCheckpoint } from "./state.ts";

/** Move code gave up: the transaction fails, pays its gas and changes nothing else. */
export class MoveAbort extends Error {
  override readonly name = "MoveAbort";
  readonly remedy: Remedy = "stop";
  readonly location: Omit<AbortLocation, "package">;
  readonly code: bigint;

  constructor(location: Omit<AbortLocation, "package">, code: bigint, reason: string) {
    super(`${location.module}::${location.functionName} aborted with ${code}: ${reason}`);
    this.location = location;
    this.code = code;
  }
}

/** The gas budget was used up; the transaction fails like an abort, without a place. */
export class OutOfGas extends Error {
  override readonly name = "OutOfGas";
  readonly remedy: Remedy = "stop";
}

/** The simulation contradicts itself. Stop: a bug in it. */
export class SimulationError extends Error {
  override readonly name = "SimulationError";
  readonly remedy: Remedy = "stop";
}

/** Owner of a new object; `share` until its version is known. */
export type NewOwner = Exclude<ObjectOwner, { readonly kind: "shared" }> | "share";

/** An object as the transaction leaves it, before it has a version. */
export type Written = {
  readonly type: string;
  readonly publicTransfer: boolean;
  readonly contents: Uint8Array;
  /** Null: as before. */
  readonly owner: NewOwner | null;
  readonly came: "changed" | "created";
};

/** A package version as its publisher hands it in. */
export type Publication = Omit<PackageObject, "previousTransaction" | "storageRebate"> & {
  /** Id of its first version; its own for that one. */
  readonly originalId: string;
};

/**
 * A transaction while its code runs: what the simulated Move code may do. All of it is taken back
 * when the code aborts.
 */
export class Execution {
  readonly digest: Uint8Array;
  readonly sender: string;
  /** The checkpoint, and the place inside it. */
  readonly sequence: bigint;
  readonly index: number;
  /** The clock's time. */
  readonly timestampMs: bigint;
  readonly written = new Map<string, Written>();
  /** Ids of the objects it deleted, those it created itself left out. */
  readonly gone = new Set<string>();
  readonly events: WireEvent[] = [];
  readonly published: Publication[] = [];
  /** Index of the command that runs; an abort names it. */
  command = 0;
  readonly #chain: Chain;
  readonly #undo: (() => void)[] = [];
  readonly #done: (() => void)[] = [];
  #ids = 0;

  constructor(
    chain: Chain,
    at: OpenCheckpoint,
    transaction: { readonly digest: Uint8Array; readonly sender: string },
  ) {
    this.#chain = chain;
    this.sequence = at.sequence;
    this.index = at.transactions.length;
    this.timestampMs = at.timestampMs;
    this.digest = transaction.digest;
    this.sender = transaction.sender;
  }

  /** A new object id. */
  newId(): string {
    this.#ids += 1;
    return createdId(this.digest, this.#ids - 1);
  }

  /** Creates an object; the contents begin with its id. */
  create(
    id: string,
    object: {
      readonly type: string;
      readonly contents: Uint8Array;
      readonly owner: NewOwner;
      readonly publicTransfer?: boolean;
    },
  ): void {
    this.written.set(id, { publicTransfer: false, ...object, came: "created" });
  }

  /** Writes an object that stands or was created just now; the owner stays unless given. */
  write(id: string, contents: Uint8Array, owner?: NewOwner): void {
    const now = this.written.get(id);
    const before = this.#chain.objects.get(id);
    const base = now ?? before;
    if (base === undefined || this.gone.has(id)) {
      throw new SimulationError(`${id} is written but does not stand`);
    }
    this.written.set(id, {
      type: base.type,
      publicTransfer: base.publicTransfer,
      contents,
      owner: owner ?? now?.owner ?? null,
      came: now?.came ?? "changed",
    });
  }

  /** Deletes an object; one created just now leaves no trace. */
  remove(id: string): void {
    if (!this.stands(id)) throw new SimulationError(`${id} is deleted but does not stand`);
    const now = this.written.get(id);
    this.written.delete(id);
    if (now?.came !== "created") this.gone.add(id);
  }

  /** Publishes a package version. */
  publish(publication: Publication): void {
    this.published.push(publication);
  }

  /** Emits an event from the function that was called. */
  emit(
    from: { readonly package: string; readonly module: string },
    type: string,
    contents: Uint8Array,
  ): void {
    this.events.push({
      packageId: from.package,
      module: from.module,
      sender: this.sender,
      type,
      contents,
    });
  }

  /** Whether an object stands now. */
  stands(id: string): boolean {
    return this.written.has(id) || (this.#chain.objects.has(id) && !this.gone.has(id));
  }

  /** Sets an entry of the model; taken back when the transaction fails. */
  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.#remember(map, key);
    map.set(key, value);
  }

  /** Deletes an entry of the model; taken back when the transaction fails. */
  drop<Key, Value>(map: Map<Key, Value>, key: Key): void {
    this.#remember(map, key);
    map.delete(key);
  }

  /** Does something once the transaction has succeeded. */
  onSuccess(action: () => void): void {
    this.#done.push(action);
  }

  /** The code has run to its end. */
  succeed(): void {
    for (const action of this.#done) action();
  }

  /** Takes back everything: the transaction fails. */
  fail(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo.length = 0;
    this.written.clear();
    this.gone.clear();
    this.events.length = 0;
    this.published.length = 0;
  }

  #remember<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    this.#undo.push(() => {
      if (before === undefined) map.delete(key);
      else map.set(key, before);
    });
  }
}
