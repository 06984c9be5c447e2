/** Whether everything keeps up, live; and when not, what it is and what to do. */
import { Card, Failed, Figure, Loading, Notice, PageHead } from "../../blocks/blocks.tsx";
import { type HealthSeen, useHealth } from "../../data/health.ts";
import { useLive } from "../../data/live.ts";
import { countText } from "../../shown/amount.ts";
import { broughtUp } from "./newest.ts";
import { Evm, IntegrityCard, Queues, SourceCard } from "./parts.tsx";
import { Pipelines } from "./pipelines.tsx";
import { useSamples } from "./rates.ts";
import { remedyOf } from "./remedies.ts";
import { WORDS } from "./state-badge.tsx";

const StatusPage = () => {
  const health = useHealth();
  const live = useLive();
  const samples = useSamples(live);
  const data = health.data && broughtUp(health.data, live.state === "live" ? live.pipelines : null);
  return (
    <>
      <PageHead
        title="Status"
        about={
          live.state === "live"
            ? "Live: figures move as the service does"
            : "Asked every two seconds; the live connection is being made"
        }
      />
      {health.error !== null ? (
        <Notice tone="bad" title="The service does not say how it is">
          {health.error.message} What is below is what it said last.
        </Notice>
      ) : null}
      {data === undefined ? (
        health.error === null ? (
          <Card>
            <Loading lines={8} />
          </Card>
        ) : (
          <Card>
            <Failed error={health.error} what="The status" onRetry={() => void health.refetch()} />
          </Card>
        )
      ) : (
        <div className="space-y-4">
          <Verdict health={data} />
          <Summary health={data} />
          <Pipelines health={data} samples={samples} />
          <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
            <SourceCard health={data} />
            {data.integrity === null ? null : <IntegrityCard integrity={data.integrity} />}
            <Queues health={data} />
            <Evm health={data} />
          </div>
        </div>
      )}
    </>
  );
};

/** Everything that is not well, first what stopped; each with what to do. */
const Verdict = ({ health }: { readonly health: HealthSeen }) => {
  const { reader, pipelines, integrity, indexing, evm } = health;
  const parts = [
    { name: "The process that indexes", state: indexing?.state, reason: indexing?.reason },
    { name: "The reader", state: reader.state, reason: reader.reason },
    ...pipelines.map((one) => ({ ...one, name: `Pipeline ${one.name}` })),
    { name: "Integrity", state: integrity?.state, reason: integrity?.reason },
    ...(evm?.chains ?? []).map((one) => ({ name: `Chain ${one.network}`, ...one })),
    ...(evm?.records ?? []).map((one) => ({ name: `Transfer events of ${one.project}`, ...one })),
  ].filter(({ state }) => state === "stalled");
  const doubts = reader.state === "unknown" ? [reader.reason] : [];
  if (parts.length + doubts.length === 0) return null;
  return (
    <div className="space-y-2">
      {doubts.map((reason) => (
        <Notice key="reader" tone="warn" title="Whether the chain has more is not known">
          {reason ?? "No process said how far it has read."} Look whether the process that indexes
          runs.
        </Notice>
      ))}
      {parts.map(({ name, reason }) => (
        <Notice key={name} tone="bad" title={`${name} is stalled`}>
          <p className="break-words">{reason ?? "It has work and does not do it."}</p>
          <p className="mt-1">
            <strong>What to do:</strong> {remedyOf(name, reason ?? "")}
          </p>
        </Notice>
      ))}
    </div>
  );
};

const Summary = ({ health }: { readonly health: HealthSeen }) => {
  const { status, reader, pipelines } = health;
  const behind = pipelines.reduce((most, { lag }) => ((lag ?? 0n) > most ? (lag ?? 0n) : most), 0n);
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Figure
        label="Everything together"
        value={WORDS[status].word}
        tone={WORDS[status].tone}
        about={`version ${health.version}`}
      />
      <Figure
        label="Read from the chain"
        value={reader.checkpoint === null ? "nothing yet" : countText(reader.checkpoint)}
        about={
          reader.tip === null
            ? "the chain's end is not known here"
            : `the chain is at ${countText(reader.tip)}`
        }
      />
      <Figure
        label="Slowest pipeline behind the log"
        value={countText(behind)}
        about="checkpoints"
        tone={behind > 100n ? "warn" : "plain"}
      />
      <Figure
        label="Proven by signatures through"
        value={
          health.integrity?.provenThrough == null ? "–" : countText(health.integrity.provenThrough)
        }
        about="of the validators"
      />
    </div>
  );
};

export default StatusPage;
