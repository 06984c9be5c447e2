/** How fast pipelines move, from what was told while the page is open. */
import { useEffect, useState } from "react";
import type { Live } from "../../data/live.ts";

/** Where a pipeline was at a time. */
export type Sample = { readonly atMs: number; readonly checkpoint: number };

/** Samples kept of each pipeline, at most one a second: ten minutes. */
const KEPT = 600;

export type Samples = ReadonlyMap<string, readonly Sample[]>;

/** The same samples where the last is younger than a second. */
const withSample = (before: readonly Sample[], sample: Sample): readonly Sample[] => {
  const last = before.at(-1);
  return last !== undefined && sample.atMs - last.atMs < 1_000
    ? before
    : [...before.slice(1 - KEPT), sample];
};

/** Adds what was told; the same map when it says nothing new. */
export const withTold = (samples: Samples, { pipelines, toldAtMs }: Live): Samples => {
  if (pipelines === null) return samples;
  const next = new Map(samples);
  for (const { pipeline, checkpoint } of pipelines) {
    if (checkpoint === null) continue;
    const sample = { atMs: toldAtMs, checkpoint: Number(checkpoint) };
    next.set(pipeline, withSample(samples.get(pipeline) ?? [], sample));
  }
  return next;
};

/** Checkpoints a second over the last so many milliseconds; null until two samples are that far apart. */
export const rateOver = (samples: readonly Sample[], overMs: number): number | null => {
  const last = samples.at(-1);
  const first = samples.find(({ atMs }) => last !== undefined && last.atMs - atMs <= overMs);
  if (last === undefined || first === undefined || last.atMs - first.atMs < 1_000) return null;
  return ((last.checkpoint - first.checkpoint) * 1_000) / (last.atMs - first.atMs);
};

/** Seconds until a backfill is done, when the chain goes on at its own rate; null when it is not nearing. */
export const secondsLeft = (
  lag: bigint | null,
  rate: number | null,
  chainRate: number | null,
): number | null => {
  if (lag === null || rate === null) return null;
  const nearing = rate - (chainRate ?? 0);
  return nearing <= 0 ? null : Number(lag) / nearing;
};

/** Collects while the page is open. */
export const useSamples = (live: Live): Samples => {
  const [samples, setSamples] = useState<Samples>(new Map());
  useEffect(() => setSamples((before) => withTold(before, live)), [live]);
  return samples;
};

/** A number's way while the page is open, a sample a second at most. */
export const useMoved = (checkpoint: string | null): readonly Sample[] => {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (checkpoint === null) return;
    const sample = { atMs: Date.now(), checkpoint: Number(checkpoint) };
    setSamples((before) => withSample(before, sample));
  }, [checkpoint]);
  return samples;
};
