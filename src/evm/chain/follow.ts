/** Follows one chain into its log until aborted; describes and checks its tokens meanwhile. */

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
  readonly onBatch?: (batch: EvmBatch) => void;
  /** Called before every pause after an error. */
  readonly onError?: (error: Error, pauseMs: number) => void;
  /** The same for descriptions of tokens; reading continues meanwhile. */
  readonly onUndescribed?: (error: Error, pauseMs: number) => void;
  readonly describeAgainMs?: number;
  readonly check?: Pick<CheckSettings, "everyMs" | "confirmMs" | "onChecked">;
};

const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

/**
 * Reads the chain into the log. Retries transient errors (RPC, database) from the log's state.
 * Returns when `signal` aborts.
 * @throws errors of remedy `stop`, which need an operator
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

/** @param onLooked called once the log knows the head: nodes often lack the state of old blocks */
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
