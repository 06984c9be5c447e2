/**
 * The moment in view, as the address has it in `at`: unix seconds, or `c` and a checkpoint; absent for now. A second may
 * hold several checkpoints, so a link to what is seen now names the checkpoint.
 */
import { fromSeconds } from "../shown/moment.ts";
import { graph } from "./ask.ts";
import { useGraph } from "./queries.ts";

const CHECKPOINT = /^c(\d{1,18})$/;

/** Whether a text is a moment: `1764201600`, `c184220931`. */
export const isMoment = (text: string): boolean =>
  CHECKPOINT.test(text) || (/^\d{1,13}$/.test(text) && Number(text) <= 8.64e12);

/** The moment of a checkpoint, decimal. */
export const momentAt = (checkpoint: string): string => `c${checkpoint}`;

/** The checkpoint of a moment, decimal; null for a time, and for now. */
export const checkpointOf = (at: string | undefined): string | null =>
  CHECKPOINT.exec(at ?? "")?.[1] ?? null;

/** Arguments of a query that answers as of a moment; both null for now. */
export const momentVariables = (
  at: string | undefined,
): { readonly atCheckpoint: string | null; readonly atTimestamp: string | null } => {
  const atCheckpoint = checkpointOf(at);
  return { atCheckpoint, atTimestamp: atCheckpoint === null ? (at ?? null) : null };
};

const timeQuery = graph(`query MomentTime($checkpoint: String!) {
  _meta(atCheckpoint: $checkpoint) { checkpointTimestamp }
}`);

/** The time of a moment, milliseconds; undefined for now, and until the service said when its checkpoint was. */
export const useMomentMs = (at: string | undefined): number | undefined => {
  const checkpoint = checkpointOf(at);
  const asked = useGraph(
    timeQuery,
    { checkpoint: checkpoint ?? "0" },
    { past: true, enabled: checkpoint !== null },
  );
  const seconds = checkpoint === null ? at : asked.data?._meta?.checkpointTimestamp;
  return seconds == null ? undefined : fromSeconds(seconds);
};
