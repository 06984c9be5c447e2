/** The addresses that callbacks go to, how each is doing, and a test of one. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty, Notice } from "../../blocks/blocks.tsx";
import { boundedText, ReceiverBadge, Since } from "../../blocks/office.tsx";
import { Button } from "../../controls/button.tsx";
import { Confirm } from "../../controls/confirm.tsx";
import { useAct } from "../../data/acts.ts";
import { pathWith, type Receiver, readReceivers, readTestEvent } from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";

const EVERY_MS = 5_000;
/** Counts end there. */
const COUNTED = 1_000;

/** All on the first page of them; a deployment has few. */
export const useReceivers = () =>
  usePath("/operator/receivers?limit=200", readReceivers, { everyMs: EVERY_MS });

export const Receivers = () => {
  const asked = useReceivers();
  return (
    <Card
      title="Receivers"
      about="Addresses that signed callbacks go to; only scheme and host are shown"
      flush
    >
      <Answered of={asked} what="The receivers" lines={3}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty title="No receivers yet">
              Name a callbackUrl in ASSETS_FILE, or give a key one with --callback-url.
            </Empty>
          ) : (
            <ul className="divide-y divide-line border-t border-line">
              {items.map((receiver) => (
                <Row key={receiver.id} receiver={receiver} />
              ))}
              {next === null ? null : <More after={next} />}
            </ul>
          )
        }
      </Answered>
    </Card>
  );
};

/** Those behind the first page, a page at a time. */
const More = ({ after }: { readonly after: string }) => {
  const [open, setOpen] = useState(false);
  const path = pathWith("/operator/receivers", { after, limit: "200" });
  const { data } = usePath(path, readReceivers, { enabled: open });
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
  const { id, kind, name, url, state, reason, sinceMs, failures, pending } = receiver;
  const own = id.split(":").length > 2;
  return (
    <li className="grid grid-cols-1 gap-x-4 gap-y-1 px-4 py-2.5 text-sm sm:grid-cols-[minmax(0,1fr)_auto]">
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-medium">{name}</span>
          <ReceiverBadge of={state} />
          <span className="min-w-0 font-mono text-xs break-all text-muted">{url}</span>
        </div>
        <div className="mt-0.5 text-xs text-muted">
          {kind === "project" ? "Transfer events of the project" : "Results of requests"}
          {own ? ", for keys with an address of their own" : ""}
          {pending > 0 ? ` · ${boundedText(pending, COUNTED)} waiting` : ""}
        </div>
        {state === "open" ? null : (
          <div className="mt-0.5 text-xs">
            {reason === null ? null : <span>{reason}</span>}
            {sinceMs === null ? null : (
              <span className="text-muted">
                {reason === null ? "since " : " · since "}
                <Since ms={sinceMs} />
              </span>
            )}
            {failures > 0 ? (
              <span className="text-muted">
                {" "}
                · {failures} {failures === 1 ? "attempt" : "attempts"} failed in a row
              </span>
            ) : null}
          </div>
        )}
      </div>
      <div className="flex items-start gap-2 sm:justify-end">
        <TestEvent receiver={receiver} />
      </div>
    </li>
  );
};

const TestEvent = ({ receiver }: { readonly receiver: Receiver }) => {
  const [asking, setAsking] = useState(false);
  const navigate = useNavigate();
  const act = useAct(
    `/operator/receivers/${encodeURIComponent(receiver.id)}/test-event`,
    readTestEvent,
  );
  const closed = receiver.state === "disabled" || receiver.state === "withdrawn";
  return (
    <>
      <Button
        disabled={closed}
        title={closed ? "Nothing is sent to it in this state" : undefined}
        aria-label={`Send a test event to ${receiver.name} at ${receiver.url}`}
        onClick={() => setAsking(true)}
      >
        Test event
      </Button>
      <Confirm
        open={asking}
        title={`Send a test event to ${receiver.name}?`}
        action="Send it"
        busy={act.isPending}
        onConfirm={() =>
          act.mutate(
            {},
            {
              onSuccess: ({ deliveryId }) => {
                setAsking(false);
                void navigate({
                  to: "/deliveries",
                  search: (now: object) => ({ ...now, delivery: deliveryId }),
                });
              },
            },
          )
        }
        onClose={() => {
          setAsking(false);
          act.reset();
        }}
      >
        <p>
          One message of type <code>test</code>, signed like every other, goes to{" "}
          <strong className="break-all text-ink">{receiver.url}</strong>. Then you see whether it
          arrived.
        </p>
        {act.error === null ? null : (
          <div className="mt-3">
            <Notice tone="bad" title="Not sent">
              {act.error.message}
            </Notice>
          </div>
        )}
      </Confirm>
    </>
  );
};
