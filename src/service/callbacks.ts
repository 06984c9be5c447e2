/** Callbacks in this process: signing keys, queue, outgoing connections and the workers. */
import { join } from "node:path";
import { type Callbacks, startCallbacks } from "../callbacks/callbacks.ts";
import { readMasterKey } from "../callbacks/master-key.ts";
import { type OutboundPolicy, openOutbound } from "../callbacks/outbound.ts";
import type { GivenUpHook } from "../callbacks/record.ts";
import { openSigningKeys, type SigningKeys } from "../callbacks/signing-keys.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../logger.ts";
import { openQueues, type Queues } from "../queue/queues.ts";
import type { Storage } from "./storage.ts";

export type CallbackService = AsyncDisposable & {
  readonly signingKeys: SigningKeys;
  readonly queues: Queues;
  /** Where callbacks may go: for registering addresses. */
  readonly policy: OutboundPolicy;
};

/** Delivers callbacks until disposed of; what is under way ends first. */
export const startCallbackService = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly storage: Storage;
  readonly onGivenUp?: GivenUpHook;
}): Promise<CallbackService> => {
  const { config, logger, storage, onGivenUp } = settings;
  const { allowPrivate, masterKey, retrySeconds } = config.callbacks;
  const policy = { allowPrivate };
  const key = await readMasterKey({
    configured: masterKey,
    file: join(config.dataDir, "callback-master-key"),
  });
  const signingKeys = await openSigningKeys(storage.write, key);
  const queues = openQueues({
    databaseUrl: storage.url,
    redisUrl: config.redisUrl,
    onError: (err) => logger.warn({ err }, "the queue has trouble"),
  });
  const outbound = openOutbound({ policy });
  let callbacks: Callbacks | undefined;
  const close = async () => {
    await callbacks?.stop();
    await queues.close();
    outbound.close();
  };
  try {
    callbacks = await startCallbacks({
      database: storage.write,
      queues,
      outbound,
      signingKeys,
      logger,
      ...(retrySeconds !== undefined && { retrySeconds }),
      ...(onGivenUp !== undefined && { onGivenUp }),
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { signingKeys, queues, policy, [Symbol.asyncDispose]: close };
};
