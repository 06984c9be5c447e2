/**
 * Compares the log of each token with its contracts, periodically, beside the reader: logs that a node
 * omits from old blocks go unnoticed while reading. The total supply reveals missing mints and burns;
 * contracts older than `fromBlock` reveal logs before it.
 */
import type { Database } from "../../database/connect.ts";
import type { EvmToken } from "../../settings/assets.ts";
import { highest, lowest } from "../../values/bigints.ts";
import { pause } from "../../waiting/backoff.ts";
import { contractsOf } from "../contract/events.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { chainMark, firstBlockOf, logEnd, netMinted, rolledBackTo } from "../log/reads.ts";
import { contractsAt, readTotalSupply } from "../rpc/contract-calls.ts";
import type { Fleet } from "../rpc/fleet.ts";

export type CheckSettings = {
  readonly database: Database;
  readonly network: EvmNetwork;
  readonly rpc: Fleet;
  readonly everyMs?: number | undefined;
  /** Delay before a difference is checked again and reported. */
  readonly confirmMs?: number | undefined;
  /** Called after each check with the token's doubts; empty when there are none. */
  readonly onChecked?: ((token: EvmToken, doubts: readonly string[]) => void) | undefined;
};

const EVERY_MS = 3_600_000;
const CONFIRM_MS = 10_000;

/** Poll interval for tokens that have not caught up. */
const LOOK_MS = 1_000;

/** Retry delay after an error. */
const AFTER_ERROR_MS = 60_000;

/** Minted minus burned up to a final block, so that the next check reads only later facts. */
type Base = { readonly block: bigint; readonly net: bigint; readonly step: bigint };

type Checking = CheckSettings & {
  readonly token: EvmToken;
  base: Base;
  older: string[] | undefined;
};

/**
 * Checks each token once it has caught up, and again every hour. Returns when `signal` aborts.
 * Errors are not reported: the reader meets them too.
 */
export const checkTokens = async (settings: CheckSettings, signal: AbortSignal): Promise<void> => {
  const { network, everyMs = EVERY_MS, onChecked } = settings;
  const due = new Map(
    network.tokens.map((token): [Checking, number] => [
      { ...settings, token, base: NOTHING, older: undefined },
      0,
    ]),
  );
  while (!signal.aborted) {
    for (const [checking, at] of due) {
      if (performance.now() < at) continue;
      try {
        const difference = await confirmedDifference(checking, signal);
        if (difference === "later") continue;
        checking.older ??= await olderContracts(checking, signal);
        onChecked?.(checking.token, [...(difference ?? []), ...checking.older]);
        due.set(checking, performance.now() + everyMs);
      } catch {
        due.set(checking, performance.now() + Math.min(everyMs, AFTER_ERROR_MS));
      }
    }
    await pause(Math.min(LOOK_MS, everyMs), signal);
  }
};

const NOTHING: Base = { block: -1n, net: 0n, step: 0n };

/** A difference seen twice: one check may fall between two blocks. */
const confirmedDifference = async (checking: Checking, signal: AbortSignal) => {
  const first = await difference(checking, signal);
  if (first === null || first === "later") return first;
  await pause(checking.confirmMs ?? CONFIRM_MS, signal);
  signal.throwIfAborted();
  return difference(checking, signal);
};

/** Null when they agree or the contract does not answer; `later` before the log is at the head. */
const difference = async (
  checking: Checking,
  signal: AbortSignal,
): Promise<readonly string[] | null | "later"> => {
  const { database, network, rpc, token } = checking;
  const { db } = database;
  const { chainId } = network;
  const [mark, end] = await Promise.all([
    chainMark(db, chainId),
    logEnd(db, chainId, [token.address]),
  ]);
  if (mark?.headBlock == null || end === null || end <= mark.headBlock) return "later";
  const survived = await rolledBackTo(db, chainId, checking.base.step);
  const base = survived !== null && survived < checking.base.block ? NOTHING : checking.base;
  const block = end - 1n;
  const stays = highest(base.block, lowest(mark.finalBlock, block));
  const minted = (from: bigint, to: bigint) => netMinted(db, chainId, token.address, from, to);
  const net = base.net + (await minted(base.block + 1n, stays));
  const logged = net + (await minted(stays + 1n, block));
  const asked = { chainId, token: token.address, block };
  const supply = await rpc.use((endpoint) => readTotalSupply(endpoint, asked, signal), signal);
  if ((await rolledBackTo(db, chainId, mark.step)) !== null) return "later";
  checking.base = { block: stays, net, step: mark.step };
  if (supply === null || supply === logged) return null;
  return [
    `token ${token.address}: its logs give a supply of ${logged} (minted less burned), its totalSupply() ${supply} at block ${block}: ` +
      `logs are missing, fromBlock is later than its first one, or it is not of type ${token.type}; ` +
      `compare the RPC with another one, then: holderbook evm reread --chain ${chainId} --token ${token.address}`,
  ];
};

/** Doubts for contracts older than the first block read. */
const olderContracts = async (
  { database, network, rpc, token }: Checking,
  signal: AbortSignal,
): Promise<string[]> => {
  const { chainId } = network;
  const first = await firstBlockOf(database.db, chainId, token.address);
  if (first === null || first <= 0n) return [];
  const asked = { chainId, contracts: contractsOf(token), block: first - 1n };
  const older = await rpc.use((endpoint) => contractsAt(endpoint, asked, signal), signal);
  return older.map(
    (contract) =>
      `token ${token.address}: contract ${contract} is older than its fromBlock (${first}), and its logs before that are missing; ` +
      `lower fromBlock to the first block of the contract, then: holderbook evm reread --chain ${chainId} --token ${token.address}`,
  );
};
