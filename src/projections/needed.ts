/** Which pipelines an answer needs: each field of the API names one of these. */
import type { Needed } from "./guarded-reads.ts";
import type { WatermarkTable } from "./watermark.ts";
import * as watermarks from "./watermarks.ts";

const needed = (name: string, watermark: WatermarkTable, hasLayout = true): Needed => ({
  name,
  watermark,
  hasLayout,
});

const TOKENS = needed("shared_token_objects", watermarks.sharedTokenObjectsWatermark);
const GRANTS = needed("timelock_objects", watermarks.timelockObjectsWatermark);
const HOLDERS = needed("holder_lifecycle", watermarks.holderLifecycleWatermark);
const ROLES = needed("role_changes", watermarks.roleChangesWatermark);
const ACTIVITY = needed("token_activity", watermarks.tokenActivityWatermark, false);

export const FOR_BALANCES: readonly Needed[] = [TOKENS, GRANTS];
export const FOR_TOKEN_OBJECTS: readonly Needed[] = [TOKENS];
export const FOR_GRANTS: readonly Needed[] = [GRANTS];
export const FOR_HOLDERS: readonly Needed[] = [HOLDERS];
export const FOR_ACTIVITY: readonly Needed[] = [ACTIVITY];
export const FOR_ROLES: readonly Needed[] = [ROLES];
export const FOR_CAP_TABLES: readonly Needed[] = [TOKENS, GRANTS, HOLDERS];
export const FOR_HISTORIES: readonly Needed[] = [ACTIVITY, TOKENS, GRANTS, HOLDERS];
export const ALL: readonly Needed[] = [ACTIVITY, TOKENS, GRANTS, HOLDERS, ROLES];
