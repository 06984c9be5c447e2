/**
 * The vesting grants (`Timelock` objects), the grant part of their owners' balances, and how both came
 * to be.
 *
 * Facts in:  Timelock objects, written and removed
 * Rows out:  timelock_objects, keyed by object and coin type, and timelock_ranges; folded into balances;
 *            grant_changes, keyed by (coin type, owner, transaction)
 */
import { TIMELOCK } from "../ledger/contract/names.ts";
import { decodeTimelock } from "../ledger/contract/objects.ts";
import type { Fact, ObjectFact } from "../log/fact.ts";
import { type BalanceChangeRow, grantChangesTable } from "../projections/balance-changes.ts";
import { grantProgress } from "../projections/balance-progress.ts";
import { clearBalances } from "../projections/balances.ts";
import { LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import {
  currentTimelocks,
  foldTimelocks,
  type GrantRows,
  type TimelockState,
  timelockObjectsTable,
  timelockRangesTable,
} from "../projections/timelock-objects.ts";
import { grantMovement, Movements, transactionsOf } from "./movements.ts";
import {
  type BatchStates,
  batchStates,
  ObjectStates,
  objectsIn,
  type Step,
  sharedBalances,
  statesOf,
} from "./object-states.ts";
import type { Pipeline } from "./pipeline.ts";
import { events, states } from "./stored-tables.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

const { name } = grantProgress;

type Before = BatchStates<TimelockState> & { readonly grants: Map<string, TimelockState> };

const stateOf = (fact: ObjectFact): TimelockState => {
  const { id: _, ...grant } = contentsOf(name, fact, decodeTimelock);
  const { version, checkpoint } = fact;
  return { coinType: coinTypeOf(name, fact), ...grant, version, checkpoint };
};

const rowsOf = (facts: readonly Fact[], { grants, decoded, balances }: Before): GrantRows => {
  const objects = new ObjectStates(name, grants, (fact) => decoded.get(fact) ?? stateOf(fact));
  const changes: BalanceChangeRow[] = [];
  for (const transaction of transactionsOf(facts)) {
    const movements = new Movements();
    for (const fact of transaction) if (fact.kind !== "event") move(movements, objects.step(fact));
    changes.push(...movements.rows(transaction[0], balances));
  }
  return { objects: objects.changes, ended: objects.ended, changes };
};

const move = (movements: Movements, { before, after }: Step<TimelockState>): void => {
  if (before) movements.held(before.coinType, before.owner, -before.leftBalance);
  if (after) movements.held(after.coinType, after.owner, after.leftBalance);
  const { coinType, owner } = after ?? before ?? {};
  // A grant that changed hands is not of the contract as it is known: its movement stays unknown.
  if (coinType === undefined || owner === undefined || (before && before.owner !== owner)) return;
  const { funded, claimed, cancelled } = grantMovement(before, after);
  if (funded > 0n) movements.because(coinType, owner, "GRANT_FUNDED", funded);
  if (claimed > 0n) movements.because(coinType, owner, "GRANT_CLAIMED", -claimed);
  if (cancelled > 0n) movements.because(coinType, owner, "GRANT_CANCELLED", -cancelled);
};

/** Keeps the grants of every coin, present and past. */
export const timelockObjectsPipeline: Pipeline<GrantRows, Before> = {
  ...grantProgress,
  queries: ["tokenTimelocks"],
  facts: [TIMELOCK],
  tables: [
    ...states(LINES.grant, timelockObjectsTable, timelockRangesTable, { endedSince: 2 }),
    events(LINES.change, grantChangesTable, { since: 2 }),
  ],
  sharedTables: [sharedBalances],
  readBefore: async (sql, facts) => {
    const grants = await currentTimelocks(sql, objectsIn(name, facts));
    return { grants, ...(await batchStates(sql, "grant", grants, facts, stateOf)) };
  },
  rows: rowsOf,
  write: foldTimelocks,
  lines: ({ objects, ended, changes }, { first, last }) => [
    ...stateLines(LINES.grant, first, last, statesOf(objects, ended)),
    ...placedLines(LINES.change, changes),
  ],
  reset: (tx) => clearBalances(tx, "grant"),
};
