/** The pipelines: position, rate, and digest of rows. */
import { useMemo } from "react";
import { Badge, Card } from "../../blocks/blocks.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { PauseButton, PausedBadge } from "../../blocks/pauses.tsx";
import type { Health } from "../../data/health.ts";
import { useLive } from "../../data/live.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { spanText } from "../../shown/moment.ts";
import { leftText, StateBadge } from "./parts.tsx";
import { rateOver, type Sample, secondsLeft } from "./rates.ts";

export const Pipelines = ({
  health,
  samples,
}: {
  readonly health: Health;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}) => {
  const live = useLive();
  const { old } = useService();
  const { kind } = useSession();
  const rows = useMemo(
    () =>
      health.pipelines.map((part) => {
        const status = live.pipelines?.find(({ pipeline }) => pipeline === part.pipeline);
        const own = samples.get(part.pipeline) ?? [];
        return {
          ...part,
          digest: status?.digest ?? null,
          ageSeconds: status?.ageSeconds ?? null,
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
      about="Each follows the log at its own pace. Rates are measured while this page is open."
    >
      <DataTable
        label="Pipelines"
        rows={rows}
        keyOf={({ pipeline }) => pipeline}
        columns={[
          {
            header: "Pipeline",
            cell: ({ pipeline, state, pausedSince }) => (
              <span className="inline-flex items-center gap-x-2 max-md:flex-col max-md:items-start">
                <span className="font-mono text-[0.92em]">{pipeline}</span>
                {pausedSince === undefined ? (
                  <StateBadge state={state} />
                ) : (
                  <PausedBadge since={pausedSince} />
                )}
              </span>
            ),
          },
          ...(kind === "operator"
            ? [
                {
                  header: "Pause",
                  wideOnly: true,
                  cell: ({ pipeline }: { readonly pipeline: string }) => (
                    <PauseButton of={{ kind: "pipeline", name: pipeline }} />
                  ),
                },
              ]
            : []),
          {
            header: "Checkpoint",
            align: "right",
            cell: ({ checkpoint }) => checkpoint && countText(checkpoint),
          },
          {
            header: "Behind",
            align: "right",
            wideOnly: "slightly",
            cell: ({ lagCheckpoints: lag }) => lag && countText(lag),
          },
          {
            header: "Age",
            align: "right",
            wideOnly: true,
            cell: ({ ageSeconds }) =>
              old || ageSeconds === null || ageSeconds > 2_000_000_000
                ? null
                : spanText(ageSeconds),
          },
          {
            header: "Per second",
            align: "right",
            wideOnly: true,
            cell: ({ rate, samples: own }) => (
              <span className="inline-flex items-center justify-end gap-2">
                <Sparkline samples={own} />
                <span className="w-10">{old ? "–" : rate === null ? "…" : rate.toFixed(1)}</span>
              </span>
            ),
          },
          {
            header: "Caught up in",
            align: "right",
            wideOnly: true,
            cell: ({ lagCheckpoints: lag, rate, state }) =>
              old ? "–" : leftText(state, secondsLeft(lag, rate, null), "–"),
          },
          {
            header: "Digest of rows",
            wideOnly: true,
            cell: ({ digest, historyFilledThrough: filled }) =>
              filled !== undefined ? (
                <Badge tone="warn">history filled to {countText(filled)}</Badge>
              ) : (
                digest && <LongId text={digest} what="digest" />
              ),
          },
        ]}
      />
    </Card>
  );
};

/** The rate of the last two minutes, in steps of two seconds. */
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
