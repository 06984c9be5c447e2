/** One delivery: where it goes, what became of each attempt, and sending it again. */
import { useState } from "react";
import { AsOf } from "../../blocks/answered.tsx";
import { Failed, Loading, Notice } from "../../blocks/blocks.tsx";
import { attemptText, durationText, succeeded } from "../../blocks/office.tsx";
import { Timeline, TimelineItem } from "../../blocks/timeline.tsx";
import { Button } from "../../controls/button.tsx";
import { Confirm } from "../../controls/confirm.tsx";
import { useAct } from "../../data/acts.ts";
import { type Delivery, readDelivery, readRedelivery } from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";
import { LongId } from "../../shown/copied.tsx";
import { Ago, Moment } from "../../shown/shown.tsx";

/** Asked again while it is on its way, and afterwards; milliseconds. */
const OPEN_MS = 2_000;
const ENDED_MS = 20_000;

const isEnded = ({ state }: Delivery): boolean => state !== "pending" && state !== "withdrawn";

export const DeliveryAttempts = ({ id }: { readonly id: string }) => {
  const path = `/operator/deliveries/${encodeURIComponent(id)}`;
  const first = usePath(path, readDelivery);
  const asked = usePath(path, readDelivery, {
    everyMs: first.data !== undefined && isEnded(first.data) ? ENDED_MS : OPEN_MS,
  });
  const { data, error } = asked;
  if (data === undefined || data.id !== id) {
    return error === null ? (
      <Loading lines={4} />
    ) : (
      <Failed error={error} what="The delivery" onRetry={() => void asked.refetch()} />
    );
  }
  const left = data.attemptCount - data.attempts.length;
  return (
    <>
      <AsOf of={asked} flush />
      <dl className="mb-4 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
        <dt className="text-muted">To</dt>
        <dd className="break-all">{data.url}</dd>
        <dt className="text-muted">Receiver</dt>
        <dd>
          <LongId text={data.receiver} what="receiver" head={16} tail={4} />
        </dd>
        <dt className="text-muted">Message id</dt>
        <dd>
          <LongId text={data.id} what="message id" head={11} tail={6} />
        </dd>
        <dt className="text-muted">Enqueued</dt>
        <dd>
          <Moment ms={data.createdAtMs} />
        </dd>
      </dl>
      <Timeline label="Attempts">
        {left > 0 ? (
          <TimelineItem state="done" title={`${left} earlier attempts are not listed`} />
        ) : null}
        {data.attempts.map((attempt, index) => (
          <TimelineItem
            // Attempts are only ever added at the end.
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            key={index}
            state={succeeded(attempt) ? "done" : "failed"}
            title={attemptText(attempt)}
            aside={`took ${durationText(attempt.durationMs)}`}
          >
            <Moment ms={attempt.atMs} />
            {attempt.url !== null && attempt.url !== data.url ? (
              <span className="break-all"> · to {attempt.url}</span>
            ) : null}
          </TimelineItem>
        ))}
        <Next delivery={data} />
      </Timeline>
      <Again delivery={data} />
    </>
  );
};

/** What comes behind the attempts there were. */
const Next = ({ delivery }: { readonly delivery: Delivery }) => {
  const { state, nextAttemptAtMs, attemptCount } = delivery;
  if (state === "withdrawn") {
    return (
      <TimelineItem state="later" title="On hold">
        Its address is configured no more. It is sent once it is again.
      </TimelineItem>
    );
  }
  if (state === "failed")
    return <TimelineItem state="failed" title="Given up after the last attempt" />;
  if (state === "disabled") {
    return <TimelineItem state="failed" title="Given up: the receiver wants nothing more" />;
  }
  if (state !== "pending") return null;
  return (
    <TimelineItem
      state="now"
      title={attemptCount === 0 ? "The first attempt" : "The next attempt"}
      aside={nextAttemptAtMs === null ? undefined : <Ago ms={nextAttemptAtMs} />}
    >
      {attemptCount === 0 ? null : "The pause before it grows with every failed one."}
    </TimelineItem>
  );
};

/** Sends it again, after asking. */
const Again = ({ delivery }: { readonly delivery: Delivery }) => {
  const [asking, setAsking] = useState(false);
  const act = useAct(
    `/operator/deliveries/${encodeURIComponent(delivery.id)}/redeliver`,
    readRedelivery,
  );
  const pending = delivery.state === "pending";
  return (
    <div className="mt-4 space-y-3">
      {act.data === undefined ? null : (
        <Notice tone={act.data.outcome === "waiting" ? "warn" : "good"} title="Asked for">
          {act.data.message}
        </Notice>
      )}
      {act.error === null ? null : (
        <Notice tone="bad" title="Not sent again">
          {act.error.message}
        </Notice>
      )}
      <Button onClick={() => setAsking(true)}>{pending ? "Try now" : "Send again"}</Button>
      <Confirm
        open={asking}
        title={pending ? "Try this callback now?" : "Send this callback again?"}
        action={pending ? "Try now" : "Send again"}
        busy={act.isPending}
        onConfirm={() => act.mutate({}, { onSettled: () => setAsking(false) })}
        onClose={() => setAsking(false)}
      >
        <p>
          The same message goes to <strong className="break-all text-ink">{delivery.url}</strong>{" "}
          under the same message id, so that a receiver who has it already can tell.
        </p>
        {delivery.state === "disabled" ? (
          <p className="mt-2">Its address is disabled; this enables it again.</p>
        ) : null}
      </Confirm>
    </div>
  );
};
