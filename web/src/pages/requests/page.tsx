/** The requests of the transfer agent's callers, and the progress of each. */
import { Link, useNavigate } from "@tanstack/react-router";
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
import type { Receivers, Requests } from "../../data/answers.ts";
import { keepToken } from "../../data/tokens.ts";
import { OperatorsOnly } from "../../shell/sign-in.tsx";
import { durationBetween } from "../../shown/moment.ts";
import { Ago } from "../../shown/shown.tsx";

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
  return (
    <>
      <PageHead
        title="Requests"
        about="What callers asked the transfer agent to do. Investors and their wallets are never named here."
      />
      <Counts>
        {(summary, figure) => (
          <>
            {figure("Open", summary.requests.open, "now")}
            {figure("Failed", summary.requests.failed, "in the last 24 hours", "bad")}
            {figure("Done", summary.requests.succeeded, "in the last 24 hours")}
            {figure("Results being delivered", summary.deliveries.pending, oldestText(summary))}
          </>
        )}
      </Counts>
      <PagedList
        title="Requests"
        label="Requests, newest first"
        path="/operator/requests"
        filters={[STATUS, assetFilter(receivers)]}
        what="requests"
        none="They appear here once a caller has sent a signed request to /api/v1."
        columns={COLUMNS}
        onRow={({ id }) =>
          void navigate({ to: "/requests/$id", params: { id }, search: keepToken })
        }
      />
    </>
  );
};

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

const COLUMNS: readonly Column<Request>[] = [
  { header: "Received", cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { header: "Status", cell: ({ status }) => <RequestBadge of={status} /> },
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
    className: "w-full max-w-0",
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
