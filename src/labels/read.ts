/** Reads labels, each by an index. */
import { bigints, texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { type Reads, read } from "../database/readers.ts";
import type { KeyRing } from "../sealing/key-ring.ts";
import type { LabelSubject } from "./label.ts";
import { openText } from "./sealed-text.ts";

/** The keys of sealed labels; undefined in a process without them, where such labels have no text. */
export type LabelKeys = () => Promise<KeyRing | undefined>;

export type Label = LabelSubject & {
  readonly id: bigint;
  /** Null when it is sealed and this process lacks its key. */
  readonly text: string | null;
  readonly isSealed: boolean;
  /** Id of the operator's key, or account. */
  readonly by: string;
  /** ISO 8601, UTC. */
  readonly at: string;
};

/** A row of `labels`. */
export type StoredLabel = Omit<Label, "text"> & {
  readonly text: string | null;
  readonly keyId: string | null;
  readonly sealed: Uint8Array | null;
};

const AT = `to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Of a label `l`. */
export const COLUMNS = `
  l.id, l.kind, l.coin_type as "coinType", l.subject, l.text, l.is_sealed as "isSealed",
  l.key_id as "keyId", l.sealed, l.by, ${AT} as at`;

/** Opens sealed texts. */
export const opened = async (
  keys: LabelKeys,
  rows: readonly StoredLabel[],
): Promise<readonly Label[]> => {
  // Only then are keys needed.
  const ring = rows.some(({ isSealed }) => isSealed) ? await keys() : undefined;
  return rows.map(({ keyId, sealed, ...row }) => ({
    ...row,
    text: keyId === null || sealed === null ? row.text : openText(ring, { ...row, keyId, sealed }),
  }));
};

/** Identifies a subject in a map. */
export const subjectName = ({ kind, coinType, subject }: LabelSubject): string =>
  `${kind} ${coinType} ${subject}`;

// A limit per subject keeps to the index, whatever the statistics are.
const OF_SUBJECTS = `
  select ${COLUMNS}
  from unnest($1::text[], $2::text[], $3::text[]) as asked (kind, coin_type, subject)
  cross join lateral (
    select * from labels c where c.kind = asked.kind and c.coin_type = asked.coin_type
      and c.subject = asked.subject and c.ended_at is null limit 1
  ) as l`;

/** Labels of these subjects by `subjectName`; those without one are left out. */
export const labelsOf = async (
  on: Reads,
  keys: LabelKeys,
  subjects: readonly LabelSubject[],
): Promise<ReadonlyMap<string, Label>> => {
  if (subjects.length === 0) return new Map();
  const rows = await read<StoredLabel>(on, OF_SUBJECTS, [
    texts(subjects.map(({ kind }) => kind)),
    texts(subjects.map(({ coinType }) => coinType)),
    texts(subjects.map(({ subject }) => subject)),
  ]);
  return new Map((await opened(keys, rows)).map((label) => [subjectName(label), label]));
};

const pageOf = (condition: string) => `
  (select ${COLUMNS} from labels l where l.ended_at is null and ${condition} and l.id > $1
   order by l.id limit $2)`;

const ALL = pageOf("true");
const OF_COIN = `
  select * from (${pageOf("l.coin_type = $3")} union all ${pageOf("l.coin_type = ''")}) as page
  order by id limit $2`;

export type LabelPage = {
  /** Canonical: the labels of this coin and of wallets; all unless given. */
  readonly coinType?: string | undefined;
  /** Id of the last label seen. */
  readonly after?: bigint | undefined;
  readonly limit: number;
};

/** By id, ascending. */
export const listLabels = async (
  on: Reads,
  keys: LabelKeys,
  { coinType, after = 0n, limit }: LabelPage,
): Promise<readonly Label[]> => {
  const rows =
    coinType === undefined
      ? await read<StoredLabel>(on, ALL, [after, limit])
      : await read<StoredLabel>(on, OF_COIN, [after, limit, coinType]);
  return opened(keys, rows);
};

/** The current label of this id; undefined without one. */
export const labelById = async (
  on: Reads,
  keys: LabelKeys,
  id: bigint,
): Promise<Label | undefined> => {
  const rows = await read<StoredLabel>(
    on,
    `select ${COLUMNS} from labels l where l.id = any($1::int8[]) and l.ended_at is null`,
    [bigints([id])],
  );
  return (await opened(keys, rows))[0];
};

export type LabelVersion = Pick<Label, "text" | "isSealed" | "by" | "at"> & {
  readonly endedBy: string | null;
  /** ISO 8601, UTC; null for the current version. */
  readonly endedAt: string | null;
};

/** Versions shown of one label. */
const MOST_VERSIONS = 100;

/** Versions of a subject's label, newest first, at most a hundred; texts that were erased are null. */
export const labelHistory = async (
  sql: Sql,
  keys: LabelKeys,
  { kind, coinType, subject }: LabelSubject,
): Promise<readonly LabelVersion[]> => {
  const rows = await sql<(StoredLabel & Pick<LabelVersion, "endedBy" | "endedAt">)[]>`
    select ${sql.unsafe(COLUMNS)}, l.ended_by as "endedBy", ${isoTime(sql, "ended_at")} as "endedAt"
    from labels l
    where l.kind = ${kind} and l.coin_type = ${coinType} and l.subject = ${subject}
    order by l.id desc limit ${MOST_VERSIONS}`;
  const versions = await opened(keys, rows);
  return versions.map(({ text, isSealed, by, at }, place) => ({
    text,
    isSealed,
    by,
    at,
    endedBy: rows[place]?.endedBy ?? null,
    endedAt: rows[place]?.endedAt ?? null,
  }));
};

/** A holder with its wallets, or a wallet without one, as a cap table has it. */
type Row = {
  readonly holderId: bigint | null;
  readonly wallets: readonly { readonly address: string }[];
};

/** What names a row: its holder, or its wallet where it has none. */
export const rowSubject = (coinType: string, { holderId, wallets: [wallet] }: Row): LabelSubject =>
  holderId === null
    ? { kind: "WALLET", coinType: "", subject: wallet?.address ?? "" }
    : { kind: "HOLDER", coinType, subject: `${holderId}` };

/** Labels of rows, in order; empty for a row without one. */
export const rowLabels = async (
  on: Reads,
  keys: LabelKeys,
  coinType: string,
  rows: readonly Row[],
): Promise<readonly string[]> => {
  const subjects = rows.map((row) => rowSubject(coinType, row));
  const found = await labelsOf(on, keys, subjects);
  return subjects.map((subject) => found.get(subjectName(subject))?.text ?? "");
};

/** A key of sealed texts that is not among a process's keys, with the number of texts. */
export type LostLabelKey = { readonly keyId: string; readonly labels: number };

/** Opens one text of each key; reads all labels, so it is for checks alone. */
export const lostLabelKeys = async (
  { sql }: { readonly sql: Sql },
  keys: LabelKeys,
): Promise<readonly LostLabelKey[]> => {
  const found = await sql<{ id: bigint; keyId: string; sealed: Uint8Array; labels: number }[]>`
    select distinct on (key_id) id, key_id as "keyId", sealed,
           (count(*) over (partition by key_id))::int4 as labels
    from labels where sealed is not null and key_id is not null order by key_id, id`;
  if (found.length === 0) return [];
  const ring = await keys();
  return found.flatMap(({ labels, ...text }) =>
    openText(ring, text) === null ? [{ keyId: text.keyId, labels }] : [],
  );
};
