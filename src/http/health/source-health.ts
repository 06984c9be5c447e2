/** What `/health` makes of the reader's word on its source (`log_source`), true in every process. */
import type { SourceSaid } from "../../log/log-source.ts";
import type { ReaderProgress } from "./progress.ts";
import type { Judgement, SourceHealth } from "./report.ts";

/** Whether a reader runs, by its own word: without one the source's state is unknown. */
export const isHeard = ({ saidAgoMs }: SourceSaid, stallAfterMs: number): boolean =>
  saidAgoMs < stallAfterMs;

/** A reader that gave up, or whose source says something wrong or has been silent for too long; null for all others. */
export const judgeSource = (
  { source, trouble }: ReaderProgress,
  stallAfterMs: number,
): Judgement | null => {
  if (source?.gaveUp) {
    return { state: "stalled", reason: `gave up: ${source.error ?? "see the reader's log"}` };
  }
  const said = source && isHeard(source, stallAfterMs) ? source : null;
  // What it knew of the chain's end is of before that; another process may read on.
  if (trouble?.gaveUp && !said?.reading) {
    return { state: "stalled", reason: `gave up: ${trouble.reason}` };
  }
  if (said === null) return null;
  if (said.silentMs < stallAfterMs) {
    // What the source says cannot be used: it is asked again, and until then nothing is read.
    return said.reading || said.error === null
      ? null
      : { state: "stalled", reason: `the source ${said.source}: ${said.error}` };
  }
  const silent =
    said.answeredAgoMs === null
      ? `has never answered, and was asked for ${seconds(said.silentMs)} s`
      : `has not answered for ${seconds(said.silentMs)} s`;
  const why = said.error === null ? "" : `: ${said.error}`;
  return { state: "stalled", reason: `the source ${said.source} ${silent}${why}` };
};

/** What `/health` shows of it. */
export const sourceHealth = (said: SourceSaid, stallAfterMs: number): SourceHealth => ({
  source: said.source,
  answerAgeSeconds: said.answeredAgoMs === null ? null : seconds(said.answeredAgoMs),
  silentSeconds: isHeard(said, stallAfterMs) ? seconds(said.silentMs) : null,
});

const seconds = (ms: number): number => Math.floor(ms / 1000);
