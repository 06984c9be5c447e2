/** The requests of the transfer agent's callers, and the progress of each. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { PageHead } from "../../blocks/blocks.tsx";
import { transactionColumn } from "../../blocks/columns.tsx";
import type { Column } from "../../blocks/data-table.tsx";
import { type Filter, PagedList } from "../../blocks/list.tsx";
import {
  Counts,
  kindText,
  oldestText,
  REQUEST_CHOICES,
  RequestBadge,
  useReceivers,
} from "../../blocks/operator.tsx";
import { PausedBadge, PausedNotices } from "../../blocks/pauses.tsx";
import type { Pauses, Receivers, Requests } from "../../data/answers.ts";
import { pauseOf, usePauses } from "../../data/pauses.ts";
import { keepToken } from "../../data/tokens.ts";
import { OperatorsOnly } from "../../shell/sign-in.tsx";
import { countText } from "../../shown/amount.ts";
import { durationBetween } from "../../shown/moment.ts";
import { Ago } from "../../shown/shown.tsx";
import { Assets } from "./assets.tsx";
import { FiguresByDay } from "./figures.tsx";
import { FindRequests, useSought } from "./find.tsx";

type Request = Requests["items"][number];

const Page = () => (
  <OperatorsOnly
    title="Requests"
    shows="what callers asked the transfer agent to do, the progress of each request, and what it waits for"
  >
    <RequestList />
  </OperatorsOnly>
);

const RequestList = () => {
  const navigate = useNavigate();
  const receivers = useReceivers().data;
  const pauses = usePauses().data;
  const columns = useMemo(() => columnsOf(pauses), [pauses]);
  return (
    <>
      <PageHead
        title="Requests"
        about="What callers asked the transfer agent to do. Investors and their wallets are never named here."
      />
      <PausedNotices kinds={["asset"]} />
      <Counts>
        {(summary, figure) => {
          const { open, failed, succeeded, alreadyDone, undelivered } = summary.requests;
          const done = succeeded + alreadyDone + undelivered;
          return (
            <>
              {figure("Open", open, "now")}
              {figure("Failed", failed - alreadyDone - undelivered, "in the last 24 hours", "bad")}
              {figure("Done", done, doneText({ alreadyDone, undelivered }))}
              {figure("Results being delivered", summary.deliveries.pending, oldestText(summary))}
            </>
          );
        }}
      </Counts>
      <FindRequests />
      <div className="space-y-4">
        <PagedList
          title="Requests"
          label="Requests, newest first"
          path="/operator/requests"
          filters={[STATUS, assetFilter(receivers)]}
          sought={useSought()}
          what="requests"
          none="They appear here once a caller has sent a signed request to /api/v1."
          columns={columns}
          onRow={({ id }) =>
            void navigate({ to: "/requests/$id", params: { id }, search: keepToken })
          }
        />
        <FiguresByDay />
        <Assets />
      </div>
    </>
  );
};

/** What is among those that are done. */
const doneText = (among: { readonly alreadyDone: number; readonly undelivered: number }): string =>
  [
    "in the last 24 hours",
    among.alreadyDone === 0 ? null : `${countText(among.alreadyDone)} already whitelisted`,
    among.undelivered === 0 ? null : `${countText(among.undelivered)} not delivered`,
  ]
    .filter((part) => part !== null)
    .join(", ");

const STATUS: Filter = { name: "status", label: "Status", choices: REQUEST_CHOICES };

/** The assets that have receivers of results. */
const assetFilter = (receivers: Receivers | undefined): Filter => {
  const assets = (receivers?.items ?? []).filter(({ kind }) => kind === "asset");
  const names = [...new Set(assets.map(({ name }) => name))].sort();
  return {
    name: "asset",
    label: "Asset",
    open: true,
    choices: [
      { value: "", label: "All assets" },
      ...names.map((name) => ({ value: name, label: name })),
    ],
  };
};

const statusText = ({ waitsFor, message }: Request): string => waitsFor ?? message;

const columnsOf = (pauses: Pauses | undefined): readonly Column<Request>[] => [
  { header: "Received", cell: ({ createdAt }) => <Ago at={createdAt} /> },
  {
    header: "Status",
    cell: (request) => (
      <span className="inline-flex gap-1">
        <RequestBadge of={request} />
        {request.outcome === null ? (
          <PausedBadge since={pauseOf(pauses, { kind: "asset", name: request.asset })?.since} />
        ) : null}
      </span>
    ),
  },
  {
    header: "Request",
    cell: ({ id, kind, asset }) => (
      <Link
        to="/requests/$id"
        params={{ id }}
        search={keepToken}
        className="whitespace-nowrap hover:underline"
      >
        <span className="font-medium text-accent">{kindText(kind)}</span>{" "}
        <span className="text-muted">{asset}</span>
      </Link>
    ),
  },
  {
    header: "Latest step",
    wideOnly: true,
    className: "w-full min-w-32 max-w-0",
    cell: (request) => (
      <span className="block truncate text-muted" title={statusText(request)}>
        {statusText(request)}
      </span>
    ),
  },
  {
    header: "Duration",
    align: "right",
    wideOnly: true,
    cell: ({ status, createdAt, updatedAt }) =>
      status === "SUCCESS" || status === "FAILED" ? durationBetween(createdAt, updatedAt) : null,
  },
  transactionColumn(({ txId }) => txId),
];

export default Page;
