/** Changes labels. A change ends the current version and adds the next; both say who and when. */
import { bigints, booleans, byteas, texts } from "../database/column-arrays.ts";
import type { Sql, Transactor } from "../database/connect.ts";
import type { KeyRing } from "../sealing/key-ring.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { type GivenLabel, type LabelSubject, wordsOf } from "./label.ts";
import { openText, sealText } from "./sealed-text.ts";

/** A label is to be sealed, and this process has no key. Give it the `PII_KEYS` or the `DATA_DIR` of the service. */
export class NoSealingKeyError extends Error {
  override readonly name = "NoSealingKeyError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super(
      "a sealed label needs a key: give this process the PII_KEYS or the DATA_DIR of the transfer agent's service",
    );
  }
}

/** Serialises changes; an arbitrary constant of this project. */
const LABELS_LOCK = 7_310_442_918_027n;

type Stored = {
  readonly id: bigint;
  readonly text: string | null;
  readonly isSealed: boolean;
  readonly keyId: string | null;
  readonly sealed: Uint8Array | null;
};

type Changed = { readonly set: number; readonly unchanged: number };

/** As an array, for `unnest`. */
const subjectsIn = (sql: Sql, subjects: readonly LabelSubject[]) => sql`
  unnest(${texts(subjects.map(({ kind }) => kind))}::text[],
         ${texts(subjects.map(({ coinType }) => coinType))}::text[],
         ${texts(subjects.map(({ subject }) => subject))}::text[])
  with ordinality as given (kind, coin_type, subject, number)`;

const isGiven = (sql: Sql) => sql`
  l.kind = given.kind and l.coin_type = given.coin_type and l.subject = given.subject`;

/**
 * Gives labels, all or none; those that are as given already stay. A text that becomes sealed is erased where it
 * was stored in the clear before.
 * @param given at most one per subject
 * @param by id of the operator's key, or account
 * @throws NoSealingKeyError (stop)
 */
export const setLabels = (
  on: Pick<Transactor, "transaction">,
  keys: KeyRing | undefined,
  given: readonly GivenLabel[],
  by: string,
): Promise<Changed> =>
  on.transaction(async ({ sql }) => {
    if (keys === undefined && given.some(({ isSealed }) => isSealed)) throw new NoSealingKeyError();
    await sql`select pg_advisory_xact_lock(${LABELS_LOCK})`;
    const current = await sql<(Stored & { readonly number: bigint })[]>`
      select given.number, l.id, l.text, l.is_sealed as "isSealed", l.key_id as "keyId", l.sealed
      from ${subjectsIn(sql, given)} join labels l on ${isGiven(sql)} and l.ended_at is null`;
    const before = new Map(current.map(({ number, ...row }) => [Number(number) - 1, row]));
    const changed = given.filter((label, at) => !isSame(keys, before.get(at), label));
    const unchanged = given.length - changed.length;
    if (changed.length === 0) return { set: 0, unchanged };
    await endCurrent(sql, changed, by);
    await eraseTexts(
      sql,
      changed.filter(({ isSealed }) => isSealed),
      "plain",
    );
    await insert(sql, keys, changed, by);
    return { set: changed.length, unchanged };
  });

const isSame = (
  keys: KeyRing | undefined,
  stored: Stored | undefined,
  { text, isSealed }: GivenLabel,
): boolean => {
  if (stored?.isSealed !== isSealed) return false;
  const { id, keyId, sealed } = stored;
  if (keyId === null || sealed === null) return stored.text === text;
  return openText(keys, { id, keyId, sealed }) === text;
};

const endCurrent = async (sql: Sql, subjects: readonly LabelSubject[], by: string) => {
  await sql`
    with ended as (
      update labels l set ended_by = ${by}, ended_at = clock_timestamp()
      from ${subjectsIn(sql, subjects)} where ${isGiven(sql)} and l.ended_at is null
      returning l.id
    )
    delete from label_words where label_id in (select id from ended)`;
};

/** Erases texts of ended versions: the plain ones, or all. */
const eraseTexts = async (sql: Sql, subjects: readonly LabelSubject[], which: "plain" | "all") => {
  if (subjects.length === 0) return;
  await sql`
    update labels l set text = null,
      key_id = case when ${which === "all"} then null else l.key_id end,
      sealed = case when ${which === "all"} then null else l.sealed end,
      mark = case when ${which === "all"} then null else l.mark end
    from ${subjectsIn(sql, subjects)} where ${isGiven(sql)} and l.ended_at is not null`;
};

const insert = async (
  sql: Sql,
  keys: KeyRing | undefined,
  given: readonly GivenLabel[],
  by: string,
) => {
  // Before the rows: a sealed text is bound to its id.
  const ids = await sql<{ id: bigint }[]>`
    select nextval(pg_get_serial_sequence('labels', 'id')) as id
    from generate_series(1, ${given.length}::int4)`;
  const rows = given.map((label, at) => {
    const id = ids[at]?.id ?? 0n;
    const sealed = label.isSealed && keys !== undefined ? sealText(keys, id, label.text) : null;
    return { ...label, id, sealed };
  });
  await sql`
    insert into labels (id, kind, coin_type, subject, is_sealed, text, key_id, sealed, mark, by, at)
    select id, kind, coin_type, subject, is_sealed, text, key_id, sealed, mark, ${by}, clock_timestamp()
    from unnest(
      ${bigints(rows.map(({ id }) => id))}::int8[],
      ${texts(rows.map(({ kind }) => kind))}::text[],
      ${texts(rows.map(({ coinType }) => coinType))}::text[],
      ${texts(rows.map(({ subject }) => subject))}::text[],
      ${booleans(rows.map(({ isSealed }) => isSealed))}::bool[],
      ${texts(rows.map(({ isSealed, text }) => (isSealed ? null : text)))}::text[],
      ${texts(rows.map(({ sealed }) => sealed?.keyId ?? null))}::text[],
      ${byteas(rows.map(({ sealed }) => sealed?.sealed ?? null))}::bytea[],
      ${byteas(rows.map(({ sealed }) => sealed?.mark ?? null))}::bytea[]
    ) as given (id, kind, coin_type, subject, is_sealed, text, key_id, sealed, mark)`;
  const words = rows.flatMap(({ id, isSealed, text }) =>
    isSealed ? [] : wordsOf(text).map((word) => ({ id, word })),
  );
  await sql`
    insert into label_words (word, label_id)
    select * from unnest(${texts(words.map(({ word }) => word))}::text[],
                         ${bigints(words.map(({ id }) => id))}::int8[])`;
};

/** Removes a subject's label in a transaction, and erases all its texts; whether there was one. */
export const eraseLabel = async (sql: Sql, subject: LabelSubject, by: string): Promise<boolean> => {
  await sql`select pg_advisory_xact_lock(${LABELS_LOCK})`;
  const found = await sql`
    select 1 from labels l where l.kind = ${subject.kind} and l.coin_type = ${subject.coinType}
      and l.subject = ${subject.subject} limit 1`;
  await endCurrent(sql, [subject], by);
  await eraseTexts(sql, [subject], "all");
  return found.length > 0;
};

/**
 * Removes a label; false when there is none of this id. Its history stays, without the texts where one of them was
 * sealed or `erase` is set.
 */
export const removeLabel = (
  on: Pick<Transactor, "transaction">,
  { id, by, erase }: { readonly id: bigint; readonly by: string; readonly erase: boolean },
): Promise<boolean> =>
  on.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${LABELS_LOCK})`;
    const [found] = await sql<(LabelSubject & { readonly wasSealed: boolean })[]>`
      select l.kind, l.coin_type as "coinType", l.subject, exists (
        select from labels v where v.kind = l.kind and v.coin_type = l.coin_type
          and v.subject = l.subject and v.is_sealed) as "wasSealed"
      from labels l where l.id = ${id} and l.ended_at is null`;
    if (found === undefined) return false;
    await endCurrent(sql, [found], by);
    if (erase || found.wasSealed) await eraseTexts(sql, [found], "all");
    return true;
  });
