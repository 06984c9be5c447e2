/** This deployment's projects: those of the assets file, or the demo's own. */

import {
  CallbackAddressError,
  checkCallbackUrl,
  type OutboundPolicy,
} from "../callbacks/outbound-policy.ts";
import { type Assets, AssetsFileError, readAssets } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { pathOf } from "../settings/json-file.ts";
import { isDemoLedger, loadDemo } from "./demo.ts";

/** Whitelist group of the demo ledger's investors. */
const DEMO_GROUP = 1;

/** Assets of the demo's first and second coin type. */
export const DEMO_ASSETS = ["demo-a", "demo-b"] as const;

/** Callback URL of the demo's assets in processes that send none. */
const NOWHERE = "http://127.0.0.1:9/no-receiver";

/** The demo ledger's details if known, to avoid opening it. */
type DemoKnown = {
  readonly coinTypes: readonly string[];
  readonly callbackUrl: string;
};

/**
 * Reads an assets file and checks its callback addresses.
 * @throws AssetsFileError (stop) with a line for each fault
 */
export const assetsOf = async (
  { callbacks }: { readonly callbacks: OutboundPolicy },
  file: string,
): Promise<Assets> => {
  const assets = await readAssets(file);
  const addresses = assets.projects.flatMap(({ callbackUrl, tokens }, p) => [
    { url: callbackUrl, path: ["projects", p, "callbackUrl"] },
    ...tokens.map(({ ta }, t) => ({
      url: ta?.callbackUrl,
      path: ["projects", p, "tokens", t, "ta", "callbackUrl"],
    })),
  ]);
  const faults = addresses.flatMap(({ url, path }) => {
    const fault = url === undefined ? undefined : faultOf(url, callbacks);
    return fault === undefined ? [] : [`${file} at ${pathOf(path)}: ${fault}`];
  });
  if (faults.length > 0) throw new AssetsFileError(faults.join("\n"));
  return assets;
};

const faultOf = (url: string, policy: OutboundPolicy): string | undefined => {
  try {
    checkCallbackUrl(url, policy);
    return undefined;
  } catch (error) {
    if (error instanceof CallbackAddressError) return error.message;
    throw error;
  }
};

type AssetsConfig = Pick<Config, "assetsFile" | "ledgerSource" | "dataDir" | "demo" | "callbacks">;

/**
 * Reads the assets file. Without one there are no projects, except on the demo ledger a project
 * `demo` with the assets `demo-a` and `demo-b`.
 * @throws AssetsFileError (stop), ConfigError
 */
export const configuredAssets = async (config: AssetsConfig, known?: DemoKnown): Promise<Assets> =>
  (await findAssets(config, known))();

/**
 * `configuredAssets` in two steps: the first reports all faults of the settings, the second makes
 * the demo ledger, which takes a while.
 * @throws AssetsFileError (stop), ConfigError
 */
export const findAssets = async (
  config: AssetsConfig,
  known?: DemoKnown,
): Promise<() => Promise<Assets>> => {
  if (config.assetsFile !== undefined) {
    const assets = await assetsOf(config, config.assetsFile);
    return async () => assets;
  }
  if (!isDemoLedger(config)) return async () => ({ projects: [] });
  if (known !== undefined) return async () => demoAssets(known);
  const demo = await loadDemo(config);
  demo.check();
  return async () => {
    const { source, coinTypes } = await demo.open();
    await source.close();
    return demoAssets({ coinTypes, callbackUrl: config.callbacks.demoUrl ?? NOWHERE });
  };
};

const demoAssets = ({ coinTypes, callbackUrl }: DemoKnown): Assets => {
  const tokens = coinTypes.slice(0, 2).map((coinType, index) => ({
    name: DEMO_ASSETS[index] ?? "",
    ledger: "sui" as const,
    coinType,
    whitelistGroupId: DEMO_GROUP,
    ta: { callbackUrl },
  }));
  return { projects: [{ name: "demo", tokens }] };
};
