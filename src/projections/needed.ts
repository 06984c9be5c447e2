/** Pipelines that an answer needs: each API field names one of these lists. */
import { grantProgress, tokenProgress } from "./balance-progress.ts";
import { holderProgress } from "./holder-events.ts";
import type { ProgressTables } from "./progress-tables.ts";
import { roleProgress } from "./roles.ts";
import { activityProgress } from "./token-activity.ts";

export const FOR_BALANCES: readonly ProgressTables[] = [tokenProgress, grantProgress];
export const FOR_TOKEN_OBJECTS: readonly ProgressTables[] = [tokenProgress];
export const FOR_GRANTS: readonly ProgressTables[] = [grantProgress];
export const FOR_HOLDERS: readonly ProgressTables[] = [holderProgress];
export const FOR_ACTIVITY: readonly ProgressTables[] = [activityProgress];
export const FOR_ROLES: readonly ProgressTables[] = [roleProgress];
export const FOR_CAP_TABLES: readonly ProgressTables[] = [
  tokenProgress,
  grantProgress,
  holderProgress,
];
export const FOR_WALLETS: readonly ProgressTables[] = [...FOR_CAP_TABLES, roleProgress];
export const FOR_HISTORIES: readonly ProgressTables[] = [activityProgress, ...FOR_CAP_TABLES];
/** The five that `_meta` covers. */
export const ALL: readonly ProgressTables[] = [...FOR_HISTORIES, roleProgress];
