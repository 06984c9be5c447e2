/** Findings of a check: one line each, the first hundred, and the number of further ones. */
import type { Sql } from "../../database/connect.ts";

const MOST = 100;

export type Findings = {
  readonly lines: readonly string[];
  /** Number of further findings. */
  readonly more: number;
  readonly isFull: boolean;
  add(line: string): void;
};

/** @param known earlier findings, when a round resumes */
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

/** Row limit of a statement: one more than is listed, to detect further ones. */
export const FOUND_ROWS = MOST + 1;

/** Adds the findings of a statement, whose rows have each as `what`. */
export const addFound = async (
  sql: Sql,
  found: Findings,
  statement: string,
  parameters: (string | null)[],
): Promise<void> => {
  for (const { what } of await sql.unsafe<{ what: string }[]>(statement, parameters)) {
    found.add(what);
  }
};

/** Stores the newest findings, for `/health`; `full_under_way`: of an unfinished round. */
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
