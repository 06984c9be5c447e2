/** What a check finds: one line each, the first hundred, and how many more there were. */
import type { Sql } from "../../database/connect.ts";

const MOST = 100;

export type Findings = {
  readonly lines: readonly string[];
  /** Findings beyond those. */
  readonly more: number;
  readonly isFull: boolean;
  add(line: string): void;
};

/** @param known found before, where a round goes on from what was kept of it */
export const createFindings = (
  known: Pick<Findings, "lines" | "more"> = { lines: [], more: 0 },
): Findings => {
  const lines = [...known.lines];
  let { more } = known;
  return {
    lines,
    get more() {
      return more;
    },
    get isFull() {
      return lines.length >= MOST;
    },
    add: (line) => {
      if (lines.length < MOST) lines.push(line);
      else more += 1;
    },
  };
};

/** Rows that a statement gives at most: one more than is told, so that it shows when there are more. */
export const FOUND_ROWS = MOST + 1;

/** Keeps the newest findings, for `/health` and for who asks later; `full_under_way`: of a round that has not ended. */
export const keepFindings = async (
  sql: Sql,
  kind: "continuous" | "full" | "full_under_way" | "command",
  checkpoint: bigint,
  lines: readonly string[],
): Promise<void> => {
  await sql`
    insert into reconciliations (kind, checkpoint, findings)
    values (${kind}, ${checkpoint}, ${JSON.stringify(lines)}::text::jsonb)
    on conflict (kind) do update set checkpoint = excluded.checkpoint, at = now(), findings = excluded.findings`;
};
