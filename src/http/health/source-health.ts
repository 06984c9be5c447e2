/** Judges the source by the reader's note (`log_source`), in every process. */
import type { SourceSaid } from "../../log/log-source.ts";
import type { ReaderProgress } from "./progress.ts";
import type { Judgement, SourceHealth } from "./report.ts";

/** Whether a reader runs, by its note; without one the source's state is unknown. */
export const isHeard = ({ saidAgoMs }: SourceSaid, stallAfterMs: number): boolean =>
  saidAgoMs < stallAfterMs;

/**
 * Stalled for a reader that gave up or a source that is wrong or silent for too long; else null.
 */
export const judgeSource = (
  { source, trouble }: ReaderProgress,
  stallAfterMs: number,
): Judgement | null => {
  if (source?.gaveUp) {
    return { state: "stalled", reason: `gave up: ${source.error ?? "see the reader's log"}` };
  }
  const said = source && isHeard(source, stallAfterMs) ? source : null;
  // Its knowledge of the chain's end is outdated; another process may still read.
  if (trouble?.gaveUp && !said?.reading) {
    return { state: "stalled", reason: `gave up: ${trouble.reason}` };
  }
  if (said === null) return null;
  if (said.silentMs < stallAfterMs) {
    // The source's answers are unusable: nothing is read until a retry succeeds.
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

export const sourceHealth = (said: SourceSaid, stallAfterMs: number): SourceHealth => ({
  source: said.source,
  answerAgeSeconds: said.answeredAgoMs === null ? null : seconds(said.answeredAgoMs),
  silentSeconds: isHeard(said, stallAfterMs) ? seconds(said.silentMs) : null,
});

const seconds = (ms: number): number => Math.floor(ms / 1000);
