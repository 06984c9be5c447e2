/** Requests that ended, by day and outcome. */
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { counts } from "../../charts/measure.ts";
import { type Line, OverTime } from "../../charts/over-time.tsx";
import { Choose } from "../../controls/controls.tsx";
import type { RequestFigures } from "../../data/answers.ts";
import { pathWith } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { useChangeAddress } from "../../data/tokens.ts";
import { dayText } from "../../shown/moment.ts";

const DAYS = ["7", "30", "92"] as const;

const USUAL = "30";

/** What ends today is in the counts above the list at once. */
const EVERY_MS = 300_000;

type Day = RequestFigures["days"][number];

const OUTCOMES = [
  { of: "done", name: "Done", colour: "good" },
  { of: "alreadyDone", name: "Already whitelisted", colour: "accent" },
  { of: "doneUndelivered", name: "Done, not delivered", colour: "warn" },
  { of: "failed", name: "Failed", colour: "bad" },
] as const;

export const FiguresByDay = () => {
  const { days: wanted } = useSearch({ from: "/requests" });
  const days = DAYS.find((one) => one === wanted) ?? USUAL;
  return (
    <Answered
      of={usePath<RequestFigures>(pathWith("/operator/requests/figures", { days }), {
        everyMs: EVERY_MS,
      })}
      what="The counts by day"
      lines={8}
      card
    >
      {(figures) => <Bars figures={figures.days} days={days} />}
    </Answered>
  );
};

const Bars = ({ figures, days }: { readonly figures: readonly Day[]; readonly days: string }) => {
  const change = useChangeAddress();
  const times = useMemo(() => figures.map(({ day }) => Date.parse(day)), [figures]);
  const lines = useMemo(
    () =>
      OUTCOMES.map(
        ({ of, name, colour }): Line => ({
          name,
          colour,
          values: figures.map((day) => BigInt(day[of])),
        }),
      ),
    [figures],
  );
  return (
    <OverTime
      title="Ended by day"
      about="By outcome; days in UTC, today included"
      caption={`${figures[0]?.day ?? ""} to ${figures.at(-1)?.day ?? ""}`}
      kind="bars"
      times={times}
      timeText={dayText}
      lines={lines}
      measure={counts}
      height={220}
      actions={
        <Choose
          label="Days"
          value={days}
          choices={DAYS.map((value) => ({ value, label: `${value} days` }))}
          onChange={(value) => change({ days: value === USUAL ? undefined : value })}
        />
      }
    />
  );
};
