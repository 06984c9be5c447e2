/** Entries of the sequence, as they are kept. */
import { entriesAfter } from "../../src/audit/sequence.ts";
import type { Sql } from "../../src/database/connect.ts";

export const entriesOf = (sql: Sql) => entriesAfter({ sql }, -1n, 10_000);
