/** Every route of this API, in the order of its description. */
import { deliveryRoutes } from "./deliveries.ts";
import { formerRoutes } from "./former-paths.ts";
import { openRoutes } from "./open.ts";
import type { TaRoute } from "./route.ts";
import { statusRoutes } from "./status.ts";
import { submissionRoutes } from "./submissions.ts";

export const taRoutes: readonly TaRoute[] = [
  ...submissionRoutes,
  ...statusRoutes,
  ...deliveryRoutes,
  ...openRoutes,
  ...formerRoutes,
];
