/** Callbacks in this process: signing keys, queue, outgoing connections and the workers. */

import { type Callbacks, startCallbacks } from "../callbacks/callbacks.ts";
import { openOutbound } from "../callbacks/outbound.ts";
import { openSigningKeys, type SigningKeys } from "../callbacks/signing-keys.ts";
import { openQueues, type Queues } from "../lanes/queues.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Assets } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { callbackTrace, failUndelivered } from "../ta/processing/record.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { applyCallbackAddresses } from "./callback-addresses.ts";
import { configuredMasterKey } from "./master-key.ts";
import type { Storage } from "./storage.ts";

export type CallbackService = AsyncDisposable & {
  readonly signingKeys: SigningKeys;
  readonly queues: Queues;
  /**
   * Delivers from now on, to the addresses that these assets name and to no others. To be called once.
   * @throws CallbackAddressError, AssetsFileError (stop) when the assets file cannot be followed
   */
  deliver(assets: Assets): Promise<void>;
};

/** Prepares callbacks. Disposing of it ends delivering; what is under way ends first. */
export const openCallbackService = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly storage: Storage;
}): Promise<CallbackService> => {
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
  let callbacks: Callbacks | undefined;
  const deliver = async (assets: Assets) => {
    // First the addresses: nothing must go to one that the file no longer names.
    for (const endpoint of await applyCallbackAddresses(storage.write, policy, assets)) {
      logger.warn(
        { endpoint },
        "callbacks: an address is no longer configured; what waits is kept",
      );
    }
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
  return { signingKeys, queues, deliver, [Symbol.asyncDispose]: close };
};
