/** Which pipelines an answer needs: each field of the API names one of these. */
import type { Needed } from "./guarded-reads.ts";
import * as watermarks from "./watermarks.ts";

const TOKENS: Needed = {
  name: "shared_token_objects",
  watermark: watermarks.sharedTokenObjectsWatermark,
  hasLayout: true,
};
const GRANTS: Needed = {
  name: "timelock_objects",
  watermark: watermarks.timelockObjectsWatermark,
  hasLayout: true,
};
const HOLDERS: Needed = {
  name: "holder_lifecycle",
  watermark: watermarks.holderLifecycleWatermark,
  hasLayout: true,
};
const ROLES: Needed = {
  name: "role_changes",
  watermark: watermarks.roleChangesWatermark,
  hasLayout: true,
};
const ACTIVITY: Needed = {
  name: "token_activity",
  watermark: watermarks.tokenActivityWatermark,
  hasLayout: false,
};

export const FOR_BALANCES: readonly Needed[] = [TOKENS, GRANTS];
export const FOR_TOKEN_OBJECTS: readonly Needed[] = [TOKENS];
export const FOR_GRANTS: readonly Needed[] = [GRANTS];
export const FOR_HOLDERS: readonly Needed[] = [HOLDERS];
export const FOR_ACTIVITY: readonly Needed[] = [ACTIVITY];
export const FOR_ROLES: readonly Needed[] = [ROLES];
export const FOR_CAP_TABLES: readonly Needed[] = [TOKENS, GRANTS, HOLDERS];
export const FOR_HISTORIES: readonly Needed[] = [ACTIVITY, TOKENS, GRANTS, HOLDERS];
export const ALL: readonly Needed[] = [ACTIVITY, TOKENS, GRANTS, HOLDERS, ROLES];
