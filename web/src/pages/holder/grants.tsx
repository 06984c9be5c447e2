/** A holder's vesting grants: unlocked, claimed and locked amounts, and the next unlock. */
import { useCallback, useMemo } from "react";
import { Answered, AsOf } from "../../blocks/answered.tsx";
import { Badge, Card } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { Chart, type Colours, overTime } from "../../charts/chart.tsx";
import type { Token } from "../../data/tokens.ts";
import {
  claimableAt,
  type Grant,
  nextRelease,
  reachable,
  releaseTimes,
  unlockedAt,
  useGrants,
} from "../../register/grants.ts";
import { amountText, leastOf, proportion } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { dayText, momentText } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

export const Grants = ({
  token,
  addresses,
  at,
  timeMs,
}: {
  readonly token: Token;
  readonly addresses: readonly string[];
  /** Unix seconds; now without it. */
  readonly at: string | undefined;
  readonly timeMs: number;
}) => {
  const query = useGrants(token.coinType, addresses, at);
  const { data } = query;
  const now = BigInt(Math.floor(timeMs));
  const { decimals } = token;
  const grants = useMemo(() => data ?? [], [data]);
  const option = useCallback(
    (colours: Colours) => unlockingChart(grants, now, decimals, colours),
    [grants, now, decimals],
  );
  if (data === undefined && query.error !== null) {
    return (
      <Answered of={query} what="The grants" card>
        {() => null}
      </Answered>
    );
  }
  if (grants.length === 0) return null;
  const next = grants
    .map((grant) => nextRelease(grant, now))
    .filter((release) => release !== null)
    .sort((a, b) => (a.atMs < b.atMs ? -1 : 1))[0];
  return (
    <Card
      flush
      title={grants.length === 1 ? "One vesting grant" : `${grants.length} vesting grants`}
      about={
        next === undefined ? (
          "No further unlocks"
        ) : (
          <>
            Next: <Amount units={next.amount} decimals={decimals} /> on{" "}
            <Moment at={Number(next.atMs)} />
          </>
        )
      }
    >
      <AsOf of={query} />
      <div className="px-4 pb-2">
        <Chart
          label="Unlocked tokens of all grants over time, past and future"
          option={option}
          height={200}
        />
      </div>
      <DataTable
        label="Vesting grants"
        rows={grants}
        keyOf={({ objectId }) => objectId}
        columns={[
          {
            header: "Grant",
            cell: ({ objectId }) => <LongId text={objectId} what="object id" explorer="object" />,
          },
          amountColumn("Granted", decimals, ({ totalAmount }: Grant) => totalAmount, {
            className: "max-[359px]:hidden",
          }),
          amountColumn("Claimed", decimals, ({ tokensTransferred }: Grant) => tokensTransferred, {
            wideOnly: true,
          }),
          amountColumn("Claimable", decimals, (grant: Grant) => claimableAt(grant, now), {
            wideOnly: true,
          }),
          amountColumn(
            "Locked",
            decimals,
            (grant: Grant) => grant.leftBalance - claimableAt(grant, now),
          ),
          {
            header: "Next unlock",
            wideOnly: true,
            cell: (grant) => {
              const release = nextRelease(grant, now);
              return release === null ? <Badge>none</Badge> : dayText(Number(release.atMs));
            },
          },
        ]}
      />
    </Card>
  );
};

/** A step for each release of any grant, and a line at the time in view. */
const unlockingChart = (
  grants: readonly Grant[],
  now: bigint,
  decimals: number | null,
  colours: Colours,
) => {
  const times = [...new Set(grants.flatMap((grant) => releaseTimes(grant)))];
  times.push(now);
  times.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const total = grants.reduce((sum, grant) => sum + reachable(grant), 0n);
  const unlocked = (at: bigint) =>
    grants.reduce((sum, grant) => sum + leastOf(unlockedAt(grant, at), reachable(grant)), 0n);
  const drawn = overTime(
    colours,
    colours.good,
    times.map((at) => [Number(at), proportion(unlocked(at), total)]),
    (atMs) =>
      `${momentText(atMs)}\n${amountText(unlocked(BigInt(atMs)), decimals)} unlocked\nof ${amountText(total, decimals)}`,
  );
  return {
    ...drawn,
    series: {
      ...drawn.series,
      markLine: {
        symbol: "none",
        silent: true,
        lineStyle: { color: colours.muted, type: "dashed" },
        label: { formatter: "now", color: colours.muted },
        data: [{ xAxis: Number(now) }],
      },
    },
  };
};
