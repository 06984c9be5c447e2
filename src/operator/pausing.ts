/** Pausing and resuming as acts of operators: recorded with the change, in one transaction. */
import { acting, type NewAct } from "../audit/sequence/acts.ts";
import { wakeReceiver } from "../callbacks/lanes.ts";
import { endpointOverviews } from "../callbacks/overview.ts";
import type { Transactor, Tx } from "../database/connect.ts";
import { beginPause, endPause, type Pause, type PauseKind } from "../pauses/pauses.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import type { Assets } from "../settings/assets.ts";
import { taAssets, taEndpoint } from "../ta/requests/asset.ts";
import { hasRequests, wakeAsset } from "../ta/requests/lanes.ts";
import { callbackEndpoint } from "../transfers/callbacks.ts";
import { TRANSFER_EVENTS } from "../transfers/projects.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** There is nothing of this name to pause. Stop: give another name. */
export class NothingToPauseError extends Error {
  override readonly name = "NothingToPauseError";
  readonly remedy: Remedy = "stop";
}

/** What is paused or resumed, and by whom. */
export type Pausing = Pick<Pause, "kind" | "name" | "by"> & {
  readonly assets: Assets;
  /** Id of the operator's key; null for a command. */
  readonly key: string | null;
};

/** @throws NothingToPauseError (stop); false if it was paused for this reason before */
export const pauseNow = (
  on: Pick<Transactor, "transaction">,
  { reason, ...what }: Pausing & Pick<Pause, "reason">,
): Promise<boolean> =>
  acting(on, async (tx) => {
    await checkName(tx, what);
    const isNew = await beginPause(tx, { ...what, reason });
    return [isNew, isNew ? actOf("pause", what) : null];
  });

/** False if nothing of this name was paused. */
export const resumeNow = (on: Pick<Transactor, "transaction">, what: Pausing): Promise<boolean> =>
  acting(on, async (tx) => {
    const isEnded = await endPause(tx, what);
    if (!isEnded) return [false, null];
    if (what.kind === "receiver") await wakeReceiver(tx, what.name);
    if (what.kind === "asset") await wakeAsset(tx, what.name);
    return [true, actOf("resume", what)];
  });

const PIPELINES = [...ledgerPipelines.map(({ name }) => name), TRANSFER_EVENTS];

/** @throws NothingToPauseError (stop) */
const checkName = async (
  tx: Tx,
  { kind, name, assets }: Pick<Pausing, "kind" | "name" | "assets">,
): Promise<void> => {
  const fault = await FAULTS[kind](tx, name, assets);
  if (fault !== undefined) throw new NothingToPauseError(fault);
};

const FAULTS: Readonly<
  Record<PauseKind, (tx: Tx, name: string, assets: Assets) => Promise<string | undefined>>
> = {
  pipeline: async (_, name) =>
    PIPELINES.includes(name)
      ? undefined
      : `there is no pipeline ${name}; there are ${PIPELINES.join(", ")}`,
  asset: async (tx, name, assets) => {
    const known = taAssets(assets);
    // One that was taken out of the file may have open requests.
    if (known.has(name) || (await hasRequests(tx, name))) return undefined;
    return `there is no asset ${name}; those with "ta" are: ${[...known.keys()].join(", ") || "none"}`;
  },
  receiver: async (tx, name, assets) => {
    // Before the first start with the file, too.
    if (configuredReceivers(assets).includes(name)) return undefined;
    const [found] = await endpointOverviews(tx, { key: name, limit: 1 });
    return found === undefined
      ? `there is no receiver ${name}; their ids are project:NAME and ta:ASSET, as /operator/receivers lists them`
      : undefined;
  },
};

const configuredReceivers = (assets: Assets): readonly string[] => [
  ...[...taAssets(assets).keys()].map(taEndpoint),
  ...assets.projects.flatMap(({ name, callbackUrl }) =>
    callbackUrl === undefined ? [] : [callbackEndpoint(name)],
  ),
];

const actOf = (verb: "pause" | "resume", what: Pausing): NewAct => {
  const { kind, name, key } = what;
  return { command: `${verb} ${kind}`, details: { name, key }, on: scopeOf(what) };
};

/** Auditors of a coin see what concerns it; other assets and projects are in no pack. */
const scopeOf = ({ kind, name, assets }: Pausing): NewAct["on"] => {
  if (kind === "pipeline") return "deployment";
  const asset = kind === "asset" ? name : assetOf(name);
  const found = asset === undefined ? undefined : taAssets(assets).get(asset);
  return found?.ledger === "sui" ? { coinType: found.coinType } : "project";
};

/** The asset of a receiver `ta:ASSET` or `ta:ASSET:DIGEST`. */
const assetOf = (receiver: string): string | undefined =>
  receiver.startsWith(taEndpoint(""))
    ? receiver.slice(taEndpoint("").length).split(":", 1)[0]
    : undefined;
