/**
 * Corrections of published roots: after a corrected projection, entries of the sequence name the roots that do not
 * hold any more, by whose word, and why. Form and checks: client/root-corrections.ts.
 */
import {
  type CorrectedRoot,
  type CorrectionBody,
  correctionIn,
  MOST_CORRECTED,
} from "../../../client/root-corrections.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { plain } from "./acts.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { appendEntry, chainIdOf, type SequenceEntry } from "./sequence.ts";

/** Who corrects roots, and why: published for ever, other characters than visible ASCII escaped. */
export type CorrectedBy = Pick<CorrectionBody, "by" | "why">;

const KIND_OF = { 1: "corrected1", 2: "corrected" } as const;

/** That the corrected roots are the right ones, in words: nothing in the sequence can show it. */
export const correctionsOnFaith = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ number: bigint; at: string; body: string }[]>`
    select number, at, body from log_sequence
    where kind = 'correction' and body::jsonb ->> 'of' = 'root' order by number`;
  return rows.flatMap(({ number, at, body }) => {
    const correction = correctionIn(JSON.parse(body));
    if (correction === undefined) return [];
    const { coinType, roots, by, why } = correction;
    const checkpoints = [...new Set(roots.map(({ checkpoint }) => checkpoint))].join(", ");
    return `that published roots of ${coinType} at checkpoints ${checkpoints} were wrong: entry ${number}, dated ${at}, corrects them, by ${by}: ${why}`;
  });
};

/** A published root that the register's rows do not give any more. */
export type WrongRoot = CorrectedRoot & { readonly coinType: string };

/**
 * Appends the corrections; the corrected roots are published when somebody next computes them.
 * @param sql of a transaction
 * @returns the entries, each with the roots of one token
 */
export const correctRoots = async (
  sql: Sql,
  key: DeploymentKey,
  wrong: readonly WrongRoot[],
  { by, why }: CorrectedBy,
): Promise<readonly (SequenceEntry & { readonly body: CorrectionBody })[]> => {
  const entries: (SequenceEntry & { readonly body: CorrectionBody })[] = [];
  const chainId = await chainIdOf(sql);
  for (const [coinType, all] of Map.groupBy(wrong, (root) => root.coinType)) {
    for (let at = 0; at < all.length; at += MOST_CORRECTED) {
      const roots = all.slice(at, at + MOST_CORRECTED).map(({ coinType: _, ...root }) => root);
      const who = { by: plain(by, 200), why: plain(why, 1_000) };
      const body: CorrectionBody = { of: "root", chainId, coinType, roots, ...who };
      const entry = await appendEntry(sql, key, "correction", body);
      const kinds = roots.map(({ version }) => KIND_OF[version]);
      // At once: readers wait for the exchange that this is part of.
      await sql`
        insert into coin_entries (kind, coin_type, checkpoint, number)
        select kind, ${coinType}, checkpoint, ${entry.number}
        from unnest(${texts(kinds)}::text[], ${texts(roots.map((one) => one.checkpoint))}::int8[]) as one (kind, checkpoint)`;
      entries.push({ ...entry, body });
    }
  }
  return entries;
};
