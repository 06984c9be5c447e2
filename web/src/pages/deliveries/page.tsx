/** Signed callbacks: what became of each, the addresses they go to, and sending them again. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Answered, AsOf } from "../../blocks/answered.tsx";
import { Card, Empty, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import {
  attemptText,
  boundedText,
  DELIVERY_CHOICES,
  DeliveryBadge,
  durationText,
  kindText,
  Since,
} from "../../blocks/office.tsx";
import { Older } from "../../blocks/older.tsx";
import { Button } from "../../controls/button.tsx";
import { Choose } from "../../controls/select.tsx";
import { type Delivery, pathWith, readDeliveries, readSummary } from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";
import { OperatorsOnly } from "../../shell/operators-only.tsx";
import { DeliveryPanel } from "./panel.tsx";
import { Receivers, useReceivers } from "./receivers.tsx";
import { SendRange } from "./send-range.tsx";

const TITLE = "Deliveries";
const NEWEST_MS = 3_000;
const OLDER_MS = 30_000;
/** Counts end there. */
const COUNTED = 10_000;

const Page = () => (
  <OperatorsOnly
    title={TITLE}
    shows="what became of every signed callback, where each went, and can send them again"
  >
    <Deliveries />
  </OperatorsOnly>
);

const Deliveries = () => {
  const { state = "", receiver, after, delivery } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [ranging, setRanging] = useState(false);
  const search = (change: Readonly<Record<string, string | undefined>>) =>
    void navigate({ to: "/deliveries", search: (now: object) => ({ ...now, ...change }) });
  // Rows keep their columns while the list is refreshed.
  const columns = useMemo(
    () =>
      columnsOf(
        (id) =>
          void navigate({ to: "/deliveries", search: (now: object) => ({ ...now, delivery: id }) }),
      ),
    [navigate],
  );
  const chosen = DELIVERY_CHOICES.find(({ value }) => value === state)?.value ?? "";
  const list = usePath(
    pathWith("/operator/deliveries", { state: chosen || undefined, receiver, after }),
    readDeliveries,
    { everyMs: after === undefined ? NEWEST_MS : OLDER_MS },
  );
  return (
    <>
      <PageHead
        title={TITLE}
        about="Signed callbacks to those who asked: where each went and what was answered. Contents are hidden."
      >
        <Button aria-expanded={ranging} onClick={() => setRanging(!ranging)}>
          Send a range again
        </Button>
      </PageHead>
      <Counts />
      {ranging ? <SendRange onClose={() => setRanging(false)} /> : null}
      <div className="space-y-4">
        <Receivers />
        <Card
          title="Callbacks"
          about="The newest first"
          flush
          actions={
            <div className="flex flex-wrap gap-2">
              <Choose
                label="State"
                value={chosen}
                choices={DELIVERY_CHOICES}
                onChange={(value) => search({ after: undefined, state: value || undefined })}
              />
              <ReceiverChoice
                receiver={receiver}
                onChange={(value) => search({ after: undefined, receiver: value })}
              />
            </div>
          }
        >
          <Answered of={list} what="The deliveries" lines={6}>
            {({ items, next }) => (
              <>
                <DataTable
                  label="Callbacks, the newest first"
                  columns={columns}
                  rows={items}
                  keyOf={({ id }) => id}
                  empty={
                    chosen === "" && receiver === undefined ? (
                      <Empty title="No callbacks yet">
                        One is made for every result of a request, and for transfers of EVM tokens.
                      </Empty>
                    ) : (
                      <Empty title="No match">No callback has this state and receiver.</Empty>
                    )
                  }
                  onRow={({ id }) => search({ delivery: id })}
                />
                <Older
                  after={after}
                  next={next}
                  what="callbacks"
                  onPage={(to) => search({ after: to })}
                />
              </>
            )}
          </Answered>
        </Card>
      </div>
      <DeliveryPanel id={delivery} onClose={() => search({ delivery: undefined })} />
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
  const { deliveries, receivers } = data;
  const closed = receivers.disabled + receivers.withdrawn;
  return (
    <div className="mb-4">
      <AsOf of={asked} />
      <Figures>
        <Figure
          label="On their way"
          value={boundedText(deliveries.pending, COUNTED)}
          about={
            deliveries.oldestPendingAtMs === null ? (
              "nothing waits"
            ) : (
              <>
                the oldest from <Since ms={deliveries.oldestPendingAtMs} />
              </>
            )
          }
        />
        <Figure
          label="Given up"
          value={boundedText(deliveries.failed, COUNTED)}
          about="in the last 24 hours"
          tone={deliveries.failed > 0 ? "bad" : "plain"}
        />
        <Figure
          label="Not sent: endpoint disabled"
          value={boundedText(deliveries.disabled, COUNTED)}
          about="in the last 24 hours"
          tone={deliveries.disabled > 0 ? "bad" : "plain"}
        />
        <Figure
          label="Receivers failing"
          value={receivers.failing}
          about={`${receivers.open} open${closed === 0 ? "" : `, ${closed} closed`}`}
          tone={receivers.failing > 0 ? "warn" : "plain"}
        />
      </Figures>
    </div>
  );
};

const ReceiverChoice = ({
  receiver,
  onChange,
}: {
  readonly receiver: string | undefined;
  readonly onChange: (receiver: string | undefined) => void;
}) => {
  const found = useReceivers().data?.items ?? [];
  const known = found.some(({ id }) => id === receiver);
  return (
    <Choose
      label="Receiver"
      className="max-w-52"
      value={receiver ?? ""}
      choices={[
        { value: "", label: "All receivers" },
        ...found.map(({ id, name, url }) => ({ value: id, label: `${name} · ${url}` })),
        ...(receiver === undefined || known ? [] : [{ value: receiver, label: receiver }]),
      ]}
      onChange={(value) => onChange(value || undefined)}
    />
  );
};

const columnsOf = (open: (id: string) => void): readonly Column<Delivery>[] => [
  {
    id: "enqueued",
    header: "Enqueued",
    cell: ({ createdAtMs }) => <Since ms={createdAtMs} />,
  },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <DeliveryBadge of={state} />,
  },
  {
    id: "what",
    header: "Callback",
    cell: ({ id, type }) => (
      <button
        type="button"
        className="font-medium whitespace-nowrap text-accent hover:underline"
        onClick={() => open(id)}
      >
        {kindText(type)}
      </button>
    ),
  },
  {
    id: "to",
    header: "To",
    wideOnly: true,
    cell: ({ url, receiver }) => (
      <span className="font-mono text-xs whitespace-nowrap" title={receiver}>
        {url}
      </span>
    ),
  },
  {
    id: "attempts",
    header: "Attempts",
    align: "right",
    wideOnly: true,
    cell: ({ attemptCount }) => attemptCount,
  },
  {
    id: "last",
    header: "Newest attempt",
    wideOnly: true,
    className: "w-full max-w-0",
    cell: ({ lastAttempt }) =>
      lastAttempt === null ? (
        <span className="text-muted">none yet</span>
      ) : (
        <span className="block truncate" title={attemptText(lastAttempt)}>
          {attemptText(lastAttempt)}{" "}
          <span className="text-muted">in {durationText(lastAttempt.durationMs)}</span>
        </span>
      ),
  },
];

export default Page;
