/** Rates of pipelines, measured while the page is open. */
import { useEffect, useState } from "react";
import type { Live } from "../../data/live.ts";

/** Where a pipeline was at a time. */
export type Sample = { readonly atMs: number; readonly checkpoint: number };

/** Samples kept of each pipeline, at most one a second: ten minutes. */
const KEPT = 600;

type Samples = ReadonlyMap<string, readonly Sample[]>;

/** Adds a sample, unless the last one is younger than a second. */
const withSample = (before: readonly Sample[], sample: Sample): readonly Sample[] => {
  const last = before.at(-1);
  return last !== undefined && sample.atMs - last.atMs < 1_000
    ? before
    : [...before.slice(1 - KEPT), sample];
};

/** Adds a message of the subscription. */
const withStatus = (samples: Samples, { pipelines, receivedAtMs }: Live): Samples => {
  if (pipelines === null) return samples;
  const next = new Map(samples);
  for (const { pipeline, checkpoint } of pipelines) {
    if (checkpoint === null) continue;
    const sample = { atMs: receivedAtMs, checkpoint: Number(checkpoint) };
    next.set(pipeline, withSample(samples.get(pipeline) ?? [], sample));
  }
  return next;
};

/** Checkpoints a second over the last `overMs`; null until two samples are at least a second apart. */
export const rateOver = (samples: readonly Sample[], overMs: number): number | null => {
  const last = samples.at(-1);
  const first = samples.find(({ atMs }) => last !== undefined && last.atMs - atMs <= overMs);
  if (last === undefined || first === undefined || last.atMs - first.atMs < 1_000) return null;
  return ((last.checkpoint - first.checkpoint) * 1_000) / (last.atMs - first.atMs);
};

/** Seconds until a backlog is worked off while the chain grows; null when it does not shrink. */
export const secondsLeft = (
  lag: string | null,
  rate: number | null,
  chainRate: number | null,
): number | null => {
  if (lag === null || rate === null) return null;
  const gain = rate - (chainRate ?? 0);
  return gain <= 0 ? null : Number(lag) / gain;
};

/** Samples of the pipelines while mounted. */
export const useSamples = (live: Live): Samples => {
  const [samples, setSamples] = useState<Samples>(new Map());
  useEffect(() => setSamples((before) => withStatus(before, live)), [live]);
  return samples;
};

/** Samples of a checkpoint while mounted. */
export const useMoved = (checkpoint: string | null): readonly Sample[] => {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    if (checkpoint === null) return;
    const sample = { atMs: Date.now(), checkpoint: Number(checkpoint) };
    setSamples((before) => withSample(before, sample));
  }, [checkpoint]);
  return samples;
};
