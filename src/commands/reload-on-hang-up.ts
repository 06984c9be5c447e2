import type { Storage } from "../service/storage.ts";
import { oneAtATime } from "../waiting/one-at-a-time.ts";
import type { Runtime } from "./runtime.ts";

/** From now on SIGHUP has every process read the assets file again; without a file it ends this one. */
export const reloadOnHangUp = (
  { config, logger, onHangUp }: Runtime,
  { write }: Pick<Storage, "write">,
): void => {
  if (config.assetsFile === undefined) return;
  const inTurn = oneAtATime();
  const reload = async () => {
    try {
      const { reloadAssets } = await import("../operator/reload-assets.ts");
      const { checkedAssets } = await import("../service/checked-assets.ts");
      const assets = await checkedAssets(config);
      const reloaded = await reloadAssets(write, { assets, key: null });
      if (reloaded === null) logger.info("assets: SIGHUP: the file says what it said before");
    } catch (err) {
      logger.error({ err }, "assets: SIGHUP: the file is not taken, the running one stays");
    }
  };
  onHangUp(() => void inTurn(reload));
};
