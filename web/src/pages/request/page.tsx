/** One request: its status, its steps, its transaction, and the callback to its caller. */

import { Link, useParams } from "@tanstack/react-router";
import { Answered, Failed } from "../../blocks/answered.tsx";
import { Card, Empty, Fact, Facts, Notice, PageHead } from "../../blocks/blocks.tsx";
import { TransactionId } from "../../blocks/columns.tsx";
import { DeliveryBadge, kindText, RequestBadge } from "../../blocks/operator.tsx";
import { PausedNotices } from "../../blocks/pauses.tsx";
import { TimelineItem } from "../../blocks/timeline.tsx";
import type { Deliveries, TaRequest } from "../../data/answers.ts";
import { pathWith } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { keepToken, keepTokenWith } from "../../data/tokens.ts";
import { OperatorsOnly } from "../../shell/sign-in.tsx";
import { CopyButton, LongId } from "../../shown/copied.tsx";
import { durationBetween } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { DeliveryAttempts } from "../deliveries/attempts.tsx";

/** Intervals of refreshing an open and a final request, milliseconds. */
const OPEN_MS = 1_500;
const FINAL_MS = 20_000;

const isFinal = ({ status }: TaRequest): boolean => status === "SUCCESS" || status === "FAILED";

const Page = () => (
  <OperatorsOnly
    title="Request"
    shows="the progress of this request step by step, and the callback to its caller"
  >
    <Request />
  </OperatorsOnly>
);

const Request = () => {
  const { id } = useParams({ from: "/requests/$id" });
  const query = usePath<TaRequest>(`/operator/requests/${encodeURIComponent(id)}`, {
    everyMs: (request) => (request !== undefined && isFinal(request) ? FINAL_MS : OPEN_MS),
  });
  return (
    <Answered of={query} what="The request" lines={8} card missing={<Missing id={id} />}>
      {(request) => <Shown request={request} />}
    </Answered>
  );
};

const Missing = ({ id }: { readonly id: string }) => (
  <Empty title="No request with this id">
    <span className="font-mono text-xs break-all">{id}</span>
    <br />
    <Link to="/requests" search={keepToken} className="text-accent underline">
      Go to all requests
    </Link>
  </Empty>
);

const Shown = ({ request }: { readonly request: TaRequest }) => {
  const { id, kind, asset, outcome, reason, message, waitsFor } = request;
  return (
    <>
      <PageHead
        title={`${kindText(kind)} for ${asset}`}
        about={
          <span className="inline-flex flex-wrap items-center gap-x-1">
            <Link to="/requests" search={keepToken} className="text-accent hover:underline">
              Requests
            </Link>
            <span aria-hidden="true">/</span>
            <span className="font-mono text-xs break-all">{id}</span>
            <CopyButton text={id} what="request id" />
          </span>
        }
      >
        <RequestBadge of={request} />
      </PageHead>
      {outcome === null ? <PausedNotices kinds={["asset"]} name={asset} /> : null}
      {outcome === "already_done" ? (
        <Notice tone="good" title="Already whitelisted">
          The wallet was whitelisted before this request: nothing was to do. The caller gets the
          reason <code>{reason}</code>, which is no failure.
        </Notice>
      ) : outcome === "done_undelivered" ? (
        <Notice tone="warn" title="Done, result not delivered">
          What was asked is done. Its callback was given up: send it again below, once the receiver
          answers.
        </Notice>
      ) : outcome === "failed" ? (
        <Notice tone="bad" title={reason ?? "Failed"}>
          {message}
        </Notice>
      ) : waitsFor === null ? null : (
        <Notice tone="accent" title="Waiting">
          {waitsFor}
        </Notice>
      )}
      <div className="mt-4 grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title="Steps" about="Times in UTC">
          <Steps request={request} />
        </Card>
        <div className="min-w-0 space-y-4">
          <Summary request={request} />
          <Result id={id} final={isFinal(request)} />
        </div>
      </div>
    </>
  );
};

const Steps = ({ request }: { readonly request: TaRequest }) => (
  <ol aria-label="Steps of the request">
    {request.history.map(({ at, status, message }, index) => (
      <TimelineItem
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only added at the end
        key={index}
        state={status === "FAILED" && request.outcome !== "already_done" ? "failed" : "done"}
        title={message}
        aside={<StepTime at={at} before={request.history[index - 1]?.at} />}
      />
    ))}
    {isFinal(request) ? null : (
      <TimelineItem state="now" title={request.waitsFor ?? "The next step"} />
    )}
  </ol>
);

/** To the millisecond, with the time since the step before; with its day where that changes. */
const StepTime = ({ at, before }: { readonly at: string; readonly before: string | undefined }) => (
  <time className="figures whitespace-nowrap" dateTime={at}>
    {before === undefined || at <= before ? null : `+${durationBetween(before, at)} · `}
    {before?.slice(0, 10) === at.slice(0, 10) ? null : `${at.slice(0, 10)} `}
    {at.slice(11, 23)}
  </time>
);

const Summary = ({ request }: { readonly request: TaRequest }) => {
  const { createdAt, updatedAt, asset, txId } = request;
  const final = isFinal(request);
  return (
    <Card title="Summary">
      <Facts>
        <Fact name="Received">
          <Moment at={createdAt} />
        </Fact>
        {final ? (
          <Fact name="Final">after {durationBetween(createdAt, updatedAt)}</Fact>
        ) : (
          <Fact name="Latest step">
            <Ago at={updatedAt} />
          </Fact>
        )}
        <Fact name="Asset">{asset}</Fact>
        <Fact name="Transaction">
          {txId === null ? (
            <span className="text-muted">{final ? "none" : "none yet"}</span>
          ) : txId.startsWith("0x") ? (
            <LongId text={txId} what="transaction" explorer="transaction" head={10} tail={8} />
          ) : (
            <TransactionId digest={txId} />
          )}
        </Fact>
      </Facts>
    </Card>
  );
};

const Result = ({ id, final }: { readonly id: string; readonly final: boolean }) => {
  const query = usePath<Deliveries>(pathWith("/operator/deliveries", { requestId: id }), {
    everyMs: final ? OPEN_MS * 2 : FINAL_MS,
  });
  const delivery = query.data?.items[0];
  return (
    <Card
      title="Callback to the caller"
      actions={
        delivery === undefined ? null : (
          <span className="inline-flex flex-wrap items-center gap-2">
            <DeliveryBadge of={delivery} />
            <Link
              to="/deliveries"
              search={keepTokenWith({ delivery: delivery.id })}
              className="text-xs text-accent underline"
            >
              Show in Deliveries
            </Link>
          </span>
        )
      }
    >
      {delivery !== undefined ? (
        <DeliveryAttempts id={delivery.id} />
      ) : query.error !== null ? (
        <Failed error={query.error} what="The delivery" onRetry={() => void query.refetch()} />
      ) : (
        <p className="text-sm text-muted">
          {final
            ? "No callback was made for this request."
            : "A signed callback is sent once the request is final."}
        </p>
      )}
    </Card>
  );
};

export default Page;
