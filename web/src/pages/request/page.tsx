/** One request: its status, its steps, its transaction, and the callback to its caller. */
import { Link, useParams } from "@tanstack/react-router";
import { AsOf, Failed, Loading } from "../../blocks/answered.tsx";
import { Card, Empty, Fact, Facts, Notice, PageHead } from "../../blocks/blocks.tsx";
import { DeliveryBadge, kindText, RequestBadge } from "../../blocks/operator.tsx";
import { Timeline, TimelineItem } from "../../blocks/timeline.tsx";
import type { Deliveries, TaRequest } from "../../data/answers.ts";
import { AskError, pathWith } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { keepToken } from "../../data/tokens.ts";
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
  const path = `/operator/requests/${encodeURIComponent(id)}`;
  const first = usePath<TaRequest>(path).data;
  const final = first !== undefined && isFinal(first);
  const query = usePath<TaRequest>(path, { everyMs: final ? FINAL_MS : OPEN_MS });
  const { data, error } = query;
  if (data === undefined || data.id !== id) {
    if (error instanceof AskError && error.status === 404) {
      return (
        <>
          <PageHead title="Request" />
          <Empty title="No request with this id">
            <span className="font-mono text-xs break-all">{id}</span>
            <br />
            <Link to="/requests" search={keepToken} className="text-accent underline">
              Go to all requests
            </Link>
          </Empty>
        </>
      );
    }
    return error === null ? (
      <Loading lines={8} />
    ) : (
      <Failed error={error} what="The request" onRetry={() => void query.refetch()} />
    );
  }
  return (
    <>
      <PageHead
        title={`${kindText(data.kind)} for ${data.asset}`}
        about={
          <span className="inline-flex flex-wrap items-center gap-x-1">
            <Link to="/requests" search={keepToken} className="text-accent hover:underline">
              Requests
            </Link>
            <span aria-hidden="true">/</span>
            <span className="font-mono text-xs break-all">{data.id}</span>
            <CopyButton text={data.id} what="request id" />
          </span>
        }
      >
        <RequestBadge of={data.status} />
      </PageHead>
      <AsOf of={query} flush />
      {data.status === "FAILED" ? (
        <Notice tone="bad" title={data.reason ?? "Failed"}>
          {data.message}
        </Notice>
      ) : data.waitsFor === null ? null : (
        <Notice tone="accent" title="Waiting">
          {data.waitsFor}
        </Notice>
      )}
      <div className="mt-4 grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title="Steps" about="Times in UTC">
          <Steps request={data} />
        </Card>
        <div className="min-w-0 space-y-4">
          <Summary request={data} />
          <Result id={data.id} final={isFinal(data)} />
        </div>
      </div>
    </>
  );
};

const Steps = ({ request }: { readonly request: TaRequest }) => (
  <Timeline label="Steps of the request">
    {request.history.map(({ at, status, message }, index) => (
      <TimelineItem
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only added at the end
        key={index}
        state={status === "FAILED" ? "failed" : "done"}
        title={message}
        aside={<StepTime at={at} before={request.history[index - 1]?.at} />}
      />
    ))}
    {isFinal(request) ? null : (
      <TimelineItem state="now" title={request.waitsFor ?? "The next step"} />
    )}
  </Timeline>
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
          ) : (
            <LongId text={txId} what="transaction" explorer="transaction" head={10} tail={8} />
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
      actions={delivery === undefined ? null : <DeliveryBadge of={delivery.state} />}
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
