/** The watch over stored data in this process, signing with the deployment's key where that can be opened. */
import { logLook } from "../audit/check-log.ts";
import { dailyRoots } from "../audit/daily-roots.ts";
import { openDeploymentKey } from "../audit/deployment-key.ts";
import { fullLook } from "../audit/full-look.ts";
import { sumsLook } from "../audit/sums-look.ts";
import { watchOver } from "../audit/watch.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import { callbackMasterKey } from "./callback-master-key.ts";
import type { Storage } from "./storage.ts";

/** The key; undefined, with a line that says why, when this process has another master key. */
const deploymentKey = async (config: Config, storage: Pick<Storage, "write">, logger: Logger) => {
  try {
    return await openDeploymentKey(storage.write, await callbackMasterKey(config));
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    logger.warn({ err }, "heads of the log are not signed");
    return undefined;
  }
};

/**
 * Starts watching; disposing of it ends that, and waits for what is under way.
 * @param settings.giveUp told that entries of the sequence are lost: end the process
 */
export const startWatch = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly storage: Pick<Storage, "write">;
  readonly giveUp: (error: Error) => void;
}): Promise<AsyncDisposable> => {
  const { config, logger, storage, giveUp } = settings;
  const rarely = createRareLines();
  const ending = new AbortController();
  const key = await deploymentKey(config, storage, logger);
  const onFault = (coinType: string, err: Error) =>
    logger.error({ err, coinType }, "no daily root of this token was signed");
  const watching = watchOver(
    {
      database: storage.write,
      key,
      looks: [
        logLook(),
        sumsLook(),
        ...(config.reconcileSeconds === 0 ? [] : [fullLook(config.reconcileSeconds)]),
        ...(key === undefined ? [] : [dailyRoots({ key, onFault })]),
      ],
      // A line of the process's log is beyond the reach of one who can change the database.
      onSigned: ({ checkpoint, hash, signature, keyId }) =>
        logger.info(
          { checkpoint: `${checkpoint}`, hash, signature, keyId },
          "signed the log's head",
        ),
      onTrouble: (err) =>
        rarely(err.message, (repeats) =>
          logger.warn({ err, ...repeats }, "cannot watch over what is stored"),
        ),
    },
    ending.signal,
  ).catch(giveUp);
  return {
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await watching;
    },
  };
};
