/** Lists of lines; apart from tables, which Today, the first view, does not load. */
import type { ReactNode } from "react";
import { type Answer, Answered } from "./answered.tsx";
import { Card, Empty, Lines } from "./blocks.tsx";

/** A query's rows as lines in a card. */
export const LinesCard = <Data, Row>({
  of,
  what,
  lines = 4,
  rows,
  empty,
  last,
  children,
  ...card
}: {
  readonly title: string;
  readonly about: string;
  readonly actions?: ReactNode;
  readonly of: Answer<Data>;
  /** The subject of messages: "The keys". */
  readonly what: string;
  readonly lines?: number;
  readonly rows: (data: Data) => readonly Row[];
  /** Shown without rows. */
  readonly empty: { readonly title: string; readonly text?: string };
  /** Below the last line. */
  readonly last?: (data: Data) => ReactNode;
  readonly children: (row: Row) => ReactNode;
}) => (
  <Card flush {...card}>
    <Answered of={of} what={what} lines={lines}>
      {(data) =>
        rows(data).length === 0 ? (
          <Empty title={empty.title}>{empty.text}</Empty>
        ) : (
          <Lines>
            {rows(data).map(children)}
            {last?.(data)}
          </Lines>
        )
      }
    </Answered>
  </Card>
);
