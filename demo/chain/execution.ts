import type { Remedy } from "../../src/waiting/remedy.ts";
import type { AbortLocation, WireEvent } from "../wire/effects.ts";
import type { ObjectOwner, PackageObject } from "../wire/object.ts";
import { createdId } from "./ids.ts";
import type { Chain, OpenCheckpoint } from "./state.ts";

/** Move code aborted: the transaction fails and only pays gas. */
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

/** The gas budget was exceeded: fails like an abort, without location. */
export class OutOfGas extends Error {
  override readonly name = "OutOfGas";
  readonly remedy: Remedy = "stop";
}

/** The simulation is inconsistent: a bug. Stop. */
export class SimulationError extends Error {
  override readonly name = "SimulationError";
  readonly remedy: Remedy = "stop";
}

/** Owner of a new object; `share` until its version is known. */
type NewOwner = Exclude<ObjectOwner, { readonly kind: "shared" }> | "share";

/** An object after the transaction, before it has a version. */
export type Written = {
  readonly type: string;
  readonly publicTransfer: boolean;
  readonly contents: Uint8Array;
  /** Null: unchanged. */
  readonly owner: NewOwner | null;
  readonly came: "changed" | "created";
};

type Publication = Omit<PackageObject, "previousTransaction" | "storageRebate"> & {
  /** Id of the first version, which may be this one. */
  readonly originalId: string;
};

/** A running transaction: the operations of simulated Move code, all undone on abort. */
export class Execution {
  readonly digest: Uint8Array;
  readonly sender: string;
  /** Checkpoint, and index inside it. */
  readonly sequence: bigint;
  readonly index: number;
  /** The clock's time. */
  readonly timestampMs: bigint;
  readonly written = new Map<string, Written>();
  /** Deleted objects, without those created by this transaction. */
  readonly gone = new Set<string>();
  /** Those of them that are inside another object now. */
  readonly wrapped = new Set<string>();
  readonly events: WireEvent[] = [];
  readonly published: Publication[] = [];
  /** Index of the running command, for aborts. */
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

  newId(): string {
    this.#ids += 1;
    return createdId(this.digest, this.#ids - 1);
  }

  /** Creates an object; its contents begin with its id. */
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

  /** Writes an existing object; keeps the owner by default. */
  write(id: string, contents: Uint8Array, owner?: NewOwner): void {
    const now = this.written.get(id);
    const before = this.#chain.objects.get(id);
    const base = now ?? before;
    if (base === undefined || this.gone.has(id)) {
      throw new SimulationError(`${id} is written but does not exist`);
    }
    this.written.set(id, {
      type: base.type,
      publicTransfer: base.publicTransfer,
      contents,
      owner: owner ?? now?.owner ?? null,
      came: now?.came ?? "changed",
    });
  }

  /** Deletes an object; one just created leaves no trace. */
  remove(id: string): void {
    if (!this.exists(id)) throw new SimulationError(`${id} is deleted but does not exist`);
    const now = this.written.get(id);
    this.written.delete(id);
    if (now?.came !== "created") this.gone.add(id);
  }

  /** Puts an object into another one. */
  wrap(id: string): void {
    this.remove(id);
    this.wrapped.add(id);
  }

  publish(publication: Publication): void {
    this.published.push(publication);
  }

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

  exists(id: string): boolean {
    return this.written.has(id) || (this.#chain.objects.has(id) && !this.gone.has(id));
  }

  /** Sets an entry of the model, undone on failure. */
  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.#remember(map, key);
    map.set(key, value);
  }

  /** Deletes an entry of the model, undone on failure. */
  drop<Key, Value>(map: Map<Key, Value>, key: Key): void {
    this.#remember(map, key);
    map.delete(key);
  }

  onSuccess(action: () => void): void {
    this.#done.push(action);
  }

  succeed(): void {
    for (const action of this.#done) action();
  }

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
