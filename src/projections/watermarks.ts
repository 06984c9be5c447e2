/**
 * How far each of the five ledger pipelines is. Here rather than in the pipelines, because what a
 * balance means depends on how far two of them are (`grant-lag.ts`).
 */
import { watermarkTable } from "./watermark.ts";

export const tokenActivityWatermark = watermarkTable("token_activity");
export const sharedTokenObjectsWatermark = watermarkTable("shared_token_objects");
export const timelockObjectsWatermark = watermarkTable("timelock_objects");
export const holderLifecycleWatermark = watermarkTable("holder_lifecycle");
export const roleChangesWatermark = watermarkTable("role_changes");
