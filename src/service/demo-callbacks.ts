/** Callbacks of the demo's assets: sent to a receiver of our own, so that the circle closes by itself. */
import type { Config } from "../config.ts";
import { startDemoReceiver } from "../demo/receiver.ts";
import type { Logger } from "../logger.ts";
import type { CallbackService } from "./callbacks.ts";

/** Whether there are only the demo's own assets: nothing here is anybody's but ours. */
const isDemo = ({ ledgerSource, assetsFile }: Config): boolean =>
  ledgerSource.startsWith("demo:") && assetsFile === undefined;

/** The settings with which callbacks of the demo reach loopback; others are as they were. */
export const withDemoCallbacks = (config: Config): Config =>
  isDemo(config) ? { ...config, callbacks: { ...config.callbacks, allowPrivate: true } } : config;

/** Where the demo's assets send their callbacks. */
export type DemoCallbacks = AsyncDisposable & {
  readonly url: string;
  /** Whether a receiver of our own listens there, which can be asked what came. */
  readonly isOurs: boolean;
};

/** The demo's own receiver, unless callbacks go elsewhere: where the demo's assets send theirs. */
export const startDemoCallbacks = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly callbacks: Pick<CallbackService, "signingKeys">;
}): Promise<DemoCallbacks | undefined> => {
  const { config, logger, callbacks } = settings;
  if (!isDemo(config)) return undefined;
  const given = config.callbacks.demoUrl;
  if (given !== undefined) {
    return { url: given, isOurs: false, [Symbol.asyncDispose]: async () => undefined };
  }
  const receiver = await startDemoReceiver({
    publicKeys: async () =>
      (await callbacks.signingKeys.publicKeys()).keys.map(({ publicKey }) => publicKey),
    onReceived: ({ id, body }) => logger.info({ callback: id, body }, "demo receiver: a callback"),
  });
  return { ...receiver, isOurs: true };
};
