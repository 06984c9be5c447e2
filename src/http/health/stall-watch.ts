/**
 * Tells slow from stuck: a part is stuck when it had work for 60 s and did none. Only time in which
 * this process ran counts, so that a service resumed after a pause is not stuck.
 */

import type { Trouble } from "./progress.ts";
import type { Judgement } from "./report.ts";

/** The limit that decisions.md sets. */
export const STALL_AFTER_MS = 60_000;

/** Fewer checkpoints behind counts as caught up: about half a minute of mainnet. */
const NEAR = 100n;

/** An error may quote its input; the log has all of it. */
const LONGEST_REASON = 300;

export const shortened = (reason: string): string => reason.slice(0, LONGEST_REASON);

export type Observation = {
  readonly name: string;
  /** Next checkpoint; null before the first run. */
  readonly next: bigint | null;
  /** It has work while `next` is below this; null: unknown. */
  readonly goal: bigint | null;
  /** Work that does not move `next` yet: any change of it is progress. */
  readonly doing?: string | undefined;
  readonly trouble?: Trouble | undefined;
};

type Memory = {
  readonly next: bigint | null;
  readonly doing: string | undefined;
  /** When either last changed, or was first seen. */
  readonly movedMs: number;
  /** Since when there has been work; null while there is none. */
  readonly workMs: number | null;
  /** `next` when it gave up: another process may have continued since. */
  readonly gaveUpAt: { readonly next: bigint | null } | undefined;
};

export type StallWatch = {
  judge(observation: Observation, nowMs: number): Judgement;
  /** Milliseconds since `next` or `doing` last changed. */
  quietMs(name: string, nowMs: number): number;
};

/** @param unit singular noun for what is counted */
export const createStallWatch = (
  stallAfterMs: number = STALL_AFTER_MS,
  unit = "checkpoint",
): StallWatch => {
  const memories = new Map<string, Memory>();

  const remember = ({ name, next, goal, doing, trouble }: Observation, nowMs: number): Memory => {
    const before = memories.get(name);
    const isSame = before !== undefined && before.next === next && before.doing === doing;
    const memory: Memory = {
      next,
      doing,
      movedMs: isSame ? before.movedMs : nowMs,
      workMs: lagOf(next, goal) === 0n ? null : (before?.workMs ?? nowMs),
      gaveUpAt: trouble?.gaveUp ? (before?.gaveUpAt ?? { next }) : undefined,
    };
    memories.set(name, memory);
    return memory;
  };

  return {
    judge(observation, nowMs) {
      const { next, goal, trouble } = observation;
      const { movedMs, workMs, gaveUpAt } = remember(observation, nowMs);
      const lag = lagOf(next, goal);
      if (workMs === null || lag === 0n) return { state: "ok" };
      const why = trouble === undefined ? "" : `: ${shortened(trouble.reason)}`;
      if (gaveUpAt?.next === next) return { state: "stalled", reason: `gave up${why}` };
      const units = lag === 1n ? unit : `${unit}s`;
      const behind = next === null ? "has never run" : `${lag} ${units} behind`;
      const stuckMs = nowMs - Math.max(movedMs, workMs);
      if (stuckMs >= stallAfterMs) {
        const seconds = Math.floor(stuckMs / 1000);
        return { state: "stalled", reason: `${behind}; no progress for ${seconds} s${why}` };
      }
      if (lag <= NEAR) return { state: "ok" };
      return { state: "catching_up", reason: behind };
    },
    quietMs: (name, nowMs) => nowMs - (memories.get(name)?.movedMs ?? nowMs),
  };
};

/** A part that never ran lags by everything. */
const lagOf = (next: bigint | null, goal: bigint | null): bigint => {
  if (goal === null) return 0n;
  const lag = goal - (next ?? 0n);
  return lag > 0n ? lag : 0n;
};
