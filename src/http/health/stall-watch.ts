/**
 * Tells slow from stuck.
 *
 * A part is stuck when it has had work for 60 s and did none of it: a backfill is slow
 * and never stuck, an idle pipeline has no work and is never stuck. Times are of this process, and only
 * those in which it ran: a service that was down for a week, or stopped for an hour, is not stuck when it
 * comes back.
 */

import type { Trouble } from "./progress.ts";
import type { Judgement } from "./report.ts";

/** Work without progress for this long is a stall (decisions, `/health`). */
export const STALL_AFTER_MS = 60_000;

/** Fewer checkpoints behind than this is being there: about half a minute of mainnet. */
const NEAR = 100n;

/** An error may quote what it choked on; the log has the whole of it. */
const LONGEST_REASON = 300;

/** A reason as it is shown. */
export const shortened = (reason: string): string => reason.slice(0, LONGEST_REASON);

export type Observation = {
  readonly name: string;
  /** Next checkpoint it expects; null while it has never run. */
  readonly next: bigint | null;
  /** It has work while `next` is below this; null: unknown. */
  readonly goal: bigint | null;
  readonly trouble?: Trouble | undefined;
};

type Memory = {
  readonly next: bigint | null;
  /** When `next` was last seen to change; at first, when it was first seen. */
  readonly movedMs: number;
  /** Since when there has been work; null while there is none. */
  readonly workMs: number | null;
  /** `next` when it was first seen to have given up: another process may have gone on since. */
  readonly gaveUpAt: { readonly next: bigint | null } | undefined;
};

export type StallWatch = {
  /** Judges one observation and remembers it. */
  judge(observation: Observation, nowMs: number): Judgement;
  /** Milliseconds since it was last seen to move. */
  quietMs(name: string, nowMs: number): number;
};

/** @param unit what is counted, in the singular */
export const createStallWatch = (
  stallAfterMs: number = STALL_AFTER_MS,
  unit = "checkpoint",
): StallWatch => {
  const memories = new Map<string, Memory>();

  const remember = ({ name, next, goal, trouble }: Observation, nowMs: number): Memory => {
    const before = memories.get(name);
    const memory: Memory = {
      next,
      movedMs: before !== undefined && before.next === next ? before.movedMs : nowMs,
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

/** Checkpoints of work; one that has never run has all of it to do. */
const lagOf = (next: bigint | null, goal: bigint | null): bigint => {
  if (goal === null) return 0n;
  const lag = goal - (next ?? 0n);
  return lag > 0n ? lag : 0n;
};
