/** Settled blocks, read in ranges that adapt to the provider, several ahead of the consumer. */
import { lowest } from "../../values/bigints.ts";
import type { EvmFact, LinkedBlock } from "../contract/fact.ts";
import type { ScheduleFact } from "../log/chain-state.ts";
import { newSchedules } from "../movements/schedules.ts";
import type { Fleet } from "../rpc/fleet.ts";
import { type LogRange, LogRangeRefusedError } from "../rpc/logs.ts";
import { readRange } from "../rpc/ranges.ts";
import type { TokenGroup } from "./state.ts";

type SettledPart = {
  readonly first: bigint;
  readonly last: bigint;
  readonly facts: readonly EvmFact[];
  readonly schedules: readonly ScheduleFact[];
  /** The last block: the next part must start with its child. */
  readonly blocks: readonly LinkedBlock[];
};

type CatchUpSettings = {
  readonly chainId: number;
  readonly range: LogRange;
  readonly ahead: number;
  /** By `scheduleKey`. */
  readonly known: ReadonlyMap<string, unknown>;
  readonly head: bigint;
  /** `performance.now()` after which no further range is begun. */
  readonly until: number;
};

/** Parts of the group's range in order and without gap, until the end or the deadline. */
export async function* catchUp(
  rpc: Fleet,
  group: TokenGroup,
  settings: CatchUpSettings,
  signal: AbortSignal,
): AsyncGenerator<SettledPart> {
  const { range, ahead, until } = settings;
  const abandoned = new AbortController();
  const stop = AbortSignal.any([signal, abandoned.signal]);
  const underWay: Promise<readonly SettledPart[]>[] = [];
  let next = group.first;

  const begin = () => {
    const last = lowest(next + BigInt(range.size()) - 1n, group.last);
    const reading = readSettled(rpc, { ...group, first: next, last }, settings, stop);
    // Awaited in its turn; silence the unhandled rejection until then.
    reading.catch(() => undefined);
    underWay.push(reading);
    next = last + 1n;
  };

  try {
    begin();
    for (;;) {
      while (underWay.length < ahead && next <= group.last && performance.now() < until) begin();
      const reading = underWay.shift();
      if (reading === undefined) return;
      yield* await reading;
    }
  } finally {
    abandoned.abort();
  }
}

/** One range, split where the provider refuses its size. */
const readSettled = async (
  rpc: Fleet,
  { tokens, first, last }: TokenGroup,
  { chainId, range, known, head }: CatchUpSettings,
  signal: AbortSignal,
): Promise<readonly SettledPart[]> => {
  const parts: SettledPart[] = [];
  for (let from = first; from <= last; ) {
    const size = Math.min(range.size(), Number(last - from) + 1);
    const to = from + BigInt(size) - 1n;
    try {
      const part = await rpc.use(async (endpoint) => {
        const asked = { chainId, tokens, first: from, last: to };
        const { facts, blocks } = await readRange(endpoint, asked, signal);
        const schedules = await newSchedules(endpoint, { tokens, facts, known, head }, signal);
        return { first: from, last: to, facts, schedules, blocks: blocks.slice(-1) };
      }, signal);
      range.answered(size, part.facts.length);
      parts.push(part);
      from = to + 1n;
    } catch (error) {
      if (!(error instanceof LogRangeRefusedError)) throw error;
      range.refused(error);
    }
  }
  return parts;
};
