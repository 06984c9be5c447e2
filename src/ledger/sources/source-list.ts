/**
 * Several sources of one chain as one: moves to the next on failure, and back to the first later.
 *
 * It does not retry: the reader reports source errors (`failed`) and starts again on the next one.
 * After some minutes on another source it probes the first and returns to it. All sources must be
 * of the same chain, as far as they know it.
 */
import { pause } from "../../waiting/backoff.ts";
import { withinDeadline } from "../../waiting/deadline.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import type { CheckpointSource } from "./source.ts";
import { NO_OBSERVER, type SourceObserver } from "./source-contact.ts";
import { SourceChainsDifferError, type SourceOfChain } from "./source-errors.ts";

export type SourceChange = {
  readonly from: string;
  readonly to: string;
  /** Why the previous one was left. */
  readonly reason: string;
};

export type SourceListOptions = {
  /** Notified of the current source's answers and failures. */
  readonly observer?: SourceObserver | undefined;
  readonly onChange?: ((change: SourceChange) => void) | undefined;
  /** Interval of probing the first source, ms. */
  readonly returnAfterMs?: number;
};

/** Timeout for chain ids of unused sources; a late one is checked on use. */
const CHAIN_MS = 2_000;

export type OpenListed = (observer: SourceObserver) => CheckpointSource;

/** @param openers two or more, in order of preference */
export const listSources = (
  openers: readonly [OpenListed, ...OpenListed[]],
  { observer = NO_OBSERVER, onChange = () => {}, returnAfterMs = 300_000 }: SourceListOptions = {},
): CheckpointSource => {
  const opened = (open: OpenListed): CheckpointSource => {
    const source: CheckpointSource = open({
      answered: () => source === inUse && observer.answered(),
      failed: (error) => source === inUse && observer.failed(error),
      took: (seconds) => observer.took?.(seconds),
    });
    return source;
  };
  const [openFirst, ...openOthers] = openers;
  const first = opened(openFirst);
  const sources = [first, ...openOthers.map(opened)];
  let inUse = first;
  const chains = new Map<CheckpointSource, string | null>();

  const use = (source: CheckpointSource, reason: string) => {
    const from = inUse.description;
    inUse = source;
    onChange({ from, to: source.description, reason });
  };

  /** Chain of a source, which must match all known others. */
  const chainOf = async (source: CheckpointSource, signal: AbortSignal): Promise<string | null> => {
    const chainId = await source.chainId(signal);
    chains.set(source, chainId);
    if (chainId === null) return null;
    for (const [{ description }, known] of chains) {
      if (known === null || known === chainId) continue;
      const one: SourceOfChain = { source: description, chainId: known };
      throw new SourceChainsDifferError(one, { source: source.description, chainId });
    }
    return chainId;
  };

  /** Waits until the first source can serve `next` again. */
  const firstIsBack = async (next: () => bigint, signal: AbortSignal): Promise<void> => {
    for (;;) {
      await pause(returnAfterMs, signal);
      if (signal.aborted) return;
      try {
        await chainOf(first, signal);
        const at = next();
        const newest = await first.latest(signal);
        if (newest === null || newest + 1n < at) continue;
        // Test a read: a pruned or silent node would be left again immediately.
        const given = newest < at ? [] : first.checkpoints({ first: at, last: at }, signal);
        for await (const _ of given) break;
        return;
      } catch {
        // Not back yet.
      }
    }
  };

  const offering = <Name extends "coinDecimals" | "publishedAt">(name: Name) =>
    [inUse, ...sources].find((source) => source[name] !== undefined)?.[name];

  return {
    get description() {
      return inUse.description;
    },
    get listed() {
      return { count: sources.length, inUse: sources.indexOf(inUse) };
    },
    failed: ({ message }, asked) => {
      if (sources[asked] === inUse) use(sources[(asked + 1) % sources.length] ?? first, message);
    },
    chainId: async (signal) => {
      const asked = inUse;
      const others = sources.filter((source) => source !== asked && !chains.has(source));
      const own = chainOf(asked, signal);
      const answers = await Promise.allSettled([
        own,
        ...others.map((each) => withinDeadline(chainOf(each, signal), { ms: CHAIN_MS })),
      ]);
      for (const each of answers) {
        if (each.status === "rejected" && each.reason instanceof SourceChainsDifferError) {
          throw each.reason;
        }
      }
      const known = [...chains.values()].find((chainId) => chainId !== null);
      return (await own) ?? known ?? null;
    },
    latest: (signal) => inUse.latest(signal),
    checkpoints: async function* ({ first: from, ...range }, signal) {
      let next = from;
      while (range.last === undefined || next <= range.last) {
        const source = inUse;
        using turn = followingAbort(signal);
        if (source !== first) {
          void firstIsBack(() => next, turn.signal).then(() => {
            if (turn.signal.aborted || inUse !== source) return;
            use(first, "the first one listed is back");
            turn.abort();
          });
        }
        for await (const raw of source.checkpoints({ first: next, ...range }, turn.signal)) {
          yield raw;
          next = raw.sequence + 1n;
          if (inUse !== source) break;
        }
        if (signal.aborted || inUse === source) return;
      }
    },
    ...(offering("coinDecimals") && {
      coinDecimals: async (coinType, signal) =>
        (await offering("coinDecimals")?.(coinType, signal)) ?? null,
    }),
    ...(offering("publishedAt") && {
      publishedAt: async (address, signal) =>
        (await offering("publishedAt")?.(address, signal)) ?? null,
    }),
    close: async () => {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
};
