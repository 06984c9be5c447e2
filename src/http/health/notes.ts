/** Notes in `/health`: trouble that may pass, and early warnings. */
import type { Standstill } from "../../waiting/awake.ts";
import type { Note } from "./report.ts";

export const noteOf = (reason: string, sinceMs: number): Note => ({
  reason,
  since: new Date(sinceMs).toISOString(),
});

/** How long a standstill is reported: probes ask again within a minute. */
const TOLD_FOR_MS = 60_000;

/** This process was paused: trouble may only be late news. */
export const standstillNotes = (
  standstill: Standstill | undefined,
  nowMs: number,
): readonly Note[] => {
  if (standstill === undefined || nowMs - standstill.untilMs > TOLD_FOR_MS) return [];
  const seconds = Math.round((standstill.untilMs - standstill.fromMs) / 1_000);
  return [
    noteOf(`this process (pid ${process.pid}) did not run for ${seconds} s`, standstill.fromMs),
  ];
};
