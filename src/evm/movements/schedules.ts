/** Reads schedules from their contracts when a log first names them. */

import type { EvmToken } from "../../settings/assets.ts";
import { ownEvent } from "../contract/events.ts";
import type { EvmFact } from "../contract/fact.ts";
import { type ScheduleFact, scheduleKey } from "../log/chain-state.ts";
import { readSchedules } from "../rpc/contract-calls.ts";
import type { Endpoint } from "../rpc/endpoint.ts";

type SchedulesQuery = {
  readonly tokens: readonly EvmToken[];
  readonly facts: readonly EvmFact[];
  /** By `scheduleKey`. */
  readonly known: ReadonlyMap<string, unknown>;
  readonly head: bigint;
};

/**
 * Reads each new schedule that `facts` create or fund once, at the block of the log. A schedule
 * that the contract does not return is left out, and read again when another log names it.
 */
export const newSchedules = async (
  endpoint: Endpoint,
  { tokens, facts, known, head }: SchedulesQuery,
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
    // Deriving the token's records reports it; other tokens continue.
    return undefined;
  }
};
