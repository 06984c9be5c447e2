/** The receivers of callbacks: the state of each, and a test event. */
import { useState } from "react";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { boundedText, ReceiverBadge, useReceivers } from "../../blocks/operator.tsx";
import { PauseButton } from "../../blocks/pauses.tsx";
import { ActButton } from "../../controls/confirm.tsx";
import { Button } from "../../controls/controls.tsx";
import type { Receiver, Receivers, TestEvent } from "../../data/answers.ts";
import { pathWith } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { useChangeAddress } from "../../data/tokens.ts";
import { Ago } from "../../shown/shown.tsx";

/** The service counts no further. */
const COUNTED = 1_000;

export const ReceiverList = () => (
  <LinesCard
    title="Receivers"
    about="Endpoints of signed callbacks; only scheme and host are shown"
    of={useReceivers()}
    what="The receivers"
    lines={3}
    rows={({ items }) => items}
    empty={{
      title: "No receivers yet",
      text: "Set a callbackUrl in ASSETS_FILE, or give a key one with --callback-url.",
    }}
    last={({ next }) => next !== null && <More after={next} />}
  >
    {(receiver) => <Row key={receiver.id} receiver={receiver} />}
  </LinesCard>
);

/** The following pages, one at a time. */
const More = ({ after }: { readonly after: string }) => {
  const [open, setOpen] = useState(false);
  const path = pathWith("/operator/receivers", { after, limit: "200" });
  const { data } = usePath<Receivers>(path, { enabled: open });
  if (!open || data === undefined) {
    return (
      <li className="px-4 py-2">
        <Button look="quiet" disabled={open} onClick={() => setOpen(true)}>
          More receivers
        </Button>
      </li>
    );
  }
  return (
    <>
      {data.items.map((receiver) => (
        <Row key={receiver.id} receiver={receiver} />
      ))}
      {data.next === null ? null : <More after={data.next} />}
    </>
  );
};

const Row = ({ receiver }: { readonly receiver: Receiver }) => {
  const { id, kind, name, url, state, reason, since, failures, pending } = receiver;
  // An endpoint of a key has a digest behind the asset's name.
  const ofKey = id.split(":").length > 2;
  const isClosed = state === "disabled" || state === "withdrawn" || state === "paused";
  const change = useChangeAddress();
  return (
    <li className="grid grid-cols-1 gap-x-4 gap-y-1 px-4 py-2.5 sm:grid-cols-[minmax(0,1fr)_auto]">
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-medium">{name}</span>
          <ReceiverBadge of={state} />
          <span className="min-w-0 font-mono text-xs break-all text-muted">{url}</span>
        </div>
        <div className="mt-0.5 text-xs text-muted">
          {kind === "project" ? "Transfer events of the project" : "Results of requests"}
          {ofKey ? ", for keys with their own endpoint" : ""}
          {pending > 0 ? ` · ${boundedText(pending, COUNTED)} waiting` : ""}
        </div>
        {state === "open" ? null : (
          <div className="mt-0.5 text-xs">
            {reason === null ? null : <span>{reason}</span>}
            {since === null ? null : (
              <span className="text-muted">
                {reason === null ? "since " : " · since "}
                <Ago at={since} />
              </span>
            )}
            {failures > 0 ? (
              <span className="text-muted">
                {" "}
                · {failures} failed {failures === 1 ? "attempt" : "attempts"} in a row
              </span>
            ) : null}
          </div>
        )}
      </div>
      <div className="flex items-start gap-2 sm:justify-end">
        <PauseButton
          of={{ kind: "receiver", name: id }}
          waiting={
            pending === 0
              ? undefined
              : pending === 1
                ? "1 callback is waiting now."
                : `${boundedText(pending, COUNTED)} callbacks are waiting now.`
          }
        />
        <ActButton<TestEvent>
          path={`/operator/receivers/${encodeURIComponent(id)}/test-event`}
          label="Test event"
          ariaLabel={`Send a test event to ${name} at ${url}`}
          disabledWhy={isClosed ? "Nothing is sent to it in this state" : undefined}
          title={`Send a test event to ${name}?`}
          action="Send it"
          onDone={({ deliveryId: delivery }) => change({ delivery })}
        >
          <p>
            One signed message of type <code>test</code> goes to{" "}
            <strong className="break-all text-ink">{url}</strong>. You then see whether it arrives.
          </p>
        </ActButton>
      </div>
    </li>
  );
};
