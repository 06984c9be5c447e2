/** Pauses that ended: who paused what, when, and why. */
import { Line, Lines } from "../../blocks/blocks.tsx";
import { subjectOf } from "../../blocks/pauses.tsx";
import { usePauses } from "../../data/pauses.ts";
import { durationBetween } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

/** Nothing for other keys than operators', and before the first pause. */
export const EndedPauses = () => {
  const ended = usePauses().data?.ended ?? [];
  if (ended.length === 0) return null;
  return (
    <details className="rounded-xl border border-line bg-surface">
      <summary className="cursor-pointer px-4 py-3 text-sm font-semibold">
        Earlier pauses <span className="font-normal text-muted">· {ended.length}</span>
      </summary>
      <Lines>
        {ended.map((pause) => (
          <Line
            key={`${pause.kind} ${pause.name} ${pause.since}`}
            name={subjectOf(pause)}
            about={
              <span className="wrap-anywhere">
                {pause.reason === null ? "no reason given" : pause.reason}
                {` · paused by ${pause.by}, resumed by ${pause.endedBy}`}
              </span>
            }
          >
            <span className="text-xs text-muted">
              <Moment at={pause.since} /> for {durationBetween(pause.since, pause.endedAt)}
            </span>
          </Line>
        ))}
      </Lines>
    </details>
  );
};
