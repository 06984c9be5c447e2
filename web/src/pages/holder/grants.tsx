/** A holder's vesting grants: what was unlocked, what is next, and until when. */
import { useCallback, useMemo } from "react";
import { Answered, AsOf } from "../../blocks/answered.tsx";
import { Badge, Card } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { Chart, type Colours, overTime } from "../../charts/chart.tsx";
import type { Token } from "../../data/tokens.ts";
import { useGrants } from "../../register/grants.ts";
import {
  claimableAt,
  type Grant,
  nextRelease,
  reachable,
  releaseTimes,
  unlockedAt,
} from "../../register/unlocking.ts";
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
  const asked = useGrants(token.coinType, addresses, at);
  const { data } = asked;
  const now = BigInt(Math.floor(timeMs));
  const { decimals } = token;
  const grants = useMemo(() => data ?? [], [data]);
  const option = useCallback(
    (colours: Colours) => unlockingChart(grants, now, decimals, colours),
    [grants, now, decimals],
  );
  if (data === undefined && asked.error !== null) {
    return (
      <Answered of={asked} what="The grants" card>
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
          "Nothing more is unlocked by time"
        ) : (
          <>
            Next: <Amount units={next.amount} decimals={decimals} /> on{" "}
            <Moment ms={Number(next.atMs)} />
          </>
        )
      }
    >
      <AsOf of={asked} />
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
            id: "grant",
            header: "Grant",
            cell: ({ objectId }) => <LongId text={objectId} what="object id" explorer="object" />,
          },
          amountColumn(decimals, ({ totalAmount }: Grant) => totalAmount, {
            id: "total",
            header: "Granted",
            className: "max-[359px]:hidden",
          }),
          amountColumn(decimals, ({ tokensTransferred }: Grant) => tokensTransferred, {
            id: "claimed",
            header: "Claimed",
            wideOnly: true,
          }),
          amountColumn(decimals, (grant: Grant) => claimableAt(grant, now), {
            id: "claimable",
            header: "Can be claimed",
            wideOnly: true,
          }),
          amountColumn(decimals, (grant: Grant) => grant.leftBalance - claimableAt(grant, now), {
            id: "locked",
            header: "Locked",
          }),
          {
            id: "next",
            header: "Next unlock",
            wideOnly: true,
            cell: (grant) => {
              const release = nextRelease(grant, now);
              return release === null ? <Badge>nothing more</Badge> : dayText(Number(release.atMs));
            },
          },
        ]}
      />
    </Card>
  );
};

/** A step for each release of any grant; a line at the time that is shown. */
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
