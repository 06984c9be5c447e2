import { alterLog } from "../log/damage.ts";
import type { TestDatabase } from "../postgres.ts";

/** Deletes an operators' act, with triggers off. */
export const loseAct = (database: TestDatabase, number: number) =>
  alterLog(database, `delete from operator_acts where number = ${number}`);
