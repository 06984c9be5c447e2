/** Lists: a card with a table, its filters, and its pages. A list of the page is a declaration for one of these. */
import { useSearch } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import { Button, type Choice, Choose } from "../controls/controls.tsx";
import { pathWith } from "../data/ask.ts";
import { ROWS_PER_PAGE, usePath } from "../data/queries.ts";
import { useChangeAddress } from "../data/tokens.ts";
import { LeftIcon, RightIcon } from "../shown/icons.tsx";
import { type Answer, Answered, Failed } from "./answered.tsx";
import { Card, Empty } from "./blocks.tsx";
import { DataTable } from "./data-table.tsx";

type Table<Row extends object> = Omit<ComponentProps<typeof DataTable<Row>>, "rows" | "empty"> & {
  /** Shown without rows. */
  readonly empty?: { readonly title: string; readonly text?: string };
};

/** A query's rows in a card. */
export const ListCard = <Data, Row extends object>({
  title,
  about,
  actions,
  of,
  what,
  lines = 6,
  rows,
  empty,
  foot,
  ...table
}: Table<Row> & {
  readonly title: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly of: Answer<Data>;
  /** The subject of messages: "The requests". */
  readonly what: string;
  readonly lines?: number;
  /** Must return the same array while the rows are the same. */
  readonly rows: (data: Data) => readonly Row[];
  /** Below the table, such as a pager. */
  readonly foot?: (data: Data) => ReactNode;
}) => (
  <Card flush title={title} about={about} actions={actions}>
    <Answered of={of} what={what} lines={lines}>
      {(data) => (
        <>
          <DataTable
            {...table}
            rows={rows(data)}
            empty={empty && <Empty title={empty.title}>{empty.text}</Empty>}
          />
          {foot?.(data)}
        </>
      )}
    </Answered>
  </Card>
);

/** Intervals of refreshing: the newest rows change, older ones hardly do. Milliseconds. */
const NEWEST_MS = 3_000;
const OLDER_MS = 30_000;

export type Filter = {
  /** Of the parameter, in the address of the page and in that of the list. */
  readonly name: string;
  readonly label: string;
  readonly choices: readonly Choice<string>[];
  /** Whether other values are possible, as in a shared link or before the choices are loaded. */
  readonly open?: boolean;
};

const NOTHING = {};

/** A list of operators: filters and cursor are in the page's address, the newest page is kept fresh. */
export const PagedList = <Row extends { readonly id: string }>({
  path,
  filters,
  sought = NOTHING,
  what,
  none,
  title,
  ...table
}: Omit<Table<Row>, "empty" | "keyOf"> & {
  readonly path: string;
  readonly filters: readonly Filter[];
  /** More parameters of the list, which may be personal data: they are sent in a body, to `path` with `/search`. */
  readonly sought?: Readonly<Record<string, string | undefined>>;
  /** What is listed: "requests". */
  readonly what: string;
  /** Why there may be no rows at all. */
  readonly none: string;
  readonly title: string;
}) => {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const change = useChangeAddress();
  const { after } = search;
  const chosen = Object.fromEntries(
    filters.map(({ name, choices, open = false }) => {
      const isKnown = open || choices.some(({ value }) => value === search[name]);
      return [name, isKnown ? search[name] : undefined];
    }),
  );
  const isSought = Object.values(sought).some((value) => value !== undefined);
  const list = usePath<{ readonly items: readonly Row[]; readonly next: string | null }>(
    isSought ? `${path}/search` : pathWith(path, { ...chosen, after }),
    {
      everyMs: after === undefined ? NEWEST_MS : OLDER_MS,
      body: isSought ? { ...chosen, ...sought, after } : undefined,
    },
  );
  const isFiltered = isSought || Object.values(chosen).some((value) => value !== undefined);
  return (
    <ListCard
      title={title}
      about="Newest first"
      actions={
        <div className="flex flex-wrap gap-2">
          {filters.map(({ name, label, choices }) => (
            <Choose
              key={name}
              label={label}
              className="max-w-52"
              value={chosen[name] ?? ""}
              choices={withChosen(choices, chosen[name])}
              onChange={(value) => change({ after: undefined, [name]: value || undefined })}
            />
          ))}
        </div>
      }
      of={list}
      what={`The ${what}`}
      rows={({ items }) => items}
      keyOf={({ id }) => id}
      empty={
        isFiltered
          ? { title: "No match", text: `No ${what} match these filters.` }
          : { title: `No ${what} yet`, text: none }
      }
      foot={({ next }) =>
        after === undefined && next === null ? null : (
          <nav
            aria-label={`More ${what}`}
            className="flex items-center justify-between gap-3 border-t border-line px-4 py-2"
          >
            <Button
              look="quiet"
              disabled={after === undefined}
              onClick={() => change({ after: undefined })}
            >
              <LeftIcon />
              Newest
            </Button>
            {after === undefined ? null : (
              <span className="text-xs text-muted">
                Older {what}: this page stays as it is when new ones arrive.
              </span>
            )}
            <Button
              look="quiet"
              disabled={next === null}
              onClick={() => change({ after: next ?? undefined })}
            >
              Older
              <RightIcon />
            </Button>
          </nav>
        )
      }
      {...table}
    />
  );
};

const withChosen = (
  choices: readonly Choice<string>[],
  chosen: string | undefined,
): readonly Choice<string>[] =>
  chosen === undefined || choices.some(({ value }) => value === chosen)
    ? choices
    : [...choices, { value: chosen, label: chosen }];

/** The rows of `usePages` in a card, with a button that loads the next page below them. */
export const PagesCard = <Row extends object>({
  of: pages,
  rows,
  ...card
}: Omit<
  ComponentProps<typeof ListCard<unknown, Row>>,
  "about" | "of" | "lines" | "rows" | "foot"
> & {
  readonly of: Answer<unknown> & {
    readonly hasNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): unknown;
  };
  /** Must be the same array while the rows are the same. */
  readonly rows: readonly Row[];
}) => {
  const { data, error, hasNextPage, isFetchNextPageError, isFetchingNextPage } = pages;
  const more = () => void pages.fetchNextPage();
  return (
    <ListCard
      {...card}
      about={
        data === undefined ? undefined : `${hasNextPage ? "First" : "All"} ${rows.length} shown`
      }
      of={pages}
      lines={8}
      rows={() => rows}
      foot={() => (
        <>
          {isFetchNextPageError && error !== null ? (
            <Failed error={error} what="The next page" onRetry={more} />
          ) : null}
          {hasNextPage ? (
            <div className="border-t border-line p-3 text-center">
              <Button disabled={isFetchingNextPage} onClick={more}>
                {isFetchingNextPage ? "Loading…" : `Show ${ROWS_PER_PAGE} more`}
              </Button>
            </div>
          ) : null}
        </>
      )}
    />
  );
};
