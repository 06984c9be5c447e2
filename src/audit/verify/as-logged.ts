/** What the log keeps of checkpoints that are read again. */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { isOfFramework, type ReadCheckpoint } from "../../ledger/reading/read.ts";
import { guidedBetween } from "../../log/guided.ts";

/**
 * Checkpoints with the facts that the log keeps: of those that were read guided, no metadata of
 * foreign coins.
 * @param read ascending
 */
export const asLogged = async (
  sql: Sql,
  read: readonly ReadCheckpoint[],
): Promise<readonly ReadCheckpoint[]> => {
  const [first, last] = [read[0]?.mark.sequence, read.at(-1)?.mark.sequence];
  if (first === undefined || last === undefined) return read;
  const described = new Set(
    read.flatMap(({ facts }) => facts.filter(isOfFramework).map(({ coinType }) => coinType)),
  );
  if (described.size === 0) return read;
  const guided = await guidedBetween({ sql }, { first, last });
  if (guided.length === 0) return read;
  const own = await sql<{ coinType: string }[]>`
    select coin_type as "coinType" from log_coins
    where is_security and coin_type = any(${texts([...described])}::text[])`;
  const securities = new Set<string | null>(own.map(({ coinType }) => coinType));
  return read.map((one) => {
    const { sequence } = one.mark;
    if (!guided.some((batch) => batch.first <= sequence && batch.last >= sequence)) return one;
    const isKept = (fact: (typeof one.facts)[number]) =>
      !isOfFramework(fact) || securities.has(fact.coinType);
    return { ...one, facts: one.facts.filter(isKept) };
  });
};
