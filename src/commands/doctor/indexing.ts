/** Checks whether a process reads the ledger, by its notes in the database, and whether tokens are in quarantine or incomplete. */
import type { Database } from "../../database/connect.ts";
import { STALL_AFTER_MS } from "../../http/health/stall-watch.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import { inQuarantine } from "../../projections/held-coins.ts";
import { readWatermarks, type Watermarks } from "../../projections/read-watermarks.ts";
import { heldToken, holdsOf } from "../../transfers/holds.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import type { LogState } from "./log-state.ts";

/** Checks the reader's last note and the pipelines' progress; held tokens are named whatever the reader does. */
export const checkIndexing = async (
  database: Database,
  state: Pick<LogState, "note" | "log">,
): Promise<readonly Finding[]> => {
  const holds = await holdsOf(database.db);
  const marks = await readWatermarks(database.db, ledgerPipelines);
  return [
    ...marks.incomplete.map((coin) =>
      warn(inQuarantine(coin), "see docs/how-to/guided-reading.md"),
    ),
    ...[...marks.pipelines.flatMap(({ quarantined }) => quarantined), ...holds.map(heldToken)].map(
      (held) => warn(inQuarantine(held), "see `holderbook quarantine show`"),
    ),
    checkReader(state, marks),
  ];
};

const checkReader = (
  { note, log }: Pick<LogState, "note" | "log">,
  { log: mark, pipelines }: Watermarks,
): Finding => {
  if (log === undefined || note === null) {
    return warn("nothing has been read yet", "run `holderbook start` or `holderbook index`");
  }
  const ago = `${Math.round(note.noteAgeMs / 1000)} s`;
  const error = note.error === null ? "" : `: ${note.error}`;
  if (note.gaveUp) {
    return fail(
      `the reader gave up ${ago} ago${error}`,
      "see its log, correct the cause, and start it again",
    );
  }
  if (note.noteAgeMs >= STALL_AFTER_MS) {
    return warn(
      `no process reads the ledger: the last one did ${ago} ago`,
      "run `holderbook start` or `holderbook index`",
    );
  }
  if (note.silentMs >= STALL_AFTER_MS) {
    const silent = `${Math.round(note.silentMs / 1000)} s`;
    return fail(
      `${note.source} has not answered the reader for ${silent}${error}`,
      "check that it runs, and that this machine may reach it",
    );
  }
  const behind = pipelines.map(({ pipeline, next }) => ({
    pipeline,
    by: (mark.next ?? 0n) - (next ?? 0n),
  }));
  const last = behind.toSorted((a, b) => Number(b.by - a.by))[0];
  const where = `at checkpoint ${log.nextCheckpoint - 1n}`;
  return ok(
    last === undefined || last.by <= 0n
      ? `a process reads ${note.source}, ${where}; all pipelines are up to date`
      : `a process reads ${note.source}, ${where}; ${last.pipeline} is ${last.by} behind`,
  );
};
