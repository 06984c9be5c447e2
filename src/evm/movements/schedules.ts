/** Schedules that logs name for the first time, read from the contract that logged them. */

import type { EvmToken } from "../../settings/assets.ts";
import type { EvmFact } from "../contract/fact.ts";
import { ownEvent } from "../contract/token.ts";
import { type ScheduleFact, scheduleKey } from "../log/chain-state.ts";
import { readSchedules } from "../rpc/contract-calls.ts";
import type { Endpoint } from "../rpc/endpoint.ts";

export type SchedulesAsked = {
  /** Those whose facts these are. */
  readonly tokens: readonly EvmToken[];
  readonly facts: readonly EvmFact[];
  /** Schedules already read, by `scheduleKey`. */
  readonly known: ReadonlyMap<string, unknown>;
  /** Number of the chain's newest block. */
  readonly head: bigint;
};

/**
 * Reads the schedules that `facts` create, or fund without having created them within what was read
 * (a token followed from a later block), each once, at the block of the log. One that the contract
 * refuses to tell is left out, and asked for again when another log names it.
 */
export const newSchedules = async (
  endpoint: Endpoint,
  { tokens, facts, known, head }: SchedulesAsked,
  signal: AbortSignal,
): Promise<readonly ScheduleFact[]> => {
  const shapes = new Map(tokens.map((token) => [token.address, token]));
  const named = new Map<string, { readonly fact: EvmFact; readonly scheduleId: bigint }>();
  for (const fact of facts) {
    const scheduleId = scheduleIn(shapes.get(fact.token), fact);
    if (scheduleId === undefined) continue;
    const key = scheduleKey(fact.token, scheduleId);
    if (!known.has(key) && !named.has(key)) named.set(key, { fact, scheduleId });
  }
  const asked = [...named.values()];
  if (asked.length === 0) return [];
  const schedules = await readSchedules(
    endpoint,
    asked.map(({ fact, scheduleId }) => ({
      contract: fact.address,
      scheduleId,
      block: fact.block.number,
    })),
    head,
    signal,
  );
  return asked.flatMap(({ fact, scheduleId }, i) => {
    const schedule = schedules[i];
    return schedule ? [{ token: fact.token, scheduleId, block: fact.block.number, schedule }] : [];
  });
};

const scheduleIn = (token: EvmToken | undefined, fact: EvmFact): bigint | undefined => {
  try {
    const event = token && ownEvent(token, fact);
    return event !== undefined && "scheduleId" in event ? event.scheduleId : undefined;
  } catch {
    // Reading goes on for every other token; making its records reports it.
    return undefined;
  }
};
