/** The last 24 hours: how far the register was behind, and how much was read, a point a minute. */
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Empty } from "../../blocks/blocks.tsx";
import { rates, spans } from "../../charts/measure.ts";
import { type Line, OverTime } from "../../charts/over-time.tsx";
import { Choose } from "../../controls/controls.tsx";
import type { StatusHistory } from "../../data/answers.ts";
import { usePath } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { useChangeAddress } from "../../data/tokens.ts";
import { type Point, withGaps } from "./gaps.ts";

/** The service adds a point a minute. */
const EVERY_MS = 60_000;

const slowest = ({ lagSeconds }: Point): number | undefined => {
  const lags = Object.values(lagSeconds);
  return lags.length === 0 ? undefined : Math.max(...lags);
};

export const History = ({ pipeline }: { readonly pipeline: string | undefined }) => {
  const { lost } = useService();
  const history = usePath<StatusHistory>("/status-history", { everyMs: EVERY_MS });
  if (lost && history.data === undefined) return null;
  return (
    <Answered of={history} what="The last 24 hours" lines={8} card>
      {({ points }) => <Charts points={points} pipeline={pipeline} />}
    </Answered>
  );
};

const Charts = ({
  points,
  pipeline,
}: {
  readonly points: readonly Point[];
  /** The slowest of each minute without one. */
  readonly pipeline: string | undefined;
}) => {
  const change = useChangeAddress();
  const shown = useMemo(() => withGaps(points), [points]);
  const times = useMemo(() => shown.map(({ at }) => Date.parse(at)), [shown]);
  const names = [...new Set(points.flatMap(({ lagSeconds }) => Object.keys(lagSeconds)))].sort();
  const name = pipeline ?? "slowest pipeline";
  const lags = useMemo((): readonly Line[] => {
    const values = shown.map((point) => {
      const lag = pipeline === undefined ? slowest(point) : point.lagSeconds[pipeline];
      return lag === undefined ? null : BigInt(Math.round(lag));
    });
    return [{ name: `Behind, ${name}`, colour: "accent", values }];
  }, [shown, pipeline, name]);
  const read = useMemo((): readonly Line[] => {
    const values = shown.map(({ checkpointsPerSecond: rate }) =>
      rate === null ? null : BigInt(Math.round(rate * 1_000)),
    );
    return [{ name: "Checkpoints", colour: "good", values }];
  }, [shown]);
  if (points.length < 2) {
    return (
      <Empty title="No history yet">
        The process that indexes adds a point a minute; the charts of the last 24 hours begin with
        the second one.
      </Empty>
    );
  }
  const caption = `${points[0]?.at.slice(0, 16).replace("T", " ")} to ${points.at(-1)?.at.slice(0, 16).replace("T", " ")} UTC`;
  return (
    <div className="space-y-4">
      <OverTime
        title="Lag, last 24 hours"
        about="Age of the newest checkpoint in the rows, each minute. A gap: no process indexed."
        caption={`${name}, ${caption}`}
        kind="lines"
        times={times}
        lines={lags}
        measure={spans}
        height={200}
        actions={
          <Choose
            label="Pipeline of the lag"
            className="max-w-44"
            value={pipeline ?? ""}
            choices={[
              { value: "", label: "The slowest" },
              ...names.map((value) => ({ value, label: value })),
            ]}
            onChange={(value) => change({ pipeline: value || undefined })}
          />
        }
      />
      <OverTime
        title="Checkpoints a second, last 24 hours"
        about="Read from the source into the log, each minute"
        caption={caption}
        kind="lines"
        times={times}
        lines={read}
        measure={rates}
        height={200}
      />
    </div>
  );
};
