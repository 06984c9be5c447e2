/** Effects and objects of a transaction, in the network's forms and orders. */

import type { StoredObject } from "../wire/checkpoint.ts";
import type { GasCost, ObjectChange } from "../wire/effects.ts";
import { type ObjectOwner, storageFee } from "../wire/object.ts";
import type { Execution } from "./execution.ts";
import { type LiveObject, spendGas, stored } from "./state.ts";

/** The transaction's objects afterwards: inputs, changed or not, and new ones. */
export const newVersions = (
  execution: Execution,
  before: ReadonlyMap<string, LiveObject>,
  made: {
    readonly digest: Uint8Array;
    readonly lamport: bigint;
    /** Null for the system, which pays no gas. */
    readonly payment: { readonly coin: string; readonly gas: GasCost } | null;
  },
): readonly LiveObject[] => {
  const after: LiveObject[] = [];
  const add = (
    id: string,
    type: string,
    publicTransfer: boolean,
    left: Uint8Array,
    owner: ObjectOwner,
  ) => {
    const { payment } = made;
    const contents = payment?.coin === id ? spendGas(id, left, payment.gas) : left;
    after.push(
      stored({
        id,
        version: made.lamport,
        type,
        publicTransfer,
        contents,
        owner,
        previousTransaction: made.digest,
        storageRebate: payment === null ? 0n : storageFee(type, contents.length),
      }),
    );
  };

  for (const object of before.values()) {
    if (execution.written.has(object.id) || execution.gone.has(object.id)) continue;
    add(object.id, object.type, object.publicTransfer, object.contents, object.owner);
  }
  for (const [id, object] of execution.written) {
    const owner: ObjectOwner =
      object.owner === "share"
        ? { kind: "shared", initialSharedVersion: made.lamport }
        : (object.owner ?? before.get(id)?.owner ?? { kind: "immutable" });
    add(id, object.type, object.publicTransfer, object.contents, owner);
  }
  return after;
};

/** `changed_objects` of the effects. */
export const objectChanges = (
  execution: Execution,
  before: ReadonlyMap<string, LiveObject>,
  after: readonly LiveObject[],
  packages: readonly StoredObject[],
): readonly ObjectChange[] => {
  const changes: ObjectChange[] = after.map((object) => ({
    id: object.id,
    input: before.get(object.id) ?? null,
    output: { kind: "object", digest: object.digest, owner: object.owner },
    idOperation: execution.written.get(object.id)?.came === "created" ? "created" : "none",
  }));
  for (const id of execution.gone) {
    changes.push({
      id,
      input: before.get(id) ?? null,
      output: { kind: "none" },
      idOperation: execution.wrapped.has(id) ? "none" : "deleted",
    });
  }
  for (const { id, version, digest } of packages) {
    changes.push({
      id,
      input: null,
      output: { kind: "package", version, digest },
      idOperation: "created",
    });
  }
  return byId(changes);
};

/** The network's order: changed objects, then created ones, each by id. */
export const inOutputOrder = (
  execution: Execution,
  before: ReadonlyMap<string, LiveObject>,
  after: readonly LiveObject[],
  packages: readonly StoredObject[],
): readonly StoredObject[] => {
  const created = after.filter(({ id }) => execution.written.get(id)?.came === "created");
  return [...byId(after.filter(({ id }) => before.has(id))), ...byId([...created, ...packages])];
};

/** The network sorts nearly everything by id. */
export const byId = <Item extends { readonly id: string }>(
  items: readonly Item[],
): readonly Item[] => [...items].sort((a, b) => (a.id < b.id ? -1 : 1));
