/** Describes tokens while their logs are read: neither waits for the other. */
import { type Database, databaseRetries } from "../../database/connect.ts";
import { type Backoff, pause } from "../../waiting/backoff.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { Address } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import { openDescriptions, recordDescription } from "../log/descriptions.ts";
import { describeToken } from "../rpc/contract-calls.ts";
import type { Fleet } from "../rpc/fleet.ts";

type DescribeSettings = {
  readonly database: Database;
  readonly network: EvmNetwork;
  readonly rpc: Fleet;
  /** Delay before an incomplete description is read again; doubles, up to an hour. */
  readonly againMs?: number | undefined;
  readonly onError?: ((error: Error, pauseMs: number) => void) | undefined;
};

/** Pauses while some tokens have no log yet. */
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 250;

/** Pauses while a token cannot be read. */
const BACKOFF: Backoff = { firstMs: 500, maxMs: 60_000 };

const FIRST_AGAIN_MS = 60_000;
const LONGEST_AGAIN_MS = 3_600_000;

/**
 * Describes every token once the log has a fact of it: before that it may not exist. The log lists
 * the open ones, so that a crash or failure skips none; incomplete ones are read again now and
 * then. Returns when all are complete, or `signal` aborts.
 */
export const describeTokens = async (
  { database, network, rpc, onError, againMs = FIRST_AGAIN_MS }: DescribeSettings,
  signal: AbortSignal,
): Promise<void> => {
  const { db } = database;
  const { chainId } = network;
  const describe = async (token: Address, block: bigint) => {
    const asked = { chainId, token, block };
    const description = await rpc.use((endpoint) => describeToken(endpoint, asked, signal), signal);
    await recordDescription(db, chainId, token, description);
  };
  let lookMs = FIRST_LOOK_MS;
  const again = { everyMs: againMs, at: performance.now() + againMs };
  const attempt = async (progressed: () => void): Promise<void> => {
    while (!signal.aborted) {
      const { waiting, due, partial, head } = await openDescriptions(db, network);
      if (waiting.length + due.length + partial.length === 0) return;
      const isTime = performance.now() >= again.at;
      if (isTime) {
        again.everyMs = Math.min(2 * again.everyMs, LONGEST_AGAIN_MS);
        again.at = performance.now() + again.everyMs;
      }
      const errors: unknown[] = [];
      // One failure does not delay the others.
      for (const token of [...due, ...(isTime ? partial : [])]) {
        await describe(token, head ?? 0n).catch((error) => errors.push(error));
      }
      if (errors.length > 0) throw errors[0];
      progressed();
      const open = waiting.length + due.length > 0;
      await pause(open ? lookMs : Math.max(lookMs, again.at - performance.now()), signal);
      lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS);
    }
  };
  // The log reader meets the same errors, and stops where it must.
  const remedy = () => "retry" as const;
  await retrying(
    attempt,
    { ...databaseRetries, backoff: BACKOFF, remedy, onTrouble: onError },
    signal,
  );
};
