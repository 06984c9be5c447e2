/** What is beside the pipelines: reader and source, verification, queues, EVM chains. */
import type { ReactNode } from "react";
import { bulkLines } from "../../../../src/values/bulk-progress.ts";
import { Badge, Card, type Tone } from "../../blocks/blocks.tsx";
import { PauseButton } from "../../blocks/pauses.tsx";
import { ask, graph } from "../../data/ask.ts";
import type { Health } from "../../data/health.ts";
import { again, NOW, useRead } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import { countText } from "../../shown/amount.ts";
import { spanText } from "../../shown/moment.ts";
import { rateOver, secondsLeft, useMoved } from "./rates.ts";

type StateWord = { readonly word: string; readonly tone: Tone };

const STATES: Readonly<Record<string, StateWord>> = {
  ok: { word: "caught up", tone: "good" },
  catching_up: { word: "catching up", tone: "warn" },
  stalled: { word: "stalled", tone: "bad" },
};

/** State of a part; without colour when the report is old. A state of a newer service counts as unknown. */
export const StateBadge = ({ state }: { readonly state: string }) => {
  const { old } = useService();
  const { word, tone } = STATES[state] ?? { word: "unknown", tone: "warn" };
  return old ? <Badge>last: {word}</Badge> : <Badge tone={tone}>{word}</Badge>;
};

/** A card of names and values. */
const Part = ({
  title,
  state,
  lines,
  children,
}: {
  readonly title: string;
  readonly state?: string | undefined;
  readonly lines: readonly (readonly [name: string, value: ReactNode])[];
  /** Instead of lines. */
  readonly children?: ReactNode;
}) => (
  <Card title={title} actions={state === undefined ? undefined : <StateBadge state={state} />}>
    {children ?? (
      <dl className="divide-y divide-line text-sm">
        {lines.map(([name, value]) => (
          <div key={name} className="flex items-baseline justify-between gap-4 py-1.5">
            <dt className="text-muted">{name}</dt>
            <dd className="figures wrap-anywhere text-right">{value}</dd>
          </div>
        ))}
      </dl>
    )}
  </Card>
);

const numberText = (checkpoint: string | null, none = "–"): string =>
  checkpoint === null ? none : countText(checkpoint);

const readingQuery = graph(`query Reading { _meta { readFrom completeThrough } }`);

const REFRESH_MS = 60_000;

export const SourceCard = ({ health: { reader } }: { readonly health: Health }) => {
  const { old } = useService();
  const reading = useRead(NOW, ["reading"], (asking) => ask(readingQuery, {}, asking), {
    refetchInterval: again(REFRESH_MS),
  });
  const { readFrom, completeThrough = null } = reading.data?._meta ?? {};
  const {
    checkpoint,
    tip,
    lagCheckpoints: lag,
    state,
    source,
    guided = null,
    backfill = null,
  } = reader;
  const read = useMoved(checkpoint);
  const chain = useMoved(tip);
  const left = secondsLeft(lag, rateOver(read, 60_000), rateOver(chain, 60_000));
  return (
    <Part
      title="Reader and source"
      state={state}
      lines={[
        ["Source", source?.source ?? "not reported yet"],
        ["In the log through", numberText(checkpoint)],
        ...bulkLines({ guided, backfill }),
        ...(readFrom === "GUIDED"
          ? ([
              ["Read", "guided: checkpoints that concern the contract"],
              ["Proven complete through", numberText(completeThrough, "not proven yet")],
            ] as const)
          : []),
        ["Backlog", numberText(lag, "unknown")],
        ["Caught up in", old ? "–" : leftText(state, left, "unknown")],
        ["Silent for", source?.silentSeconds == null ? "–" : spanText(source.silentSeconds)],
      ]}
    />
  );
};

/** When a backlog is worked off. */
export const leftText = (state: string, secondsLeft: number | null, none: string): string =>
  state === "ok" ? "caught up" : secondsLeft === null ? none : spanText(secondsLeft);

export const IntegrityCard = ({ health: { details } }: { readonly health: Health }) => {
  const integrity = details?.integrity;
  if (integrity === undefined) return null;
  const { log, sums, state } = integrity;
  const ago = (seconds: number | null) =>
    seconds === null ? "first round not finished" : `${spanText(seconds)} ago`;
  return (
    <Part
      title="Verification"
      state={state}
      lines={[
        ["Signatures verified through", numberText(log.provenThrough, "not verified")],
        ["Log chained through", numberText(log.chainedThrough)],
        ["Log head signed through", numberText(log.signedThrough)],
        ["Log last checked", ago(log.checkedSecondsAgo)],
        ["Register last reconciled", ago(sums.checkedSecondsAgo)],
      ]}
    />
  );
};

export const Queues = ({ health: { details = {} } }: { readonly health: Health }) => {
  const { transferAgent = [], signers = [], callbacks } = details;
  const requests = transferAgent.map(({ asset, queued, pending, oldestSeconds, waitingLane }) => {
    const waiting = waitingLane === null ? "" : `; lane ${waitingLane} is waiting`;
    const text = `${countText(queued)} queued, ${countText(pending)} in progress, oldest ${spanText(oldestSeconds ?? 0)}${waiting}`;
    return [`Requests for ${asset}`, queued + pending === 0 ? "none open" : text] as const;
  });
  const gas = signers.map(
    ({ asset, transactionsLeft }) =>
      [
        `Gas of the signer of ${asset}`,
        `enough for ${countText(transactionsLeft)} transactions`,
      ] as const,
  );
  const ofCallbacks =
    callbacks === undefined
      ? []
      : ([
          [
            "Callbacks to deliver",
            callbacks.pending === 0
              ? "none"
              : `${countText(callbacks.pending)}, oldest ${spanText(callbacks.oldestPendingSeconds)}`,
          ],
          [
            "Endpoints failing or disabled",
            callbacks.failing.length + callbacks.disabled.length === 0
              ? "none"
              : `${callbacks.failing.length} failing, ${callbacks.disabled.length} disabled`,
          ],
        ] as const);
  return <Part title="Queues" lines={[...requests, ...gas, ...ofCallbacks]} />;
};

export const Evm = ({ health: { details } }: { readonly health: Health }) => {
  const chains = details?.evm?.chains ?? [];
  const isOperator = useSession().kind === "operator";
  return (
    <Part
      title="EVM chains"
      lines={[
        ...chains.map(
          ({ chainId, network, nextBlock, headBlock, state, warnings }) =>
            [
              `${network} (${chainId})`,
              <>
                block {numberText(nextBlock)} of {numberText(headBlock)}{" "}
                <StateBadge state={state} />
                {warnings.map((warning) => (
                  <span key={warning} className="block text-xs text-warn">
                    {warning}
                  </span>
                ))}
              </>,
            ] as const,
        ),
        ...(isOperator
          ? [
              [
                "Transfer events",
                <PauseButton key="pause" of={{ kind: "pipeline", name: "transfer_events" }} />,
              ] as const,
            ]
          : []),
      ]}
    >
      {chains.length === 0 ? (
        <p className="text-sm text-muted">None. Tokens on EVM chains are set in the assets file.</p>
      ) : undefined}
    </Part>
  );
};
