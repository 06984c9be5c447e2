/** One delivery: its endpoint, its attempts, and sending it again. */
import { Dialog } from "@base-ui/react/dialog";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Fact, Facts, Notice } from "../../blocks/blocks.tsx";
import { attemptText, DeliveryBadge, kindText } from "../../blocks/operator.tsx";
import { TimelineItem } from "../../blocks/timeline.tsx";
import { ActButton } from "../../controls/confirm.tsx";
import { buttonClass } from "../../controls/controls.tsx";
import type { Attempt, Delivery, Redelivery } from "../../data/answers.ts";
import { pauseOf, usePauses } from "../../data/pauses.ts";
import { usePath } from "../../data/queries.ts";
import { keepToken } from "../../data/tokens.ts";
import { CopyButton, LongId } from "../../shown/copied.tsx";
import { CloseIcon } from "../../shown/icons.tsx";
import { durationText } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { Body } from "./body.tsx";

/** A delivery with its attempts and its body, in which integers are exact. */
const useDelivery = (id: string, everyMs?: (delivery: Delivery | undefined) => number) =>
  usePath<Delivery>(pathOf(id), { exact: true, ...(everyMs !== undefined && { everyMs }) });

const pathOf = (id: string): string => `/operator/deliveries/${encodeURIComponent(id)}`;

/** A delivery beside the list, at an address of its own. */
export const DeliveryPanel = ({
  id,
  onClose,
}: {
  readonly id: string | undefined;
  readonly onClose: () => void;
}) => (
  <Dialog.Root
    open={id !== undefined}
    onOpenChange={(open) => {
      if (!open) onClose();
    }}
  >
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <Dialog.Popup className="fixed inset-y-0 right-0 z-50 w-[min(32rem,100vw)] overflow-y-auto border-l border-line bg-surface p-5 shadow-xl">
        {id === undefined ? null : <PanelContent id={id} />}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
);

const PanelContent = ({ id }: { readonly id: string }) => {
  const shown = useDelivery(id).data;
  return (
    <>
      <div className="mb-4 flex items-start justify-between gap-3">
        <div>
          <Dialog.Title className="text-base font-semibold">
            {shown === undefined ? "Callback" : `${kindText(shown.type)} callback`}
          </Dialog.Title>
          <div className="mt-1 flex flex-wrap items-center gap-2 text-sm">
            {shown === undefined ? null : <DeliveryBadge of={shown} />}
            {shown?.requestId == null ? null : (
              <Link
                to="/requests/$id"
                params={{ id: shown.requestId }}
                search={keepToken}
                className="text-accent underline"
              >
                Its request
              </Link>
            )}
            <span className="inline-flex items-center text-xs text-muted">
              Link
              <CopyButton
                text={`${location.origin}/deliveries?delivery=${encodeURIComponent(id)}`}
                what="link to this delivery"
              />
            </span>
          </div>
        </div>
        <Dialog.Close className={buttonClass("quiet")} aria-label="Close">
          <CloseIcon />
        </Dialog.Close>
      </div>
      <DeliveryAttempts id={id} />
    </>
  );
};

/** Intervals of refreshing a delivery in progress and an ended one, milliseconds. */
const OPEN_MS = 2_000;
const ENDED_MS = 20_000;

const isEnded = ({ state }: Delivery): boolean => state !== "pending" && state !== "withdrawn";

const isSuccess = ({ statusCode, error }: Attempt): boolean =>
  error === null && statusCode !== null && statusCode < 300;

export const DeliveryAttempts = ({ id }: { readonly id: string }) => {
  const query = useDelivery(id, (delivery) =>
    delivery !== undefined && isEnded(delivery) ? ENDED_MS : OPEN_MS,
  );
  return (
    <Answered of={query} what="The delivery">
      {(delivery) => <Attempts delivery={delivery} />}
    </Answered>
  );
};

const Attempts = ({ delivery }: { readonly delivery: Delivery }) => {
  const { attempts } = delivery;
  const earlier = delivery.attemptCount - attempts.length;
  return (
    <>
      <Facts className="mb-4">
        <Fact name="To">
          <span className="break-all">{delivery.url}</span>
        </Fact>
        <Fact name="Receiver">
          <LongId text={delivery.receiver} what="receiver" head={16} tail={4} />
        </Fact>
        <Fact name="Message id">
          <LongId text={delivery.id} what="message id" head={11} tail={6} />
        </Fact>
        <Fact name="Enqueued">
          <Moment at={delivery.createdAt} />
        </Fact>
        <Fact name="First success">
          {delivery.deliveredAt === null ? (
            <span className="text-muted">never</span>
          ) : (
            <Moment at={delivery.deliveredAt} />
          )}
        </Fact>
      </Facts>
      <ol aria-label="Attempts">
        {earlier > 0 ? (
          <TimelineItem state="done" title={`${earlier} earlier attempts are not listed`} />
        ) : null}
        {attempts.map((attempt, index) => (
          <TimelineItem
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts are only added at the end
            key={index}
            state={isSuccess(attempt) ? "done" : "failed"}
            title={attemptText(attempt)}
            aside={`took ${durationText(attempt.durationMs)}`}
          >
            <Moment at={attempt.at} />
            {attempt.url !== null && attempt.url !== delivery.url ? (
              <span className="break-all"> · to {attempt.url}</span>
            ) : null}
          </TimelineItem>
        ))}
        <NextAttempt delivery={delivery} />
      </ol>
      <SendAgain delivery={delivery} />
      <Body of={delivery.body} />
    </>
  );
};

const NextAttempt = ({ delivery }: { readonly delivery: Delivery }) => {
  const { state, nextAttemptAt, attemptCount, receiver } = delivery;
  const pause = pauseOf(usePauses().data, { kind: "receiver", name: receiver });
  if (state === "pending" && pause !== undefined) {
    return (
      <TimelineItem state="later" title="On hold: the receiver is paused">
        Since <Moment at={pause.since} /> by {pause.by}
        {pause.reason === null ? "" : `: ${pause.reason}`}. It is sent once the receiver is resumed.
      </TimelineItem>
    );
  }
  if (state === "withdrawn") {
    return (
      <TimelineItem state="later" title="On hold">
        The endpoint was removed from the settings. The callback is sent once it is back.
      </TimelineItem>
    );
  }
  if (state === "failed") {
    return <TimelineItem state="failed" title="Given up after the last attempt" />;
  }
  if (state === "disabled") {
    return <TimelineItem state="failed" title="Given up: the endpoint is disabled" />;
  }
  if (state !== "pending") return null;
  return (
    <TimelineItem
      state="now"
      title={attemptCount === 0 ? "First attempt" : "Next attempt"}
      aside={nextAttemptAt === null ? undefined : <Ago at={nextAttemptAt} />}
    >
      {attemptCount === 0 ? null : "The pause grows with every failed attempt."}
    </TimelineItem>
  );
};

const SendAgain = ({ delivery }: { readonly delivery: Delivery }) => {
  const [sent, setSent] = useState<Redelivery | null>(null);
  const pending = delivery.state === "pending";
  const label = pending ? "Try now" : "Send again";
  return (
    <div className="mt-4 space-y-3">
      {sent === null ? null : (
        <Notice
          tone={sent.outcome === "waiting" ? "warn" : "good"}
          title={sent.outcome === "waiting" ? "On hold" : "Sending"}
        >
          {sent.message}
        </Notice>
      )}
      <ActButton<Redelivery>
        path={`${pathOf(delivery.id)}/redeliver`}
        label={label}
        title={pending ? "Try this callback now?" : "Send this callback again?"}
        action={label}
        onDone={setSent}
      >
        <p>
          The same message goes to <strong className="break-all text-ink">{delivery.url}</strong>{" "}
          with the same message id, so that the receiver can detect a duplicate.
        </p>
        {delivery.state === "disabled" ? (
          <p className="mt-2">The endpoint is disabled; this enables it again.</p>
        ) : null}
      </ActButton>
    </div>
  );
};
