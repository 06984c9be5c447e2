/** Where a step of `transfer_events` begins: after rollbacks, new settings and added tokens. */
import type { Tx } from "../database/connect.ts";
import type { Address } from "../evm/contract/fact.ts";
import { type ChainMark, chainMark, logEnd, rolledBackTo } from "../evm/log/reads.ts";
import type { EvmToken } from "../settings/assets.ts";
import { lowest } from "../values/bigints.ts";
import { type Progress, readProgress } from "./progress.ts";
import type { TransferScope } from "./scopes.ts";

export type StepStart = {
  readonly progress: Progress & { readonly place: number };
  readonly mark: ChainMark;
  /** See `settingsOf`. */
  readonly settings: string;
  readonly tokens: readonly EvmToken[];
  /** First block to derive records from; below `progress.nextBlock` when records are replaced. */
  readonly from: bigint;
  /** First block that the log lacks of any of these tokens. */
  readonly goal: bigint;
};

/** Raised when this code derives other records from the same facts. */
const VERSION = "version 1";

/** The records' inputs besides the chain: a change derives them again. */
const settingsOf = (tokens: readonly EvmToken[]): string =>
  [VERSION, ...tokens.map(settingOf).sort()].join("\n");

/** Includes the first block: earlier facts yield earlier records. */
const settingOf = ({ address, type, lockup, identityRegistry, fromBlock }: EvmToken): string =>
  [address, type, lockup ?? "-", identityRegistry ?? "-", fromBlock].join(" ");

/**
 * After a change of settings, records are derived again once the log has every token up to the
 * records' end; the old ones stay listed until then. If tokens were only added, the others continue
 * meanwhile; otherwise the scope waits, without tokens. Null before the network was read.
 */
export const stepStart = async (tx: Tx, scope: TransferScope): Promise<StepStart | null> => {
  const { chainId, tokens } = scope;
  const [progress, mark] = await Promise.all([readProgress(tx, scope), chainMark(tx, chainId)]);
  if (progress === null || mark === null) return null;
  const [survived, goal] = await Promise.all([
    rolledBackTo(tx, chainId, progress.step),
    logEnd(tx, chainId, tokens.map(addressOf)),
  ]);
  const from = survived === null ? progress.nextBlock : lowest(progress.nextBlock, survived + 1n);
  const settings = settingsOf(tokens);
  const start = { progress, mark, settings, tokens, from };
  if (goal === null && progress.settings === "") return null;
  if (settings === progress.settings) return goal === null ? null : { ...start, goal };
  if (goal !== null && goal >= from) {
    return { ...start, from: lowest(progress.firstBlock, scope.firstBlock), goal };
  }
  const before = progress.settings.split("\n");
  const kept = tokens.filter((token) => before.includes(settingOf(token)));
  const keptGoal = await logEnd(tx, chainId, kept.map(addressOf));
  return settingsOf(kept) === progress.settings && keptGoal !== null
    ? { ...start, settings: progress.settings, tokens: kept, goal: keptGoal }
    : { ...start, settings: progress.settings, tokens: [], goal: goal ?? from };
};

const addressOf = ({ address }: EvmToken): Address => address;
