/**
 * Roles granted and revoked, and who holds which one, now and then.
 *
 * Facts in:  RoleChange
 * Rows out:  role_events, keyed by (coin type, position); folded into wallet_roles, and into
 *            role_ranges, keyed by (coin type, owner, role, checkpoint)
 */
import type { Sql } from "../database/connect.ts";
import { decodeRoleChange } from "../ledger/contract/events.ts";
import { ROLE_CHANGE } from "../ledger/contract/names.ts";
import { type Fact, isIndexable } from "../log/fact.ts";
import { LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import { roleChangesDigests } from "../projections/digests.ts";
import { placeOf } from "../projections/position.ts";
import {
  foldRoles,
  foldRolesAtOnce,
  type RoleEventRow,
  type RoleKey,
  type RoleRange,
  type RoleRows,
  roleEventsTable,
  roleKey,
  roleRangesTable,
  standingRoles,
  walletRolesTable,
} from "../projections/roles.ts";
import { roleChangesWatermark } from "../projections/watermarks.ts";
import { type EventReader, eventRows } from "./event-rows.ts";
import { LAYOUT, type StatefulPipeline } from "./pipeline.ts";
import { rangesOf } from "./state-ranges.ts";

const NAME = "role_changes";

const readRoleChange: EventReader<Pick<RoleEventRow, "owner" | "role" | "granted" | "signer">> = (
  contents,
  { sender },
) => {
  const change = decodeRoleChange(contents);
  // The granter of a role picks its type; one too long for a key must not stop all roles.
  return isIndexable(change.role) ? { ...change, signer: sender } : null;
};

const eventsOf = (facts: readonly Fact[]): readonly RoleEventRow[] =>
  eventRows(NAME, facts, { [ROLE_CHANGE]: readRoleChange });

/** Of the roles that a batch names, those that were held before, by `roleKey`. */
type Standing = ReadonlyMap<string, RoleRange>;

const readStanding = async (sql: Sql, facts: readonly Fact[]): Promise<Standing> => {
  const named = new Map(eventsOf(facts).map((event) => [roleKey(event), event]));
  const held = await standingRoles(sql, [...named.values()]);
  return new Map(held.map((range) => [roleKey(range), range]));
};

const rowsOf = (facts: readonly Fact[], standing: Standing): RoleRows => {
  const events = eventsOf(facts);
  const changes = events.map(({ coinType, owner, role, position, granted }) => ({
    key: roleKey({ coinType, owner, role }),
    checkpoint: placeOf(position).checkpoint,
    state: granted ? { coinType, owner, role } : null,
  }));
  return { events, ranges: rangesOf<RoleKey>(changes, standing, () => true) };
};

/** Tables that came with the past. */
const ADDED = [roleRangesTable];

/** Keeps role changes of each coin, role types of foreign packages included. */
export const roleChangesPipeline: StatefulPipeline<RoleRows, Standing> = {
  name: NAME,
  facts: [ROLE_CHANGE],
  watermark: roleChangesWatermark,
  layout: LAYOUT,
  tables: [roleEventsTable, walletRolesTable, ...ADDED],
  added: ADDED,
  digested: {
    table: roleChangesDigests,
    lines: ({ events, ranges }, { first, last }) => [
      ...placedLines(LINES.roleEvent, events),
      ...stateLines(LINES.role, first, last, ranges),
    ],
  },
  standing: readStanding,
  rows: rowsOf,
  count: ({ events, ranges }) => events.length + ranges.length,
  write: foldRoles,
  writeAtOnce: foldRolesAtOnce,
};
