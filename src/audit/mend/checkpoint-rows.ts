/** Rows that the log has to have of one checkpoint, by the ledger and by the links stored before it. */
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import type { Row } from "../../database/table-rows.ts";
import type { ReadCheckpoint } from "../../ledger/reading/read.ts";
import { rowOf } from "../../log/append.ts";
import { chainEnd, chainGap, coinEnds, NO_FACTS } from "../../log/chain.ts";
import { hashFacts, inOrder, linkOf, START } from "../../log/chain-hash.ts";
import { totalsBefore } from "../../log/chain-stretch.ts";
import { factBytes } from "../../log/fact.ts";
import { inputEnd, inputLink, inputStretches, inputsOf } from "../../log/input-chain.ts";
import {
  logChain,
  logCheckpoints,
  logCoinChain,
  logFacts,
  logInputChain,
  logInputs,
  logPackages,
} from "../../log/tables.ts";
import { type Change, changesOf, storedRows } from "./rows.ts";

export type MendedCheckpoint = Pick<ReadCheckpoint, "mark" | "facts" | "joined">;

/**
 * Differences between the log and a checkpoint as it was read again. Links follow from those stored before them: mend
 * earlier checkpoints first.
 * @param sql of a transaction without concurrent appends
 */
export const checkpointChanges = async (
  sql: Sql,
  read: MendedCheckpoint,
): Promise<readonly Change[]> => {
  const { sequence } = read.mark;
  const changes: Change[] = [];
  for (const [table, wanted] of await rowsOf(sql, read)) {
    const stored = await storedRows(sql, table, "checkpoint = $1", [sequence]);
    changes.push(...changesOf(table, stored, wanted, () => sequence));
  }
  return changes;
};

const rowsOf = async (
  sql: Sql,
  { mark, facts: read, joined }: MendedCheckpoint,
): Promise<ReadonlyMap<PgTable, readonly Row[]>> => {
  const { sequence: checkpoint, digest, timestampMs } = mark;
  const before = checkpoint - 1n;
  const facts = inOrder(read);
  const rows = new Map<PgTable, readonly Row[]>([
    [logFacts, facts.map(rowOf)],
    [logPackages, joined.map((row) => ({ ...row }))],
  ]);
  const hashed = hashFacts(facts);
  const totals = await totalsBefore(sql, before);
  const bytes = facts.reduce((sum, fact) => sum + factBytes(fact), 0);
  const total = {
    factsTotal: totals.facts + BigInt(facts.length),
    bytesTotal: totals.bytes + BigInt(bytes),
  };
  const has = facts.length > 0;
  rows.set(logCheckpoints, has ? [{ checkpoint, digest, timestampMs, ...total }] : []);
  // The end of a chain that is missing is made from the rows, by `index`.
  const gap = await chainGap(sql);
  const isOpen = gap !== null && gap.of !== "blocks" && checkpoint > gap.after;
  if (!isOpen || gap.of === "coins") {
    const { hash } = await chainEnd(sql, before);
    const link = linkOf(hash, mark, hashed.all.hash);
    rows.set(logChain, has ? [{ checkpoint, facts: facts.length, hash: link }] : []);
  }
  if (!isOpen) {
    const ends = await coinEnds(sql, hashed.coins.keys(), before);
    const links = [...hashed.coins].map(([coinType, own]) => {
      const end = ends.get(coinType) ?? NO_FACTS;
      const sum = end.facts + BigInt(own.facts);
      return { coinType, checkpoint, facts: sum, hash: linkOf(end.hash, mark, own.hash) };
    });
    rows.set(logCoinChain, links);
  }
  const [past, appended] = await inputStretches(sql);
  const stretch = checkpoint < appended.from ? past : appended;
  const isFilled = stretch === appended || checkpoint <= (await inputEnd(sql, stretch)).checkpoint;
  if (isFilled) {
    const inputs = inputsOf(facts);
    const end = await inputEnd(sql, { from: stretch.from, to: checkpoint });
    const link = inputLink(end.checkpoint < stretch.from ? START : end.hash, checkpoint, inputs);
    rows.set(
      logInputs,
      inputs.map(({ objectId: _, ...input }) => input),
    );
    rows.set(logInputChain, inputs.length > 0 ? [{ ...link }] : []);
  }
  return rows;
};
