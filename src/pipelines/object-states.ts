/** States of objects through a batch: the last ones, and those that ended. */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../database/connect.ts";
import type { EventFact, Fact, ObjectFact } from "../log/fact.ts";
import { grantChangesTable, tokenChangesTable } from "../projections/balance-changes.ts";
import {
  type BalancePart,
  balancesTable,
  currentBalances,
  type OwnerOfCoin,
} from "../projections/balances.ts";
import { type ObjectChange, type ObjectKey, objectKey } from "../projections/live-objects.ts";
import { balanceKey } from "./movements.ts";
import { BEFORE, derived } from "./stored-tables.ts";
import { coinTypeOf, OlderVersionError } from "./undecodable-fact.ts";

/** A state knows the checkpoint that wrote it, and the object's version. */
type Written = {
  readonly coinType: string;
  readonly checkpoint: bigint;
  readonly version: bigint;
};

/** A state that ended at checkpoint `until`. */
export type EndedState<State> = State & { readonly objectId: string; readonly until: bigint };

/** An object before and after one fact; undefined where it does not exist. */
export type Step<State> = {
  readonly before: State | undefined;
  readonly after: State | undefined;
};

type ChangeFact = Exclude<Fact, EventFact>;

/** @throws UndecodableFactError (stop) when the type names no coin */
export const objectIn = (pipeline: string, fact: ChangeFact): ObjectKey => ({
  coinType: coinTypeOf(pipeline, fact),
  objectId: fact.objectId,
});

/**
 * The objects that facts write or remove, each once.
 * @throws UndecodableFactError (stop) when the type of one names no coin
 */
export const objectsIn = (pipeline: string, facts: readonly Fact[]): readonly ObjectKey[] => {
  const objects = facts.flatMap((fact) => (fact.kind === "event" ? [] : objectIn(pipeline, fact)));
  return [...new Map(objects.map((object) => [objectKey(object), object])).values()];
};

/** Objects of one kind, from their states before a batch. */
export class ObjectStates<State extends Written> {
  readonly #pipeline: string;
  readonly #now: Map<string, State>;
  readonly #touched = new Map<string, ObjectChange<State>>();
  readonly #ended: EndedState<State>[] = [];
  readonly #stateOf: (fact: ObjectFact) => State;

  /** @param before states of the batch's objects by `objectKey`, without those that do not exist; it is changed */
  constructor(pipeline: string, before: Map<string, State>, stateOf: (fact: ObjectFact) => State) {
    this.#pipeline = pipeline;
    this.#now = before;
    this.#stateOf = stateOf;
  }

  /**
   * Applies one fact. An object deleted or wrapped no longer exists; an unwrapped one does again.
   * @throws OlderVersionError (stop), UndecodableFactError (stop)
   */
  step(fact: ChangeFact): Step<State> {
    const { objectId, checkpoint } = fact;
    const object = objectIn(this.#pipeline, fact);
    const key = objectKey(object);
    const before = this.#now.get(key);
    if (before !== undefined && fact.version < before.version) {
      throw new OlderVersionError(fact, before.version);
    }
    const after = fact.kind === "object" ? this.#stateOf(fact) : undefined;
    // States within a checkpoint cannot be queried.
    if (before !== undefined && before.checkpoint < checkpoint) {
      this.#ended.push({ ...before, objectId, until: checkpoint });
    }
    if (after === undefined) this.#now.delete(key);
    else this.#now.set(key, after);
    this.#touched.set(key, { ...object, state: after ?? null });
    return { before, after };
  }

  /** The last state of each object of the batch; null also for one created and removed within it. */
  get changes(): readonly ObjectChange<State>[] {
    return [...this.#touched.values()];
  }

  /** States at the end of a checkpoint that a later one of the batch replaced or ended. */
  get ended(): readonly EndedState<State>[] {
    return this.#ended;
  }
}

/** States in the batch's own facts, decoded once, and the owners' balances before it by `balanceKey`. */
export type BatchStates<State> = {
  readonly decoded: ReadonlyMap<Fact, State>;
  readonly balances: Map<string, bigint>;
};

/** @param before states of the objects that the batch names */
export const batchStates = async <State extends OwnerOfCoin>(
  sql: Sql,
  part: BalancePart,
  before: ReadonlyMap<string, State>,
  facts: readonly Fact[],
  stateOf: (fact: ObjectFact) => State,
): Promise<BatchStates<State>> => {
  const decoded = new Map<Fact, State>();
  for (const fact of facts) if (fact.kind === "object") decoded.set(fact, stateOf(fact));
  const owners = new Map<string, OwnerOfCoin>();
  for (const { coinType, owner } of [...before.values(), ...decoded.values()]) {
    owners.set(balanceKey({ coinType, owner }), { coinType, owner });
  }
  const balances = await currentBalances(sql, part, [...owners.values()]);
  return { decoded, balances: new Map(balances.map((row) => [balanceKey(row), row.held])) };
};

/** All states at the end of a checkpoint in a batch, with `until` if ended. */
export const statesOf = <State extends Written>(
  live: readonly ObjectChange<State>[],
  ended: readonly EndedState<State>[],
): readonly (State & { readonly objectId: string; readonly until?: bigint })[] => [
  ...ended,
  ...live.flatMap(({ objectId, state }) => (state === null ? [] : [{ ...state, objectId }])),
];

const lastBefore = (changes: PgTable) => `
  coalesce((select balance_after from public.${getTableName(changes)} c
            where c.coin_type = o.coin_type and c.owner = o.owner and c.position < ${BEFORE} * 1000000000
            order by c.position desc limit 1), 0)`;

/** Balances; both pipelines of objects write a part. */
export const sharedBalances = derived(balancesTable, {
  before: `
    select coin_type, owner, ${lastBefore(tokenChangesTable)} as token_balance,
           ${lastBefore(grantChangesTable)} as grant_balance
    from (select coin_type, owner from public.${getTableName(tokenChangesTable)}
          union select coin_type, owner from public.${getTableName(grantChangesTable)}) o`,
});
