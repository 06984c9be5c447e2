/** Callbacks in this process: signing keys, queue, connections and workers. */

import { startCallbacks } from "../callbacks/callbacks.ts";
import { changeEndpoints, registerEndpoint, withdrawAllBut } from "../callbacks/endpoints.ts";
import { openOutbound } from "../callbacks/outbound.ts";
import type { OutboundPolicy } from "../callbacks/outbound-policy.ts";
import { openSigningKeys, type SigningKeys } from "../callbacks/signing-keys.ts";
import type { Database } from "../database/connect.ts";
import { openQueues, type Queues } from "../lanes/queues.ts";
import type { LaneWorkers } from "../lanes/workers.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Assets } from "../settings/assets.ts";
import { callbackTrace, failUndelivered } from "../ta/processing/record.ts";
import { taAssets, taEndpoint } from "../ta/requests/asset.ts";
import { moveResults, registerKeyAddresses } from "../ta/requests/callback-address.ts";
import { callbackEndpoint } from "../transfers/callbacks.ts";
import { configuredMasterKey } from "./configured-keys.ts";
import type { Process } from "./process.ts";
import type { Storage } from "./storage.ts";

export type CallbackService = AsyncDisposable & {
  readonly signingKeys: SigningKeys;
  readonly queues: Queues;
  /**
   * Delivers to the addresses in these assets only. Call it once.
   * @throws CallbackAddressError, AssetsFileError (stop) for an unusable assets file
   */
  deliver(assets: Assets): Promise<void>;
  /** Changes the addresses to those in these assets. @throws as `deliver` */
  redirect(assets: Assets): Promise<void>;
};

/** Disposal ends deliveries after those under way. */
export const openCallbackService = async (
  settings: Process & {
    readonly storage: Storage;
  },
): Promise<CallbackService> => {
  const { config, logger, telemetry, storage } = settings;
  const { allowPrivate, ports, retrySeconds } = config.callbacks;
  const policy = { allowPrivate, ports };
  const signingKeys = await openSigningKeys(storage.write, await configuredMasterKey(config));
  const rarely = createRareLines();
  const queues = openQueues({
    databaseUrl: storage.url,
    redisUrl: config.redisUrl,
    onError: (err) =>
      rarely(err.message, (repeats) => logger.warn({ err, ...repeats }, "the queue has trouble")),
  });
  const outbound = openOutbound({ policy });
  let callbacks: LaneWorkers | undefined;
  const redirect = async (assets: Assets) => {
    for (const endpoint of await applyCallbackAddresses(storage.write, policy, assets)) {
      logger.warn(
        { endpoint },
        "callbacks: an address is no longer configured; pending callbacks are kept",
      );
    }
  };
  const deliver = async (assets: Assets) => {
    // Addresses first: nothing must go to one that the file no longer names.
    await redirect(assets);
    callbacks = await startCallbacks({
      database: storage.write,
      queues,
      outbound,
      signingKeys,
      logger,
      telemetry,
      ...(retrySeconds !== undefined && { retrySeconds }),
      onGivenUp: failUndelivered,
      traceOf: callbackTrace,
    });
  };
  const close = async () => {
    await callbacks?.stop();
    await queues.close();
    outbound.close();
  };
  return { signingKeys, queues, deliver, redirect, [Symbol.asyncDispose]: close };
};

/**
 * Aligns the addresses in the database with the assets file and its assets' keys: registers the
 * named, withdraws the others. Every delivering process does so at its start and the last one wins,
 * so all need the same file. Returns the keys of addresses withdrawn now.
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
