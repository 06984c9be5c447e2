/** Whether everything keeps up, live; and when not, what it is and what to do. */
import { type ReactNode, useMemo } from "react";
import {
  Badge,
  Card,
  Failed,
  Figure,
  Loading,
  Notice,
  PageHead,
  type Tone,
} from "../../blocks/blocks.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { type HealthSeen, type Integrity, type State, useHealth } from "../../data/health.ts";
import { useLive } from "../../data/live.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { spanText } from "../../shown/moment.ts";
import { broughtUp } from "./newest.ts";
import { rateOver, type Sample, secondsLeft, useMoved, useSamples } from "./rates.ts";
import { remedyOf } from "./remedies.ts";

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

const WORDS: Readonly<Record<State, { readonly word: string; readonly tone: Tone }>> = {
  ok: { word: "up to date", tone: "good" },
  catching_up: { word: "catching up", tone: "warn" },
  stalled: { word: "stalled", tone: "bad" },
  unknown: { word: "unknown", tone: "warn" },
};

const StateBadge = ({ state }: { readonly state: State }) => (
  <Badge tone={WORDS[state].tone}>{WORDS[state].word}</Badge>
);

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

const Pipelines = ({
  health,
  samples,
}: {
  readonly health: HealthSeen;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}) => {
  const live = useLive();
  const rows = useMemo(
    () =>
      health.pipelines.map((part) => {
        const told = live.pipelines?.find(({ pipeline }) => pipeline === part.name);
        const own = samples.get(part.name) ?? [];
        return {
          ...part,
          digest: told?.digest ?? null,
          ageSeconds: told?.ageSeconds ?? null,
          samples: own,
          rate: rateOver(own, 30_000),
        };
      }),
    [health, live, samples],
  );
  return (
    <Card
      flush
      title="Pipelines"
      about="Each follows the log at its own pace; rates since this page was opened"
    >
      <DataTable
        label="Pipelines"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            id: "name",
            header: "Pipeline",
            cell: ({ name, state }) => (
              <span className="inline-flex items-center gap-2">
                <span className="font-mono text-[0.92em]">{name}</span>
                <StateBadge state={state} />
              </span>
            ),
          },
          {
            id: "checkpoint",
            header: "Checkpoint",
            align: "right",
            cell: ({ checkpoint }) => (checkpoint === null ? "–" : countText(checkpoint)),
          },
          {
            id: "lag",
            header: "Behind",
            align: "right",
            cell: ({ lag }) => (lag === null ? "–" : countText(lag)),
          },
          {
            id: "age",
            header: "Age",
            align: "right",
            wideOnly: true,
            cell: ({ ageSeconds }) =>
              ageSeconds === null || ageSeconds > 2_000_000_000 ? "–" : spanText(ageSeconds),
          },
          {
            id: "rate",
            header: "Per second",
            align: "right",
            cell: ({ rate, samples: own }) => (
              <span className="inline-flex items-center justify-end gap-2">
                <Sparkline samples={own} />
                <span className="w-10">{rate === null ? "…" : rate.toFixed(1)}</span>
              </span>
            ),
          },
          {
            id: "left",
            header: "Time left",
            align: "right",
            wideOnly: true,
            cell: ({ lag, rate, state }) => {
              if (state === "ok") return <span className="text-muted">none</span>;
              const left = secondsLeft(lag, rate, null);
              return left === null ? "–" : spanText(left);
            },
          },
          {
            id: "digest",
            header: "Digest of its rows",
            wideOnly: true,
            cell: ({ digest, filledThrough }) =>
              filledThrough !== null ? (
                <Badge tone="warn">history filled to {countText(filledThrough)}</Badge>
              ) : digest === null ? (
                "–"
              ) : (
                <LongId text={digest} what="digest" />
              ),
          },
        ]}
      />
    </Card>
  );
};

/** Rate over the last two minutes, in steps of two seconds. */
const Sparkline = ({ samples }: { readonly samples: readonly Sample[] }) => {
  const rates: number[] = [];
  const recent = samples.slice(-60);
  for (let index = 2; index < recent.length; index += 1) {
    const rate = rateOver(recent.slice(index - 2, index + 1), 4_000);
    if (rate !== null) rates.push(rate);
  }
  if (rates.length < 2) return <span className="inline-block w-20" aria-hidden="true" />;
  const most = Math.max(...rates, 0.001);
  const points = rates
    .map((rate, index) => `${(index / (rates.length - 1)) * 80},${19 - (rate / most) * 18}`)
    .join(" ");
  return (
    <svg viewBox="0 0 80 20" className="h-5 w-20 text-accent max-md:hidden" aria-hidden="true">
      <polyline points={points} fill="none" stroke="currentColor" strokeWidth="1.5" />
    </svg>
  );
};

const Lines = ({ children }: { readonly children: ReactNode }) => (
  <dl className="divide-y divide-line text-sm">{children}</dl>
);

const Line = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div className="flex items-baseline justify-between gap-4 py-1.5">
    <dt className="text-muted">{name}</dt>
    <dd className="figures min-w-0 text-right break-words">{children}</dd>
  </div>
);

const SourceCard = ({ health: { reader } }: { readonly health: HealthSeen }) => {
  const read = useMoved(reader.checkpoint);
  const chain = useMoved(reader.tip);
  const left = secondsLeft(reader.lag, rateOver(read, 60_000), rateOver(chain, 60_000));
  return (
    <Card title="Reader and source" actions={<StateBadge state={reader.state} />}>
      <Lines>
        <Line name="Source">{reader.source?.source ?? "not told by any reader yet"}</Line>
        <Line name="Appended to the log through">
          {reader.checkpoint === null ? "–" : countText(reader.checkpoint)}
        </Line>
        <Line name="Not read yet">
          {reader.lag === null ? "not known here" : countText(reader.lag)}
        </Line>
        <Line name="Time left">
          {reader.state === "ok" ? "none" : left === null ? "not known yet" : spanText(left)}
        </Line>
        <Line name="A question open for">
          {reader.source?.silentSeconds == null ? "–" : spanText(reader.source.silentSeconds)}
        </Line>
        {reader.source?.error == null ? null : (
          <Line name="Last trouble">{reader.source.error}</Line>
        )}
      </Lines>
    </Card>
  );
};

const IntegrityCard = ({ integrity }: { readonly integrity: Integrity }) => {
  const ago = (seconds: number | null) =>
    seconds === null ? "not finished a round" : `${spanText(seconds)} ago`;
  return (
    <Card title="Verification" actions={<StateBadge state={integrity.state} />}>
      <Lines>
        <Line name="Signatures verified through">
          {integrity.provenThrough === null ? "not verified" : countText(integrity.provenThrough)}
        </Line>
        <Line name="Log chained through">
          {integrity.chainedThrough === null ? "–" : countText(integrity.chainedThrough)}
        </Line>
        <Line name="Log head signed through">
          {integrity.signedThrough === null ? "–" : countText(integrity.signedThrough)}
        </Line>
        <Line name="Log last found whole">{ago(integrity.log.secondsAgo)}</Line>
        <Line name="Register last reconciled">{ago(integrity.sums.secondsAgo)}</Line>
      </Lines>
    </Card>
  );
};

const Queues = ({ health: { callbacks, transferAgent } }: { readonly health: HealthSeen }) => (
  <Card title="Queues">
    <Lines>
      {transferAgent.map(({ asset, queued, pending, oldestSeconds, waitingLane }) => (
        <Line key={asset} name={`Requests for ${asset}`}>
          {queued + pending === 0
            ? "none open"
            : `${countText(queued)} queued, ${countText(pending)} under way, the oldest for ${spanText(oldestSeconds ?? 0)}${waitingLane === null ? "" : `; one waits: ${waitingLane}`}`}
        </Line>
      ))}
      {callbacks === null ? null : (
        <>
          <Line name="Callbacks to be delivered">
            {callbacks.pending === 0
              ? "none"
              : `${countText(callbacks.pending)}, the oldest for ${spanText(callbacks.oldestPendingSeconds)}`}
          </Line>
          <Line name="Addresses that fail, or were disabled">
            {callbacks.failing + callbacks.disabled === 0
              ? "none"
              : `${callbacks.failing} failing, ${callbacks.disabled} disabled`}
          </Line>
        </>
      )}
    </Lines>
  </Card>
);

const Evm = ({ health: { evm } }: { readonly health: HealthSeen }) => (
  <Card title="EVM chains">
    {evm === null || evm.chains.length === 0 ? (
      <p className="text-sm text-muted">
        None is followed. Tokens of EVM chains are named in the assets file.
      </p>
    ) : (
      <Lines>
        {evm.chains.map((chain) => (
          <Line key={chain.chainId} name={`${chain.network} (${chain.chainId})`}>
            block {chain.nextBlock === null ? "–" : countText(chain.nextBlock)} of{" "}
            {chain.headBlock === null ? "–" : countText(chain.headBlock)}{" "}
            <StateBadge state={chain.state} />
            {chain.warnings.map((warning) => (
              <span key={warning} className="block text-xs text-warn">
                {warning}
              </span>
            ))}
          </Line>
        ))}
      </Lines>
    )}
  </Card>
);

export default StatusPage;
