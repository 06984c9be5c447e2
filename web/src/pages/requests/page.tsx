/** What callers asked the transfer agent to do, and how far each is. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Answered, AsOf } from "../../blocks/answered.tsx";
import { Card, Empty, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import {
  boundedText,
  durationText,
  kindText,
  REQUEST_CHOICES,
  RequestBadge,
  Since,
} from "../../blocks/office.tsx";
import { Older } from "../../blocks/older.tsx";
import { Choose } from "../../controls/select.tsx";
import { keepToken } from "../../data/here.ts";
import {
  pathWith,
  readReceivers,
  readRequests,
  readSummary,
  type TaRequest,
} from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";
import { OperatorsOnly } from "../../shell/operators-only.tsx";
import { LongId } from "../../shown/copied.tsx";

const TITLE = "Requests";
/** The newest are looked at while they change; older ones hardly do. Milliseconds. */
const NEWEST_MS = 3_000;
const OLDER_MS = 30_000;
/** Counts end there. */
const COUNTED = 10_000;

const Page = () => (
  <OperatorsOnly
    title={TITLE}
    shows="what callers asked the transfer agent to do, how far each request is, and what it waits for"
  >
    <Requests />
  </OperatorsOnly>
);

const Requests = () => {
  const { status = "", asset, after } = useSearch({ strict: false });
  const navigate = useNavigate();
  const search = (change: Readonly<Record<string, string | undefined>>) =>
    void navigate({
      to: "/requests",
      search: (now: object) => ({ ...now, after: undefined, ...change }),
    });
  const chosen = REQUEST_CHOICES.find(({ value }) => value === status)?.value ?? "";
  const list = usePath(
    pathWith("/operator/requests", { status: chosen || undefined, asset, after }),
    readRequests,
    { everyMs: after === undefined ? NEWEST_MS : OLDER_MS },
  );
  return (
    <>
      <PageHead
        title={TITLE}
        about="What callers asked the transfer agent to do. Neither investors nor their wallets are named here."
      >
        <Choose
          label="Status"
          value={chosen}
          choices={REQUEST_CHOICES}
          onChange={(value) => search({ status: value || undefined })}
        />
        <AssetChoice asset={asset} onChange={(value) => search({ asset: value })} />
      </PageHead>
      <Counts />
      <Card flush>
        <Answered of={list} what="The requests" lines={8}>
          {({ items, next }) => (
            <div className="overflow-hidden rounded-xl">
              <DataTable
                label="Requests, the newest first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ id }) => id}
                empty={
                  chosen === "" && asset === undefined ? (
                    <Empty title="No requests yet">
                      They appear here as soon as a caller has sent a signed one to /api/v1.
                    </Empty>
                  ) : (
                    <Empty title="No match">No request has this status and asset.</Empty>
                  )
                }
                onRow={({ id }) =>
                  void navigate({ to: "/requests/$id", params: { id }, search: keepToken })
                }
              />
              <Older
                after={after}
                next={next}
                what="requests"
                onPage={(to) => search({ after: to })}
              />
            </div>
          )}
        </Answered>
      </Card>
    </>
  );
};

const Counts = () => {
  const asked = usePath("/operator/summary", readSummary, { everyMs: NEWEST_MS });
  const { data, error } = asked;
  if (data === undefined) {
    return error === null ? null : (
      <p role="status" className="mb-4 text-xs text-warn">
        The counts could not be read: {error.message}
      </p>
    );
  }
  const { requests, deliveries } = data;
  return (
    <div className="mb-4">
      <AsOf of={asked} />
      <Figures>
        <Figure label="Not final yet" value={boundedText(requests.open, COUNTED)} about="now" />
        <Figure
          label="Failed"
          value={boundedText(requests.failed, COUNTED)}
          about="in the last 24 hours"
          tone={requests.failed > 0 ? "bad" : "plain"}
        />
        <Figure
          label="Done"
          value={boundedText(requests.succeeded, COUNTED)}
          about="in the last 24 hours"
        />
        <Figure
          label="Results on their way"
          value={boundedText(deliveries.pending, COUNTED)}
          about={
            deliveries.oldestPendingAtMs === null ? (
              "all were delivered or given up"
            ) : (
              <>
                the oldest from <Since ms={deliveries.oldestPendingAtMs} />
              </>
            )
          }
        />
      </Figures>
    </div>
  );
};

/** Assets as the addresses of results name them; a shared link may name another. */
const AssetChoice = ({
  asset,
  onChange,
}: {
  readonly asset: string | undefined;
  readonly onChange: (asset: string | undefined) => void;
}) => {
  const receivers = usePath("/operator/receivers?limit=200", readReceivers).data?.items ?? [];
  const names = new Set(receivers.filter(({ kind }) => kind === "asset").map(({ name }) => name));
  if (asset !== undefined) names.add(asset);
  if (names.size < 2) return null;
  return (
    <Choose
      label="Asset"
      value={asset ?? ""}
      choices={[
        { value: "", label: "All assets" },
        ...[...names].sort().map((name) => ({ value: name, label: name })),
      ]}
      onChange={(value) => onChange(value || undefined)}
    />
  );
};

/** What it says now: what it waits for, or what was done, or why not. */
const saying = ({ waitsFor, message }: TaRequest): string => waitsFor ?? message;

const COLUMNS: readonly Column<TaRequest>[] = [
  {
    id: "received",
    header: "Received",
    cell: ({ createdAtMs }) => <Since ms={createdAtMs} />,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <RequestBadge of={status} />,
  },
  {
    id: "asked",
    header: "Asked for",
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
    id: "said",
    header: "What it says",
    wideOnly: true,
    className: "w-full max-w-0",
    cell: (one) => (
      <span className="block truncate text-muted" title={saying(one)}>
        {saying(one)}
      </span>
    ),
  },
  {
    id: "took",
    header: "Took",
    align: "right",
    wideOnly: true,
    cell: ({ status, createdAtMs, updatedAtMs }) =>
      status === "SUCCESS" || status === "FAILED" ? (
        <span className="whitespace-nowrap">{durationText(updatedAtMs - createdAtMs)}</span>
      ) : (
        <span className="text-muted">–</span>
      ),
  },
  {
    id: "transaction",
    header: "Transaction",
    wideOnly: true,
    cell: ({ txId }) =>
      txId === null ? (
        <span className="text-muted">none</span>
      ) : (
        <LongId text={txId} what="transaction" explorer="transaction" />
      ),
  },
];

export default Page;
