/** Holds operators' acts against the entries of the sequence that published them. */
import type { Sql } from "../../database/connect.ts";
import { actHash, actsAfter } from "./acts.ts";

/** As long as the clocks of the database and of the process that signs may be apart, milliseconds. */
export const CLOCKS_MS = 3_600_000;

const PAGE = 1_000;

type Entry = {
  readonly number: bigint;
  readonly act: string;
  readonly sha256: string;
  readonly at: string;
};

/** The first act, or entry about one, that does not fit; null when all do. */
export const actFault = async (sql: Sql): Promise<string | null> => {
  const entries = await sql<Entry[]>`
    select number, coalesce(body::jsonb ->> 'act', '') as act,
           coalesce(body::jsonb ->> 'sha256', '') as sha256, at
    from log_sequence where kind = 'act' order by number`;
  // Read before the acts: what is published meanwhile is left out.
  const last = entries.at(-1)?.act ?? "";
  const published = /^\d{1,18}$/.test(last) ? BigInt(last) : 0n;
  let place = 0;
  let [number, at] = [0n, ""];
  for (let page: Awaited<ReturnType<typeof actsAfter>> = []; ; ) {
    try {
      page = await actsAfter(sql, number === 0n ? LOWEST : number, PAGE);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return `operator_acts has a row behind number ${number} that is no JSON: it was changed`;
    }
    for (const act of page) {
      const what = `act ${act.number} in operator_acts`;
      if (act.number !== `${number + 1n}`) {
        return `${what} comes where number ${number + 1n} should: an act was deleted or renumbered`;
      }
      if (act.at < at) return `${what} is dated ${act.at}, before the one before it (${at})`;
      [number, at] = [BigInt(act.number), act.at];
      if (number > published) continue;
      const entry = entries[place];
      place += 1;
      if (entry?.act !== act.number) {
        return `${what} has no entry in the sequence, and later acts have: it was invented, or entered twice`;
      }
      if (entry.sha256 !== actHash(act)) {
        return `${what} has another hash than entry ${entry.number} of the sequence: it was changed`;
      }
      if (Date.parse(entry.at) < Date.parse(at) - CLOCKS_MS) {
        return `${what} is dated ${at}, and entry ${entry.number}, which published it, ${entry.at}`;
      }
    }
    if (page.length < PAGE) break;
  }
  const entry = entries[place];
  return entry === undefined
    ? null
    : `entry ${entry.number} of the sequence (act) names act ${entry.act}, which operator_acts does not have: it was deleted`;
};

/** Below every number that a row could be given. */
const LOWEST = -(2n ** 63n);
