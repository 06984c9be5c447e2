/**
 * Roles granted and revoked, and who holds which one now.
 *
 * Facts in:  RoleChange
 * Rows out:  role_events, keyed by (coin type, position); folded into wallet_roles
 */
import { decodeRoleChange } from "../ledger/contract/events.ts";
import { ROLE_CHANGE } from "../ledger/contract/names.ts";
import { isIndexable } from "../log/fact.ts";
import {
  clearRoles,
  foldRoleEvents,
  foldRoleEventsAtOnce,
  type RoleEventRow,
} from "../projections/roles.ts";
import { roleChangesWatermark } from "../projections/watermarks.ts";
import { type EventReader, eventRows } from "./event-rows.ts";
import type { Pipeline } from "./pipeline.ts";

const NAME = "role_changes";

const readRoleChange: EventReader<Pick<RoleEventRow, "owner" | "role" | "granted" | "signer">> = (
  contents,
  { sender },
) => {
  const change = decodeRoleChange(contents);
  // The granter of a role picks its type; one too long for a key must not stop all roles.
  return isIndexable(change.role) ? { ...change, signer: sender } : null;
};

/** Keeps role changes of each coin, role types of foreign packages included. */
export const roleChangesPipeline: Pipeline<RoleEventRow> = {
  name: NAME,
  facts: [ROLE_CHANGE],
  watermark: roleChangesWatermark,
  rows: (facts) => eventRows(NAME, facts, { [ROLE_CHANGE]: readRoleChange }),
  write: foldRoleEvents,
  writeAtOnce: foldRoleEventsAtOnce,
  reset: clearRoles,
};
