/** Entries of the sequence, as they are kept; what does not hold of them; and how they are lost. */
import { entriesAfter } from "../../src/audit/sequence/sequence.ts";
import { runStretches } from "../../src/audit/sequence/stretches.ts";
import { checkSequence } from "../../src/audit/verify/sequence-check.ts";
import type { Sql } from "../../src/database/connect.ts";
import type { LogFault } from "../../src/log/chain.ts";
import { alterLog } from "../log/damage.ts";
import type { TestDatabase } from "../postgres.ts";

export const entriesOf = (sql: Sql) => entriesAfter({ sql }, -1n, 10_000);

/** What does not hold of the sequence. */
export const sequenceFaults = async (sql: Sql): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  await runStretches(checkSequence({ sql }), faults, new AbortController().signal);
  return faults;
};

/** Loses the newest entries of the sequence, as an asynchronous fail-over does: all but the first `kept`. */
export const loseEntries = (database: TestDatabase, kept: number) =>
  alterLog(
    database,
    `delete from coin_entries where number >= ${kept};
     with last as (delete from log_sequence where number >= ${kept} returning number, previous)
     update log_sequence_head set next = ${kept}, hash = (select previous from last order by number limit 1)`,
  );
