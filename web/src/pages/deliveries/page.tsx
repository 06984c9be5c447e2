/** Signed callbacks: the outcome of each, their receivers, and sending them again. */
import { useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { PageHead } from "../../blocks/blocks.tsx";
import type { Column } from "../../blocks/data-table.tsx";
import { PagedList } from "../../blocks/list.tsx";
import {
  attemptText,
  Counts,
  DELIVERY_CHOICES,
  DeliveryBadge,
  kindText,
  oldestText,
  receiverChoices,
  useReceivers,
} from "../../blocks/operator.tsx";
import { PausedNotices } from "../../blocks/pauses.tsx";
import { Button } from "../../controls/controls.tsx";
import type { Deliveries } from "../../data/answers.ts";
import { useChangeAddress } from "../../data/tokens.ts";
import { OperatorsOnly } from "../../shell/sign-in.tsx";
import { durationText } from "../../shown/moment.ts";
import { Ago } from "../../shown/shown.tsx";
import { DeliveryPanel } from "./attempts.tsx";
import { ReceiverList } from "./receivers.tsx";
import { SendRange } from "./send-range.tsx";

type Delivery = Deliveries["items"][number];

const Page = () => (
  <OperatorsOnly
    title="Deliveries"
    shows="the outcome of every signed callback, where each went, and can send them again"
  >
    <DeliveryList />
  </OperatorsOnly>
);

const DeliveryList = () => {
  const { delivery } = useSearch({ strict: false });
  const change = useChangeAddress();
  const [ranging, setRanging] = useState(false);
  const receivers = useReceivers().data;
  const open = useCallback((id: string | undefined) => change({ delivery: id }), [change]);
  const columns = useMemo(() => columnsOf(open), [open]);
  return (
    <>
      <PageHead
        title="Deliveries"
        about="Signed callbacks to callers: where each went, and the answer. What names an investor is sealed."
      >
        <Button aria-expanded={ranging} onClick={() => setRanging(!ranging)}>
          Send a range again
        </Button>
      </PageHead>
      <PausedNotices kinds={["receiver"]} />
      <Counts>
        {(summary, figure) => {
          const { open: opened, failing, disabled, withdrawn, paused } = summary.receivers;
          const others = [
            `${opened} open`,
            paused === 0 ? null : `${paused} paused`,
            disabled + withdrawn === 0 ? null : `${disabled + withdrawn} closed`,
          ];
          return (
            <>
              {figure("In progress", summary.deliveries.pending, oldestText(summary))}
              {figure("Given up", summary.deliveries.failed, "in the last 24 hours", "bad")}
              {figure(
                "Not sent: endpoint disabled",
                summary.deliveries.disabled,
                "in the last 24 hours",
                "bad",
              )}
              {figure(
                "Receivers failing",
                failing,
                others.filter((part) => part !== null).join(", "),
                "warn",
              )}
            </>
          );
        }}
      </Counts>
      {ranging ? <SendRange onClose={() => setRanging(false)} /> : null}
      <div className="space-y-4">
        <ReceiverList />
        <PagedList
          title="Callbacks"
          label="Callbacks, newest first"
          path="/operator/deliveries"
          filters={[
            { name: "state", label: "State", choices: DELIVERY_CHOICES },
            {
              name: "receiver",
              label: "Receiver",
              choices: receiverChoices(receivers),
              open: true,
            },
          ]}
          what="callbacks"
          none="Every result of a request makes one, and so do transfers of EVM tokens."
          columns={columns}
          onRow={({ id }) => open(id)}
        />
      </div>
      <DeliveryPanel id={delivery} onClose={() => open(undefined)} />
    </>
  );
};

const columnsOf = (open: (id: string) => void): readonly Column<Delivery>[] => [
  { header: "Enqueued", cell: ({ createdAt }) => <Ago at={createdAt} /> },
  { header: "State", cell: (delivery) => <DeliveryBadge of={delivery} /> },
  {
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
    header: "To",
    wideOnly: true,
    cell: ({ url, receiver }) => (
      <span className="font-mono text-xs whitespace-nowrap" title={receiver}>
        {url}
      </span>
    ),
  },
  {
    header: "Attempts",
    align: "right",
    wideOnly: true,
    cell: ({ attemptCount }) => attemptCount,
  },
  {
    header: "Last attempt",
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
