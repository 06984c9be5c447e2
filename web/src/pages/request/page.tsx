/** One request: what it says now, its steps, its transaction, and what was sent to its caller. */
import { Link, useParams } from "@tanstack/react-router";
import { AsOf } from "../../blocks/answered.tsx";
import { Card, Empty, Failed, Loading, Notice, PageHead } from "../../blocks/blocks.tsx";
import { DeliveryBadge, durationText, kindText, RequestBadge } from "../../blocks/office.tsx";
import { type Happened, Timeline, TimelineItem } from "../../blocks/timeline.tsx";
import { AskError } from "../../data/ask.ts";
import { useTokenSearch } from "../../data/here.ts";
import {
  pathWith,
  type RequestStep,
  readDeliveries,
  readRequest,
  type TaRequest,
} from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";
import { OperatorsOnly } from "../../shell/operators-only.tsx";
import { CopyButton, LongId } from "../../shown/copied.tsx";
import { dayText } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { DeliveryAttempts } from "../deliveries/attempts.tsx";

/** Asked again while it changes, and once it is final; milliseconds. */
const OPEN_MS = 1_500;
const FINAL_MS = 20_000;

const isFinal = ({ status }: TaRequest): boolean => status === "SUCCESS" || status === "FAILED";

const Page = () => (
  <OperatorsOnly
    title="Request"
    shows="how far this request is, step by step, and what was sent to its caller"
  >
    <Request />
  </OperatorsOnly>
);

const Request = () => {
  const { id } = useParams({ from: "/requests/$id" });
  const token = useTokenSearch();
  const path = `/operator/requests/${encodeURIComponent(id)}`;
  const first = usePath(path, readRequest);
  const final = first.data !== undefined && isFinal(first.data);
  const asked = usePath(path, readRequest, { everyMs: final ? FINAL_MS : OPEN_MS });
  const { data, error } = asked;
  if (data === undefined || data.id !== id) {
    if (error instanceof AskError && error.status === 404) {
      return (
        <>
          <PageHead title="Request" />
          <Empty title="There is no request of this id">
            <span className="font-mono text-xs break-all">{id}</span>
            <br />
            <Link to="/requests" search={token} className="text-accent underline">
              Go to all requests
            </Link>
          </Empty>
        </>
      );
    }
    return error === null ? (
      <Loading lines={8} />
    ) : (
      <Failed error={error} what="The request" onRetry={() => void asked.refetch()} />
    );
  }
  return (
    <>
      <PageHead
        title={`${kindText(data.kind)} for ${data.asset}`}
        about={
          <span className="inline-flex flex-wrap items-center gap-x-1">
            <Link to="/requests" search={token} className="text-accent hover:underline">
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
      <AsOf of={asked} flush />
      <Says request={data} />
      <div className="mt-4 grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title="Steps" about="As they were recorded, in UTC">
          <Steps history={data.history} final={isFinal(data)} waitsFor={data.waitsFor} />
        </Card>
        <div className="min-w-0 space-y-4">
          <Facts request={data} />
          <Result id={data.id} final={isFinal(data)} />
        </div>
      </div>
    </>
  );
};

/** What is most worth knowing of it now. */
const Says = ({ request }: { readonly request: TaRequest }) =>
  request.status === "FAILED" ? (
    <Notice tone="bad" title={request.reason ?? "Failed"}>
      {request.message}
    </Notice>
  ) : request.waitsFor === null ? null : (
    <Notice tone="accent" title="Waiting">
      {request.waitsFor}
    </Notice>
  );

const Steps = ({
  history,
  final,
  waitsFor,
}: {
  readonly history: readonly RequestStep[];
  readonly final: boolean;
  readonly waitsFor: string | null;
}) => (
  <Timeline label="Steps of the request">
    {history.map(({ atMs, status, message }, index) => (
      <TimelineItem
        // Steps are only ever added at the end.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        key={index}
        state={stateOf(status)}
        title={message}
        aside={<Step atMs={atMs} beforeMs={history[index - 1]?.atMs} />}
      />
    ))}
    {final ? null : <TimelineItem state="now" title={waitsFor ?? "The next step"} />}
  </Timeline>
);

const stateOf = (status: string): Happened => (status === "FAILED" ? "failed" : "done");

/** When, to the millisecond, and how long after the step before; the day where it is another. */
const Step = ({
  atMs,
  beforeMs,
}: {
  readonly atMs: number;
  readonly beforeMs: number | undefined;
}) => (
  <time className="figures whitespace-nowrap" dateTime={new Date(atMs).toISOString()}>
    {beforeMs === undefined || atMs - beforeMs < 1 ? null : `+${durationText(atMs - beforeMs)} · `}
    {beforeMs === undefined || dayText(beforeMs) !== dayText(atMs) ? `${dayText(atMs)} ` : null}
    {new Date(atMs).toISOString().slice(11, 23)}
  </time>
);

const Facts = ({ request }: { readonly request: TaRequest }) => (
  <Card title="Summary">
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      <dt className="text-muted">Received</dt>
      <dd>
        <Moment ms={request.createdAtMs} />
      </dd>
      <dt className="text-muted">{isFinal(request) ? "Final" : "Last step"}</dt>
      <dd>
        {isFinal(request) ? (
          <>after {durationText(request.updatedAtMs - request.createdAtMs)}</>
        ) : (
          <Ago ms={request.updatedAtMs} />
        )}
      </dd>
      <dt className="text-muted">Asset</dt>
      <dd>{request.asset}</dd>
      <dt className="text-muted">Transaction</dt>
      <dd>
        {request.txId === null ? (
          <span className="text-muted">{isFinal(request) ? "none" : "none yet"}</span>
        ) : (
          <LongId
            text={request.txId}
            what="transaction"
            explorer="transaction"
            head={10}
            tail={8}
          />
        )}
      </dd>
    </dl>
  </Card>
);

const Result = ({ id, final }: { readonly id: string; readonly final: boolean }) => {
  const found = usePath(pathWith("/operator/deliveries", { requestId: id }), readDeliveries, {
    everyMs: final ? OPEN_MS * 2 : FINAL_MS,
  });
  const delivery = found.data?.items[0];
  return (
    <Card
      title="Result to the caller"
      actions={delivery === undefined ? null : <DeliveryBadge of={delivery.state} />}
    >
      {delivery !== undefined ? (
        <DeliveryAttempts id={delivery.id} />
      ) : found.error !== null ? (
        <Failed error={found.error} what="The delivery" onRetry={() => void found.refetch()} />
      ) : (
        <p className="text-sm text-muted">
          {final
            ? "No callback was made for it."
            : "A signed callback is sent once the request is final."}
        </p>
      )}
    </Card>
  );
};

export default Page;
