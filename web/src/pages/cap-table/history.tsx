/** The register over time: supply, holders, activity, and how concentrated it was. */
import { useMemo, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty } from "../../blocks/blocks.tsx";
import { amounts, counts, shares } from "../../charts/measure.ts";
import { type Line, OverTime } from "../../charts/over-time.tsx";
import { Button } from "../../controls/controls.tsx";
import { type Token, tokenLabel, useTokenTime } from "../../data/tokens.ts";
import { type Activity, MOVEMENT_KINDS, useActivity } from "../../register/activity.ts";
import { LARGEST, usePastRegisters } from "../../register/past-registers.ts";
import type { Register } from "../../register/register.ts";
import { type Series, useHolderCounts, useSupply } from "../../register/series.ts";
import { countText } from "../../shown/amount.ts";
import { dayText, momentText } from "../../shown/moment.ts";

type Shown = { readonly token: Token; readonly register: Register };

export const History = (shown: Shown) => (
  <div className="space-y-4">
    <PastCharts {...shown} />
    <ActivityChart token={shown.token} />
  </div>
);

const KINDS = {
  mint: { name: "Issued", colour: "good" },
  burn: { name: "Burned", colour: "bad" },
  transfer: { name: "Transferred", colour: "accent" },
  force_transfer: { name: "By administrator", colour: "warn" },
} as const;

const DAY_MS = 86_400_000;

const spanWords = ({ spanMs }: Activity): string =>
  spanMs < DAY_MS ? "hour" : spanMs === DAY_MS ? "day" : `${spanMs / DAY_MS} days`;

const ActivityChart = ({ token }: { readonly token: Token }) => {
  const { coinType, decimals, symbol } = token;
  const [ofAmounts, setOfAmounts] = useState(false);
  const activity = useActivity(coinType);
  const { data } = activity;
  const lines = useMemo(
    (): readonly Line[] =>
      data === undefined
        ? []
        : MOVEMENT_KINDS.map((kind) => ({
            ...KINDS[kind],
            values: (ofAmounts ? data.amounts : data.counts)[kind],
          })),
    [data, ofAmounts],
  );
  const measure = useMemo(
    () => (ofAmounts ? amounts({ decimals, symbol }) : counts),
    [ofAmounts, decimals, symbol],
  );
  return (
    <Answered of={activity} what="The movements" lines={8} card>
      {(found) =>
        found.all === 0 ? (
          <Card title="Activity">
            <Empty title="No movements yet" />
          </Card>
        ) : (
          <OverTime
            title="Activity"
            about={
              <>
                {ofAmounts ? "Amounts" : "Movements"} per {spanWords(found)}.{" "}
                {found.whole
                  ? `All ${countText(found.all)} movements`
                  : `The newest ${countText(found.all)} movements, from ${dayText(found.times[0] ?? 0)}; there are earlier ones`}
                .{" "}
                <Button
                  look="quiet"
                  className="h-6 px-1.5 text-xs"
                  onClick={() => setOfAmounts(!ofAmounts)}
                >
                  Show {ofAmounts ? "counts" : "amounts"}
                </Button>
              </>
            }
            caption={`${tokenLabel(token)}, ${ofAmounts ? "amounts" : "movements"} per ${spanWords(found)}, ${dayText(found.times[0] ?? 0)} to ${dayText(found.times.at(-1) ?? 0)}`}
            kind="bars"
            times={found.times}
            timeText={found.spanMs < DAY_MS ? hourText : dayText}
            lines={lines}
            measure={measure}
          />
        )
      }
    </Answered>
  );
};

const hourText = (ms: number): string => momentText(ms).slice(5, 16);

const COLOURS = ["ink", "muted", "accent"] as const;

/** Moments of supply and of holders. */
const POINTS = 60;

const PastCharts = ({ token, register }: Shown) => {
  const { coinType } = token;
  // The moments stay while the register moves.
  const [to] = useState(Math.floor(register.timeMs / 1_000));
  // What is made of all movements, or of past registers of many rows, takes the service a while.
  const [asked, setAsked] = useState(!register.isLong);
  const supply = useSupply(coinType, { to, points: POINTS });
  const holders = useHolderCounts(coinType, { to, points: POINTS }, { enabled: asked });
  return (
    <>
      <Answered of={supply} what="The supply" lines={8} card>
        {(series) => <SupplyChart token={token} series={series} />}
      </Answered>
      {asked ? (
        <>
          <Answered of={holders} what="The number of holders" lines={8} card>
            {(series) => <HoldersChart token={token} series={series} />}
          </Answered>
          <ConcentrationChart token={token} to={to} />
        </>
      ) : (
        <Card
          title="Holders and concentration"
          about="Made from all movements, which takes a while for a register of this length"
        >
          <Button onClick={() => setAsked(true)}>Read them</Button>
        </Card>
      )}
    </>
  );
};

const captionOf = (token: Token, times: readonly number[]): string =>
  `${tokenLabel(token)}, ${dayText(times[0] ?? 0)} to ${dayText(times.at(-1) ?? 0)}`;

const SupplyChart = ({ token, series }: { readonly token: Token; readonly series: Series }) => {
  const { decimals, symbol } = token;
  const measure = useMemo(() => amounts({ decimals, symbol }), [decimals, symbol]);
  const lines = useMemo(
    (): readonly Line[] => [{ name: "Issued", colour: "accent", values: series.values }],
    [series],
  );
  return (
    <OverTime
      title="Supply"
      about={`Of the treasury, at ${series.times.length} moments`}
      caption={captionOf(token, series.times)}
      kind="lines"
      times={series.times}
      lines={lines}
      measure={measure}
    />
  );
};

const HoldersChart = ({ token, series }: { readonly token: Token; readonly series: Series }) => {
  const lines = useMemo(
    (): readonly Line[] => [{ name: "Holders", colour: "good", values: series.values }],
    [series],
  );
  return (
    <OverTime
      title="Holders"
      about={`Holders, and wallets without one, at ${series.times.length} moments`}
      caption={captionOf(token, series.times)}
      kind="lines"
      times={series.times}
      lines={lines}
      measure={counts}
    />
  );
};

/** @param to unix seconds */
const ConcentrationChart = ({ token, to }: { readonly token: Token; readonly to: number }) => {
  const { from } = useTokenTime(token.coinType);
  const read = usePastRegisters(token.coinType, from, to, { enabled: true });
  const { data } = read;
  const lines = useMemo(
    (): readonly Line[] =>
      LARGEST.map((count, index) => ({
        name: count === 1 ? "Largest holder" : `Largest ${count}`,
        colour: COLOURS[index] ?? "accent",
        values: (data?.shares ?? []).map((of) => of[index] ?? 0n),
      })),
    [data],
  );
  return (
    <Answered of={read} what="The registers of the past" lines={8} card>
      {({ times }) => (
        <OverTime
          title="Concentration over time"
          about={`Share of all tokens that the largest holders had, at ${times.length} moments`}
          caption={captionOf(token, times)}
          kind="lines"
          times={times}
          lines={lines}
          measure={shares}
        />
      )}
    </Answered>
  );
};
