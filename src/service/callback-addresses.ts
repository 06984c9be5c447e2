/** Where callbacks go, as the assets file says. */

import { changeEndpoints, registerEndpoint, withdrawAllBut } from "../callbacks/endpoints.ts";
import type { OutboundPolicy } from "../callbacks/outbound-policy.ts";
import type { Database } from "../database/connect.ts";
import type { Assets } from "../settings/assets.ts";
import { taAssets, taEndpoint } from "../ta/requests/asset.ts";
import { moveResults, registerKeyAddresses } from "../ta/requests/callback-address.ts";
import { callbackEndpoint } from "../transfers/callbacks.ts";

/**
 * Aligns the addresses in the database with the assets file and the keys of its assets: registers the
 * named, withdraws the others. Every delivering process does this at its start; the last one decides, so
 * give all the same file. Returns the keys of what was withdrawn now.
 *
 * @throws CallbackAddressError, AssetsFileError (stop) with nothing changed
 */
export const applyCallbackAddresses = (
  database: Pick<Database, "transaction">,
  policy: OutboundPolicy,
  assets: Assets,
): Promise<readonly string[]> => {
  const served = [...taAssets(assets).values()];
  const named = [
    ...assets.projects.flatMap(({ name, callbackUrl: url }) =>
      url === undefined ? [] : [{ key: callbackEndpoint(name), url }],
    ),
    ...served.map(({ name, callbackUrl: url }) => ({ key: taEndpoint(name), url })),
  ];
  return changeEndpoints(database, async (tx) => {
    for (const endpoint of named) await registerEndpoint(tx, policy, endpoint);
    const ofKeys = await registerKeyAddresses(
      tx,
      served.map(({ name }) => name),
    );
    await moveResults(tx);
    const keys = [...named.map(({ key }) => key), ...ofKeys];
    return withdrawAllBut(tx, keys, "the configuration no longer names it");
  });
};
