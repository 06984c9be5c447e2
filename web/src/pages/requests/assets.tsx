/** The assets of the transfer agent: what waits for each, and holding it up. */
import { Card, Line, Lines } from "../../blocks/blocks.tsx";
import { PauseButton, PausedBadge } from "../../blocks/pauses.tsx";
import { useHealth } from "../../data/health.ts";
import { pauseOf, usePauses } from "../../data/pauses.ts";
import { countText } from "../../shown/amount.ts";
import { spanText } from "../../shown/moment.ts";

/** Nothing where no asset has a transfer agent. */
export const Assets = () => {
  const assets = useHealth().data?.details?.transferAgent ?? [];
  const pauses = usePauses().data;
  if (assets.length === 0) return null;
  return (
    <Card flush title="Assets" about="While an asset is paused, its requests are accepted and wait">
      <Lines>
        {assets.map(({ asset, queued, pending, oldestSeconds }) => {
          const open = queued + pending;
          const oldest =
            oldestSeconds === null ? "" : `, the oldest for ${spanText(oldestSeconds)}`;
          const waiting = open === 0 ? "none open" : `${countText(open)} open${oldest}`;
          return (
            <Line
              key={asset}
              name={
                <span className="inline-flex flex-wrap items-center gap-2">
                  <span className="font-medium">{asset}</span>
                  <PausedBadge since={pauseOf(pauses, { kind: "asset", name: asset })?.since} />
                </span>
              }
              about={waiting}
            >
              <PauseButton
                of={{ kind: "asset", name: asset }}
                waiting={`Requests now: ${waiting}.`}
              />
            </Line>
          );
        })}
      </Lines>
    </Card>
  );
};
