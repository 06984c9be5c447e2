/**
 * Follows one chain into its log until told to stop: reader, log and patience together, and beside them
 * what is asked of the tokens themselves.
 */

import { type Database, databaseRetries } from "../../database/connect.ts";
import type { Backoff } from "../../waiting/backoff.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { EvmNetwork } from "../contract/network.ts";
import type { EvmBatch } from "../log/chain-state.ts";
import { openEvmLog } from "../log/store.ts";
import type { Fleet } from "../rpc/fleet.ts";
import { type CheckSettings, checkTokens } from "./check-tokens.ts";
import { describeTokens } from "./describe-tokens.ts";
import { type ReaderSettings, readChain } from "./reader.ts";

export type FollowSettings = {
  readonly database: Database;
  readonly network: EvmNetwork;
  readonly rpc: Fleet;
  readonly reader?: Partial<ReaderSettings>;
  /** After every batch that was kept. */
  readonly onBatch?: (batch: EvmBatch) => void;
  /** Before every pause that an error causes. */
  readonly onError?: (error: Error, pauseMs: number) => void;
  /** The same while tokens are asked how they are called: reading goes on meanwhile. */
  readonly onUndescribed?: (error: Error, pauseMs: number) => void;
  /** Until a token that left something of its description out is asked again. */
  readonly describeAgainMs?: number;
  readonly check?: Pick<CheckSettings, "everyMs" | "confirmMs" | "onChecked">;
};

const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

/**
 * Reads the chain and keeps what it reads. Errors that pass (of the RPC, of the database) are waited
 * out, each time from what the log holds. Returns when `signal` aborts.
 * @throws whatever an operator must look at (remedy `stop`)
 */
export const followChain = async (settings: FollowSettings, signal: AbortSignal): Promise<void> => {
  const { database, network, rpc, onUndescribed: onError, describeAgainMs: againMs } = settings;
  const ended = new AbortController();
  const beside = AbortSignal.any([signal, ended.signal]);
  let asking: Promise<unknown> | undefined;
  const onLooked = () => {
    asking ??= Promise.all([
      describeTokens({ database, network, rpc, onError, againMs }, beside),
      checkTokens({ database, network, rpc, ...settings.check }, beside),
    ]);
  };
  try {
    await read(settings, onLooked, signal);
  } finally {
    ended.abort();
    await asking;
  }
};

/** @param onLooked once the log knows where the head is now: old state can often not be asked for */
const read = async (
  { database, network, rpc, reader, onBatch, onError }: FollowSettings,
  onLooked: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const onQuiet = () => {
    onLooked();
    reader?.onQuiet?.();
  };
  const attempt = async (progressed: () => void): Promise<void> => {
    const store = await openEvmLog(database, network);
    const from = await store.state();
    for await (const batch of readChain(network, rpc, from, signal, { ...reader, onQuiet })) {
      await store.append(batch);
      progressed();
      onLooked();
      onBatch?.(batch);
    }
  };
  const trouble = { backoff: BACKOFF, ...databaseRetries, onTrouble: onError };
  await retrying(attempt, trouble, signal);
};
