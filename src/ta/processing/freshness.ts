/**
 * Whether an asset's register knows all that the ledger's node had when a step of a request began. That
 * place is stored with the request until it is reached, because any process may continue the request, and
 * because a moving end would never be reached. The next step has a place of its own.
 */
import { investorLanes } from "../requests/lanes.ts";
import type { OpenRequest } from "./open-request.ts";
import { waitFor } from "./patience.ts";
import type { Processing } from "./request-work.ts";

/**
 * Waits for the register of a request's asset; false when it is not there yet. The step that asked is
 * then to be taken up later: every later look waits for the same place.
 * @throws LaneLostError (stop), RelayUnavailableError (retry)
 */
export const isUpToDate = async (
  work: Processing,
  request: Pick<OpenRequest, "id" | "asset">,
): Promise<boolean> => {
  const { asset, signal, behind } = work;
  const before = await awaitedPlace(work, request);
  const now = await asset.relay.tip(signal);
  // The lower one: a node may have named an end that is none.
  const place = before !== null && before < now ? before : now;
  const reached = await waitFor(work, () => asset.register.hasReached(place));
  const awaited = reached ? null : place;
  // Before anything is done on the strength of it: the next step must not go by this one's place.
  if (awaited !== before) await awaitPlace(work, request, awaited);
  behind.looked(request, reached ? null : place);
  return reached;
};

const awaitedPlace = async (
  { database }: Pick<Processing, "database">,
  { id }: Pick<OpenRequest, "id">,
): Promise<bigint | null> => {
  const [row] = await database.sql<{ awaited_place: bigint | null }[]>`
    select awaited_place from ta_requests where id = ${id}`;
  return row?.awaited_place ?? null;
};

const awaitPlace = (
  { database, claim }: Pick<Processing, "database" | "claim">,
  { id }: Pick<OpenRequest, "id">,
  place: bigint | null,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    const since = place === null ? sql`null` : sql`coalesce(awaited_since, now())`;
    await sql`
      update ta_requests set awaited_place = ${place}, awaited_since = ${since} where id = ${id}`;
  });
