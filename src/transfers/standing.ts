/** Where the records of a scope stand, and what the log has for it: what a step begins with. */

import type { Tx } from "../database/connect.ts";
import type { Address } from "../evm/contract/fact.ts";
import { type ChainMark, chainMark, logEnd, rolledBackTo } from "../evm/log/reads.ts";
import type { EvmToken } from "../settings/assets.ts";
import { lowest } from "../values/bigints.ts";
import { type Progress, readProgress } from "./progress.ts";
import type { TransferScope } from "./scopes.ts";

/** Where a scope stands, and what the log has for it. */
export type Standing = {
  readonly progress: Progress & { readonly place: number };
  readonly mark: ChainMark;
  /** What records are made with in this step. */
  readonly settings: string;
  readonly tokens: readonly EvmToken[];
  /** First block to make records of; below `progress.nextBlock` when records are replaced. */
  readonly from: bigint;
  /** First block that the log does not have of every one of these tokens. */
  readonly goal: bigint;
};

/** Raised when this code makes other records of the same facts. */
const VERSION = "version 1";

/** What the records follow from, besides the chain: other settings, other records. */
const settingsOf = (tokens: readonly EvmToken[]): string =>
  [VERSION, ...tokens.map(settingOf).sort()].join("\n");

/** With the first block: facts from before those that were read are of earlier records. */
const settingOf = ({ address, type, lockup, identityRegistry, fromBlock }: EvmToken): string =>
  [address, type, lockup ?? "-", identityRegistry ?? "-", fromBlock].join(" ");

/**
 * When settings change, records are made anew once the log has every token up to where the records
 * reach; until then the old ones stay listed. When tokens were only added, the existing ones continue
 * meanwhile; otherwise the scope waits, without tokens. Null before the network was read.
 */
export const standingOf = async (tx: Tx, scope: TransferScope): Promise<Standing | null> => {
  const { chainId, tokens } = scope;
  const [progress, mark] = await Promise.all([readProgress(tx, scope), chainMark(tx, chainId)]);
  if (progress === null || mark === null) return null;
  const [survived, goal] = await Promise.all([
    rolledBackTo(tx, chainId, progress.step),
    logEnd(tx, chainId, tokens.map(addressOf)),
  ]);
  const from = survived === null ? progress.nextBlock : lowest(progress.nextBlock, survived + 1n);
  const settings = settingsOf(tokens);
  const standing = { progress, mark, settings, tokens, from };
  if (goal === null && progress.settings === "") return null;
  if (settings === progress.settings) return goal === null ? null : { ...standing, goal };
  if (goal !== null && goal >= from) {
    return { ...standing, from: lowest(progress.firstBlock, scope.firstBlock), goal };
  }
  const before = progress.settings.split("\n");
  const kept = tokens.filter((token) => before.includes(settingOf(token)));
  const keptGoal = await logEnd(tx, chainId, kept.map(addressOf));
  return settingsOf(kept) === progress.settings && keptGoal !== null
    ? { ...standing, settings: progress.settings, tokens: kept, goal: keptGoal }
    : { ...standing, settings: progress.settings, tokens: [], goal: goal ?? from };
};

const addressOf = ({ address }: EvmToken): Address => address;
