/** Sealed labels when their keys change or are lost. */
import { bigints, byteas } from "../database/column-arrays.ts";
import type { Sql, Transactor } from "../database/connect.ts";
import type { KeyRing } from "../sealing/key-ring.ts";
import { openText, sealText } from "./sealed-text.ts";

/** Labels resealed per transaction. */
const ROWS_PER_ROTATION = 200;

/**
 * Seals every label with the current key, former versions too, and returns their number. Those whose key is missing
 * stay. Safe to interrupt and repeat.
 * @param begins runs in the first transaction, if any label needs it
 */
export const resealLabels = async (
  on: Pick<Transactor, "transaction">,
  keys: KeyRing,
  begins?: (sql: Sql) => Promise<void>,
): Promise<number> => {
  let resealed = 0;
  for (let after = 0n; ; ) {
    const page = await on.transaction(async ({ sql }) => {
      const rows = await sql<{ id: bigint; keyId: string; sealed: Uint8Array }[]>`
        select id, key_id as "keyId", sealed from labels
        where key_id is not null and key_id <> ${keys.current.id} and id > ${after}
        order by id limit ${ROWS_PER_ROTATION} for update`;
      const renewed = rows.flatMap(({ id, ...row }) => {
        const text = openText(keys, { id, ...row });
        return text === null ? [] : [{ id, ...sealText(keys, id, text) }];
      });
      await sql`
        update labels set key_id = ${keys.current.id}, sealed = renewed.sealed, mark = renewed.mark
        from unnest(
          ${bigints(renewed.map(({ id }) => id))}::int8[],
          ${byteas(renewed.map(({ sealed }) => sealed))}::bytea[],
          ${byteas(renewed.map(({ mark }) => mark))}::bytea[]
        ) as renewed (id, sealed, mark)
        where labels.id = renewed.id`;
      if (renewed.length > 0 && resealed === 0) await begins?.(sql);
      return { rows, renewed: renewed.length };
    });
    resealed += page.renewed;
    after = page.rows.at(-1)?.id ?? after;
    if (page.rows.length < ROWS_PER_ROTATION) return resealed;
  }
};

/** Erases the texts sealed with a lost key, and ends the labels; returns their number. */
export const eraseLabelsSealedWith = async (
  sql: Sql,
  keyId: string,
  by: string,
): Promise<number> => {
  const { count } = await sql`
    update labels set key_id = null, sealed = null, mark = null,
      ended_by = coalesce(ended_by, ${by}), ended_at = coalesce(ended_at, clock_timestamp())
    where key_id = ${keyId}`;
  return count;
};

/** Whether any label is sealed. */
export const hasSealedLabels = async (sql: Sql): Promise<boolean> =>
  (await sql`select 1 from labels where key_id is not null limit 1`).length > 0;
