/** Whether everything keeps up, live; and when not, what it is and what to do. */
import { Answered } from "../../blocks/answered.tsx";
import { Figure, Figures, Notice, PageHead } from "../../blocks/blocks.tsx";
import { type HealthSeen, stalledParts, useHealth } from "../../data/health.ts";
import { useLive } from "../../data/live.ts";
import { useService } from "../../data/service.tsx";
import { countText } from "../../shown/amount.ts";
import { broughtUp } from "./newest.ts";
import { Evm, IntegrityCard, Queues, SourceCard } from "./parts.tsx";
import { Pipelines } from "./pipelines.tsx";
import { useSamples } from "./rates.ts";
import { remedyOf } from "./remedies.ts";

const StatusPage = () => {
  const health = useHealth();
  const live = useLive();
  const { lost } = useService();
  const samples = useSamples(live);
  const data = health.data && broughtUp(health.data, live.pipelines);
  return (
    <>
      <PageHead
        title="Status"
        about={
          lost
            ? "As the service said last"
            : live.state === "live"
              ? "Live: figures move as the service does"
              : "Asked every two seconds; the live connection is being made"
        }
      />
      <Answered of={{ ...health, data }} what="The status" lines={8} card>
        {(now) => (
          <div className="space-y-4">
            <Verdict health={now} />
            <Summary health={now} />
            <Pipelines health={now} samples={samples} />
            <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
              <SourceCard health={now} />
              {now.integrity === null ? null : <IntegrityCard integrity={now.integrity} />}
              <Queues health={now} />
              <Evm health={now} />
            </div>
          </div>
        )}
      </Answered>
    </>
  );
};

/** Everything that is not well, first what stopped; each with what to do. */
const Verdict = ({ health }: { readonly health: HealthSeen }) => {
  const { reader, notes } = health;
  const parts = stalledParts(health);
  const doubts = reader.state === "unknown" ? [reader.reason] : [];
  if (parts.length + doubts.length + notes.length === 0) return null;
  return (
    <div className="space-y-2">
      {doubts.map((reason) => (
        <Notice key="reader" tone="warn" title="Whether the chain has more is not known">
          {reason ?? "No process said how far it has read."} Check that the process that indexes
          runs.
        </Notice>
      ))}
      {notes.map((note) => (
        <Notice key={note} tone="warn" title="Worth a look">
          {note}
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
  const { reader, pipelines } = health;
  const { state } = useService();
  const behind = pipelines.reduce((most, { lag }) => ((lag ?? 0n) > most ? (lag ?? 0n) : most), 0n);
  return (
    <Figures>
      <Figure
        label="Overall"
        value={state.word}
        tone={state.tone}
        about={state.detail ?? `version ${health.version}`}
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
    </Figures>
  );
};

export default StatusPage;
