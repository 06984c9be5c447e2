/** Checks heads and entries from saved files against the log and the sequence. */
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import {
  type Correction,
  entriesAt,
  entryHash,
  lastCorrection,
  textIn,
} from "../sequence/sequence.ts";
import { ABOUT_LOG, entryFaults } from "./entry-check.ts";
import type { Kept } from "./kept-files.ts";

export type KeptChecked = {
  /** Contradictions by the log or the sequence. */
  readonly faults: readonly LogFault[];
  /** Items about a log that was replaced since; they cannot be compared. */
  readonly earlier: readonly string[];
};

export const checkKept = async (
  sql: Sql,
  kept: readonly Kept[],
  signal: AbortSignal,
): Promise<KeptChecked> => {
  const entries = kept.filter(({ isHead }) => !isHead);
  const stored = await entriesAt(
    { sql },
    entries.map(({ number }) => BigInt(number)),
  );
  const replaced = entries.flatMap((entry): readonly LogFault[] => {
    const now = stored.get(BigInt(entry.number));
    if (now !== undefined && entryHash(now) === entryHash(entry)) return [];
    const has = now === undefined ? "none of that number" : "another one";
    return [{ checkpoint: 0n, what: `${entry.name} was kept, but the sequence has ${has}` }];
  });
  const correction = await lastCorrection(sql);
  const earlier: Kept[] = [];
  const current: Kept[] = [];
  for (const one of kept) {
    const isEarlier = correction !== null && (await isBefore(sql, one, correction));
    (isEarlier ? earlier : current).push(one);
  }
  return {
    faults: [...replaced, ...(await entryFaults(sql, current, signal))],
    earlier: earlier.map(
      ({ name }) =>
        `${name} is about the log that entry ${correction?.number} of the sequence says was read again`,
    ),
  };
};

/** Whether it is about the replaced log. */
const isBefore = async (
  sql: Sql,
  { isHead, number, kind, body }: Kept,
  { number: since, through }: Correction,
): Promise<boolean> => {
  if (!isHead) return ABOUT_LOG.includes(kind) && BigInt(number) < since;
  // A head has no number; heads of the current log were signed after the correction.
  const checkpoint = textIn(body, "checkpoint");
  const hash = textIn(body, "hash");
  const [row] = await sql`
    select from log_sequence where kind = 'head' and number > ${since}
      and body::jsonb ->> 'checkpoint' = ${checkpoint} and body::jsonb ->> 'hash' = ${hash}
    union all
    select from log_chain where checkpoint = ${checkpoint} and encode(hash, 'hex') = ${hash} limit 1`;
  return row === undefined && BigInt(checkpoint) <= through;
};
