/** What an answer is shown as: on its way, failed, there, or there and no longer fresh. */
import type { ReactNode } from "react";
import { isRefused } from "../data/queries.ts";
import { useService } from "../data/service.tsx";
import { clockText } from "../shown/moment.ts";
import { Card, Failed, Loading } from "./blocks.tsx";

/** A query, as far as it matters for showing its answer. */
export type Asked<Data> = {
  readonly data: Data | undefined;
  readonly error: Error | null;
  /** Whether it would be another one now; what never changes is not. */
  readonly isStale: boolean;
  /** Milliseconds. */
  readonly dataUpdatedAt: number;
  refetch(): unknown;
};

/**
 * What was answered stays when it cannot be refreshed, and says as of when it is; only what the service refuses
 * takes its place.
 */
export const Answered = <Data,>({
  of: asked,
  what,
  lines = 4,
  card = false,
  waiting,
  children,
}: {
  readonly of: Asked<Data>;
  /** What was asked for: "The cap table". */
  readonly what: string;
  /** As high as it will be. */
  readonly lines?: number;
  /** Whether what stands in its place brings a card of its own, as the answer does. */
  readonly card?: boolean;
  /** Above the lines while it is on its way. */
  readonly waiting?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}) => {
  const { data, error } = asked;
  const inPlace = (shown: ReactNode) => (card ? <Card>{shown}</Card> : shown);
  if (error !== null && (data === undefined || isRefused(error))) {
    return inPlace(<Failed error={error} what={what} onRetry={() => void asked.refetch()} />);
  }
  if (data === undefined) {
    return inPlace(
      <>
        {waiting}
        <Loading lines={lines} />
      </>,
    );
  }
  return (
    <>
      <AsOf of={asked} flush={card} />
      {children(data)}
    </>
  );
};

/** Says of an answer that could not be refreshed when it was true; nothing of a fresh one. */
export const AsOf = ({
  of: { data, error, isStale, dataUpdatedAt },
  flush = false,
}: {
  readonly of: Asked<unknown>;
  /** Beside what it is about, instead of inside its card. */
  readonly flush?: boolean;
}) => {
  const { lost } = useService();
  if (data === undefined || (error === null && !(lost && isStale))) return null;
  return (
    <p role="status" className={`text-xs text-warn ${flush ? "mb-2" : "px-4 py-1.5"}`}>
      As of {clockText(dataUpdatedAt, Date.now())}, not refreshed since
      {error === null || lost ? "" : `: ${error.message}`}
    </p>
  );
};
