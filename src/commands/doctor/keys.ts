/** Checks sealing, signing and callers' keys. Makes none, shows none. */
import { DeploymentKeyError, openableDeploymentKey } from "../../audit/sequence/deployment-key.ts";
import { SignerAnswerError, SignerAwayError } from "../../audit/sequence/outside-signer.ts";
import { openableKeys } from "../../callbacks/signing-keys.ts";
import type { Database } from "../../database/connect.ts";
import { KEY_KINDS, type ListedKey, listKeys } from "../../http/keys.ts";
import { lostLabelKeys } from "../../labels/read.ts";
import {
  configuredKey,
  configuredLabelKeys,
  configuredMasterKey,
  configuredVault,
} from "../../service/configured-keys.ts";
import type { Assets } from "../../settings/assets.ts";
import type { Config } from "../../settings/config.ts";
import { ConfigError } from "../../settings/config-error.ts";
import { taAssets } from "../../ta/requests/asset.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Opens all that is sealed, as the service would, and counts callers' keys. */
export const checkKeys = async (
  database: Database,
  config: Pick<Config, "callbacks" | "dataDir" | "deploymentSigner" | "ta">,
  assets: Assets | undefined,
): Promise<readonly Finding[]> => {
  const RIGHT_KEY = "give this process the keys, or the DATA_DIR, of the one that made them";
  const SIGNER =
    "look at DEPLOYMENT_SIGNER_URL, DEPLOYMENT_SIGNER_TOKEN, DEPLOYMENT_SIGNER_KEY and the signer itself; docs/how-to/keys.md";
  const attempt = async (look: () => Promise<string>): Promise<Finding> => {
    try {
      return ok(await look());
    } catch (error) {
      if (error instanceof SignerAwayError || error instanceof SignerAnswerError) {
        return fail(error.message, SIGNER);
      }
      if (!(error instanceof ConfigError)) throw error;
      return fail(error.message, error instanceof DeploymentKeyError ? SIGNER : RIGHT_KEY);
    }
  };
  const masterKey = () => configuredMasterKey(config, { existing: true });
  return [
    await attempt(async () => {
      const ids = await openableKeys(database, masterKey);
      return ids.length === 0
        ? "the first start creates the key that signs callbacks"
        : `the master key opens the signing keys of callbacks: ${ids.join(", ")}`;
    }),
    await attempt(async () => {
      const { signer } = configuredKey(config, { existing: true });
      const { keyId, isOutside } = await openableDeploymentKey(database, masterKey, signer);
      if (isOutside) {
        return keyId === undefined
          ? "the external signer answers; its first signature makes its key the deployment's"
          : `the external signer signs with the deployment's key ${keyId}`;
      }
      return keyId === undefined
        ? "the first start creates the deployment's key"
        : `the master key opens the deployment's key ${keyId}`;
    }),
    await attempt(() => investorsKeys(database, config)),
    ...(await labelKeys(database, config)),
    ...(await callersKeys(database, assets)),
  ];
};

const investorsKeys = async (
  database: Database,
  config: Pick<Config, "dataDir" | "ta">,
): Promise<string> => {
  const held = await database.sql`select 1 from ta_pii_records limit 1`;
  if (held.length === 0) return "no investors' data are stored";
  await (await configuredVault(config, { write: database }, { existing: true })).checkKeys();
  return "the keys open investors' data";
};

/** Labels stay readable by number: processes without the key answer null. */
const labelKeys = async (
  database: Database,
  config: Pick<Config, "dataDir" | "ta">,
): Promise<readonly Finding[]> => {
  try {
    const lost = await lostLabelKeys(database, configuredLabelKeys(config));
    return lost.map(({ keyId, labels }) =>
      warn(
        `the key ${keyId} of ${labels} sealed label texts is not here, so they are shown as null`,
        "add it to PII_KEYS, or give this process the DATA_DIR that has it; if it is lost for good, give those labels again (`holderbook labels import`)",
      ),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [fail(error.message, "correct PII_KEYS")];
  }
};

const callersKeys = async (
  database: Database,
  assets: Assets | undefined,
): Promise<readonly Finding[]> => {
  const keys = (await listKeys(database)).filter(({ revokedAt }) => revokedAt === null);
  if (keys.length === 0) {
    return [
      warn(
        "there is no valid key for callers",
        "create one: `holderbook keys create --kind graphql --label …`",
      ),
    ];
  }
  const counts = KEY_KINDS.flatMap((kind) => {
    const count = keys.filter((key) => key.kind === kind).length;
    return count === 0 ? [] : [`${count} ${kind}`];
  });
  const without = assets === undefined ? [] : [...taAssets(assets).keys()].filter(isKeyless(keys));
  return [
    ok(`valid keys of callers: ${counts.join(", ")}`),
    ...without.map((asset) =>
      warn(
        `no key can send requests for ${asset}`,
        `create a key: \`holderbook keys create --kind ta --asset ${asset}\``,
      ),
    ),
    ...unboundKeys(keys),
  ];
};

const NAMED = 10;

const unboundKeys = (keys: readonly ListedKey[]): readonly Finding[] => {
  const unbound = keys.filter(({ kind, requireBound }) => kind === "ta" && !requireBound);
  if (unbound.length === 0) return [];
  const named = unbound.slice(0, NAMED).map(({ id, subject }) => `${id} (${subject})`);
  const more = unbound.length > NAMED ? ` and ${unbound.length - NAMED} more` : "";
  return [
    warn(
      `keys that accept a signature of the body alone, for every path and for ever: ${named.join(", ")}${more}`,
      "if the caller can bind signatures (`ta sign --post`, holderbook/client), create a key with --require-bound and hand the requests over: `holderbook keys revoke ID --to NEW_ID`",
    ),
  ];
};

const isKeyless =
  (keys: readonly { readonly kind: string; readonly subject: string | null }[]) =>
  (asset: string): boolean =>
    !keys.some(({ kind, subject }) => kind === "ta" && subject === asset);
