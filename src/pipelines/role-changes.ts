/**
 * Roles granted and revoked, and who holds which one, now and then.
 *
 * Facts in:  RoleChange
 * Rows out:  role_events, keyed by (coin type, position); folded into wallet_roles, and into
 *            role_ranges, keyed by (coin type, owner, role, checkpoint)
 */
import { decodeRoleChange } from "../ledger/contract/events.ts";
import { ROLE_CHANGE } from "../ledger/contract/names.ts";
import { type Fact, isIndexable } from "../log/fact.ts";
import { LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import { placeOf } from "../projections/position.ts";
import {
  currentRoles,
  foldRoles,
  type RoleEventRow,
  type RoleKey,
  type RoleRange,
  type RoleRows,
  roleEventsTable,
  roleKey,
  roleProgress,
  roleRangesTable,
  walletRolesTable,
} from "../projections/roles.ts";
import { type EventReader, eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";
import { rangesOf } from "./state-ranges.ts";
import { derived, events, ranges } from "./stored-tables.ts";

const readRoleChange: EventReader<Pick<RoleEventRow, "owner" | "role" | "granted" | "signer">> = (
  contents,
  { sender },
) => {
  const change = decodeRoleChange(contents);
  // The granter of a role picks its type; one too long for a key must not stop all roles.
  return isIndexable(change.role) ? { ...change, signer: sender } : null;
};

const eventsOf = (facts: readonly Fact[]): readonly RoleEventRow[] =>
  eventRows(roleProgress.name, facts, { [ROLE_CHANGE]: readRoleChange });

/** The roles that a batch names, as far as they were held before it, by `roleKey`. */
type Before = ReadonlyMap<string, RoleRange>;

/** Keeps role changes of each coin, role types of foreign packages included. */
export const roleChangesPipeline: Pipeline<RoleRows, Before> = {
  ...roleProgress,
  queries: ["walletRoles", "roleEvents"],
  facts: [ROLE_CHANGE],
  tables: [
    events(LINES.roleEvent, roleEventsTable),
    derived(walletRolesTable),
    ranges(LINES.role, roleRangesTable, { since: 2 }),
  ],
  readBefore: async (sql, facts) => {
    const named = new Map(eventsOf(facts).map((event) => [roleKey(event), event]));
    const held = await currentRoles(sql, [...named.values()]);
    return new Map(held.map((range) => [roleKey(range), range]));
  },
  rows: (facts, before) => {
    const happened = eventsOf(facts);
    const changes = happened.map(({ coinType, owner, role, position, granted }) => ({
      key: roleKey({ coinType, owner, role }),
      checkpoint: placeOf(position).checkpoint,
      state: granted ? { coinType, owner, role } : null,
    }));
    return { events: happened, ranges: rangesOf<RoleKey>(changes, before, () => true) };
  },
  write: foldRoles,
  lines: (rows, { first, last }) => [
    ...placedLines(LINES.roleEvent, rows.events),
    ...stateLines(LINES.role, first, last, rows.ranges),
  ],
};
