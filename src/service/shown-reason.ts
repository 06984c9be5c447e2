/** What `/health` shows to everyone of an error of ours. */
import { isUnreachable } from "../database/database-error.ts";
import { NO_DATABASE } from "../http/health/health.ts";
import { onlyPlaces } from "../values/place.ts";
import { errorOf } from "../waiting/remedy.ts";

/**
 * Of URLs only scheme and host, since the rest may hold a provider's key; of a database that is out of reach nothing
 * but that, since the driver's words may name hosts and users. The log has the whole.
 */
export const shownReason = (error: unknown): string =>
  isUnreachable(error) ? NO_DATABASE : onlyPlaces(errorOf(error).message);
