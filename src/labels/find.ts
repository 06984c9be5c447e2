/** Finds labels: by the beginnings of their words, sealed ones by their whole text. */
import { byteas, texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { folded, wordsOf } from "./label.ts";
import { COLUMNS, type Label, type LabelKeys, opened, type StoredLabel } from "./read.ts";
import { marksOf } from "./sealed-text.ts";

/** Labels with the longest word whose other words are looked up, and those of them that are compared whole. */
const [MOST_LOOKED_UP, MOST_COMPARED] = [20_000, 500];

const BY_WORD = `
  select ${COLUMNS} from (
    select word, label_id from (
      select word, label_id from label_words where word >= $1 and word < $2
      order by word, label_id limit ${MOST_LOOKED_UP}
    ) as longest where not exists (
      select from unnest($3::text[], $4::text[]) as other (first, behind) where not exists (
        select from label_words o where o.label_id = longest.label_id and o.word >= other.first and o.word < other.behind
      )
    )
    order by word, label_id limit ${MOST_COMPARED}
  ) as w cross join lateral (select * from labels c where c.id = w.label_id limit 1) as l
  where l.ended_at is null
  order by w.word`;

const BY_MARK = `
  select ${COLUMNS} from unnest($1::bytea[]) as given (mark)
  cross join lateral (
    select * from labels c where c.mark = given.mark and c.ended_at is null order by c.id limit $2
  ) as l`;

export type FoundLabel = Label & {
  /** Whether the text is the whole label. */
  readonly isWhole: boolean;
};

/** Sorts behind every word that begins with it. */
const behind = (prefix: string) => `${prefix}\u{10FFFF}`;

/**
 * Labels in which every word of the text begins a word, whatever case and accents: whole matches first. Of a text
 * that very many labels share, some.
 */
export const findLabels = async (
  on: Reads,
  keys: LabelKeys,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly FoundLabel[]> => {
  const words = wordsOf(text);
  const [first, ...others] = words.toSorted((a, b) => b.length - a.length);
  const ring = await keys();
  const [byWord, byMark] = await Promise.all([
    first === undefined
      ? []
      : read<StoredLabel>(on, BY_WORD, [
          first,
          behind(first),
          texts(others),
          texts(others.map(behind)),
        ]),
    ring === undefined ? [] : read<StoredLabel>(on, BY_MARK, [byteas(marksOf(ring, text)), limit]),
  ]);
  const found = await opened(keys, [...byMark, ...byWord]);
  const whole = folded(text);
  const rank = (label: Label): number => {
    const stored = folded(label.text ?? "");
    if (stored === whole) return 0;
    return stored.startsWith(whole) ? 1 : 2;
  };
  return [...new Map(found.map((label) => [label.id, label])).values()]
    .filter((label) => label.isSealed || hasAll(label.text ?? "", others))
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, limit)
    .map((label) => ({ ...label, isWhole: rank(label) === 0 }));
};

const hasAll = (text: string, beginnings: readonly string[]): boolean => {
  const words = wordsOf(text);
  return beginnings.every((beginning) => words.some((word) => word.startsWith(beginning)));
};
