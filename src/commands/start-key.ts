/** Keys that `start` makes, so that a newcomer's first requests work. */
import { acting } from "../audit/sequence/acts.ts";
import { createKey, findKey, listKeys, verifyKey } from "../http/keys.ts";
import { setLabels } from "../labels/write.ts";
import { DEMO_ASSETS } from "../service/assets.ts";
import type { OpenDemo } from "../service/demo.ts";
import {
  demoOperatorKeyFile,
  demoTaKeyFile,
  keepPrivately,
  keptDemoOperatorKey,
  keptDemoTaKey,
  keptStartKey,
  startKeyFile,
} from "../service/kept-keys.ts";
import type { Storage } from "../service/storage.ts";
import type { Config } from "../settings/config.ts";
import { handOver, registerKey } from "../ta/requests/caller-keys.ts";

/**
 * The GraphQL key that `start` shows: its earlier one while valid, else a new one while there is no
 * other. Undefined once the operator has made keys.
 */
export const startKey = async (
  config: Pick<Config, "dataDir">,
  { write }: Pick<Storage, "write">,
  { seesLabels = false } = {},
): Promise<string | undefined> => {
  const kept = await keptStartKey(config);
  if (kept !== undefined && (await verifyKey(write, "graphql", kept)) !== null) return kept;
  const keys = await listKeys(write);
  if (keys.some(({ kind, revokedAt }) => kind === "graphql" && revokedAt === null))
    return undefined;

  return (await makeKey(config, write, { kind: "graphql", seesLabels }, startKeyFile(config)))
    .secret;
};

/**
 * Makes the operator key that the demo lends, unless there is one, and gives the demo's labels with
 * it. A revoked one is not replaced. Only where no data is real.
 */
export const demoOperatorKey = async (
  config: Pick<Config, "dataDir">,
  { write }: Pick<Storage, "write">,
  labels: OpenDemo["labels"] = [],
): Promise<void> => {
  const kept = await keptDemoOperatorKey(config);
  if (kept !== undefined && (await verifyKey(write, "operator", kept)) !== null) return;
  const keys = await listKeys(write);
  const isRevoked = keys.some(
    ({ kind, label, revokedAt }) => kind === "operator" && label === LABEL && revokedAt !== null,
  );
  if (isRevoked) return;
  const given = { kind: "operator", seesLabels: true } as const;
  const { id } = await makeKey(config, write, given, demoOperatorKeyFile(config));
  const plain = labels.map((label) => ({ ...label, isSealed: false }));
  await setLabels(write, undefined, plain, id);
};

const makeKey = async (
  config: Pick<Config, "dataDir">,
  write: Storage["write"],
  given: { readonly kind: "graphql" | "operator"; readonly seesLabels: boolean },
  path: string,
): Promise<{ readonly id: string; readonly secret: string }> => {
  const { kind } = given;
  const made = await acting(write, async (tx) => {
    const key = await createKey(tx, { ...given, label: LABEL });
    return [key, { command: "start", details: { id: key.id, kind }, on: "deployment" }];
  });
  await keepPrivately(config, path, `${made.secret}\n`);
  return made;
};

/**
 * The file of the pair that signs requests for the demo's first asset, as for `ta sign --key`: the
 * earlier one while registered, else a new one. It accepts bound signatures only; a pair of a
 * former version without that rule hands its requests over. Only for simulated issuers, so no
 * operator's act.
 */
export const demoTaKey = async (
  config: Pick<Config, "dataDir">,
  { write }: Pick<Storage, "write">,
): Promise<string> => {
  const path = demoTaKeyFile(config);
  const kept = await keptDemoTaKey(config);
  const [asset] = DEMO_ASSETS;
  const known = kept && (await findKey(write, kept.publicKey));
  const isOurs = known?.kind === "ta" && known.subject === asset;
  if (isOurs && known.requireBound) return path;

  const { id, publicKey, secretKey } = await registerKey(write, {
    asset,
    label: LABEL,
    requireBound: true,
  });
  await keepPrivately(config, path, `${JSON.stringify({ publicKey, secretKey })}\n`);
  if (isOurs) await handOver(write, { id: known.id, to: id });
  return path;
};

const LABEL = "made by start";
