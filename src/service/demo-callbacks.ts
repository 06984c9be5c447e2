/** A receiver for callbacks of the demo's assets. */

import { endpointsUnder } from "../callbacks/endpoints.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { taEndpoint } from "../ta/requests/asset.ts";
import { DEMO_ASSETS } from "./assets.ts";
import type { CallbackService } from "./callbacks.ts";
import { isAllDemo, loadDemo } from "./demo.ts";
import type { Storage } from "./storage.ts";

/** Lets callbacks of the demo reach loopback; other settings are unchanged. */
export const withDemoCallbacks = (config: Config): Config =>
  isAllDemo(config)
    ? { ...config, callbacks: { ...config.callbacks, allowPrivate: true } }
    : config;

export type DemoCallbacks = AsyncDisposable & {
  readonly url: string;
  /** Whether our own receiver listens there; it shows what it received. */
  readonly isOurs: boolean;
};

/**
 * Starts the demo's receiver unless callbacks go elsewhere. It reuses its previous address from the
 * database, so that noted URLs stay valid.
 */
export const startDemoCallbacks = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly storage: Pick<Storage, "write">;
  readonly callbacks: Pick<CallbackService, "signingKeys">;
}): Promise<DemoCallbacks | undefined> => {
  const { config, logger, storage, callbacks } = settings;
  if (!isAllDemo(config)) return undefined;
  const given = config.callbacks.demoUrl;
  if (given !== undefined) {
    return { url: given, isOurs: false, [Symbol.asyncDispose]: async () => undefined };
  }
  const [asset] = DEMO_ASSETS;
  const addresses = await endpointsUnder(storage.write, taEndpoint(asset));
  const former = addresses.find(({ key }) => key === taEndpoint(asset));
  const { startReceiver, receiverPort } = await loadDemo(config);
  const port = former && receiverPort(former.url);
  const receiver = await startReceiver({
    port,
    publicKeys: async () =>
      (await callbacks.signingKeys.publicKeys()).keys.map(({ publicKey }) => publicKey),
    onReceived: ({ id, body }) => logger.info({ callback: id, body }, "demo receiver: a callback"),
  });
  if (port !== undefined && receiverPort(receiver.url) !== port) {
    logger.warn(
      { url: receiver.url },
      `demo receiver: port ${port}, where it listened before, is taken by another program; callbacks go to ${receiver.url} now`,
    );
  }
  return { ...receiver, isOurs: true };
};
