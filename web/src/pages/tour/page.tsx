/** A guided tour on the demo ledger: a request, its transaction, the register, the callback. */
import { useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty, Notice, PageHead } from "../../blocks/blocks.tsx";
import { TimelineItem } from "../../blocks/timeline.tsx";
import { Button, useAction } from "../../controls/controls.tsx";
import type { Tour, TourBegun } from "../../data/answers.ts";
import { askPath } from "../../data/ask.ts";
import { usePath } from "../../data/queries.ts";
import { useSession, useSettings } from "../../data/session.ts";
import { useChangeAddress } from "../../data/tokens.ts";
import { durationBetween } from "../../shown/moment.ts";
import { Place, STORY } from "./story.tsx";
import { isOver, type Passed, passedOf, READ, STATIONS, settledOf, upTo } from "./tour.ts";

/** While it runs, milliseconds. */
const POLL_MS = 500;
/** Stations are shown no faster than one can read. */
const STEP_MS = 1_100;
/** After this time a notice is shown, milliseconds. */
const SLOW_MS = 60_000;

const Page = () => {
  const { demo } = useSettings();
  if (demo?.tour !== true) {
    return (
      <>
        <PageHead title="Guided tour" />
        <Empty title="The tour is part of the demo">
          It whitelists a wallet of a fictional investor on a simulated ledger, which only{" "}
          <code>npm start</code> without settings has.
        </Empty>
      </>
    );
  }
  return <Guided />;
};

const Guided = () => {
  const { tour: id } = useSearch({ strict: false });
  const { key } = useSession();
  const change = useChangeAddress();
  const { busy: starting, fault, run } = useAction();
  // Only a tour that began here is animated; one from a link is shown as it is.
  const [begun, setBegun] = useState<string | null>(null);
  const start = () =>
    run(async () => {
      const { tourId: next } = await askPath<TourBegun>("/demo/tour", { body: {}, key });
      setBegun(next);
      change({ tour: next });
    });
  return (
    <>
      <PageHead
        title="Whitelist a wallet"
        about="A guided tour: from a caller's signed request to the register, and back to the caller."
      >
        <Button
          look={id === undefined ? "strong" : "plain"}
          disabled={starting}
          onClick={() => void start()}
        >
          {starting ? "Signing…" : id === undefined ? "Start the tour" : "Run again"}
        </Button>
      </PageHead>
      {fault === null ? null : (
        <Notice tone="bad" title="The tour could not start" className="mb-4">
          {fault}
        </Notice>
      )}
      {id === undefined ? (
        <Walk tour={null} passed={AHEAD} />
      ) : (
        <Followed key={id} id={id} walked={begun === id} />
      )}
    </>
  );
};

const AHEAD: readonly Passed[] = STATIONS.map((station) => ({
  station,
  state: "later",
  at: null,
}));

const Followed = ({ id, walked }: { readonly id: string; readonly walked: boolean }) => {
  const query = usePath<Tour>(`/demo/tour/${encodeURIComponent(id)}`, {
    steady: true,
    everyMs: (tour) => (tour !== undefined && isOver(tour) ? false : POLL_MS),
  });
  const { data } = query;
  const passed = data === undefined ? AHEAD : passedOf(data);
  const shown = useStepwise(settledOf(passed), walked);
  const slow = useSlow(data !== undefined && !isOver(data));
  const missing = <Empty title="Unknown tour">It belongs to another demo. Start a new one.</Empty>;
  return (
    <Answered of={query} what="The tour" lines={8} card missing={missing}>
      {(tour) => (
        <>
          {slow ? (
            <Notice tone="warn" title="This takes longer than usual" className="mb-4">
              The machine is busy, or the service is behind. Status shows which part; the tour
              continues automatically.
            </Notice>
          ) : null}
          <Walk id={id} tour={tour} passed={upTo(passed, shown)} />
        </>
      )}
    </Answered>
  );
};

/** Follows a count step by step; without steps for reduced motion, and for a tour that did not begin here. */
const useStepwise = (count: number, walked: boolean): number => {
  const isAnimated = walked && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const [shown, setShown] = useState(0);
  useEffect(() => {
    if (!isAnimated || shown >= count) return;
    const timer = setTimeout(() => setShown(shown + 1), shown === 0 ? 300 : STEP_MS);
    return () => clearTimeout(timer);
  }, [isAnimated, shown, count]);
  return isAnimated ? Math.min(shown, count) : count;
};

const useSlow = (waiting: boolean): boolean => {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!waiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [waiting]);
  return slow;
};

const Walk = ({
  id,
  tour,
  passed,
}: {
  readonly id?: string;
  readonly tour: Tour | null;
  readonly passed: readonly Passed[];
}) => {
  const current = passed.find(({ state }) => state === "now" || state === "failed");
  const done = passed.every(({ state }) => state === "done");
  return (
    <>
      <Place
        station={current?.station ?? (done ? "callback" : null)}
        under={tour === null ? "not started" : done ? "done" : "in progress"}
      />
      {tour !== null && done ? <Ended tour={tour} /> : null}
      <Card className="mt-4">
        <ol aria-label="Stations of the tour">
          {passed.map(({ station, state, at }) => {
            const { title, what, real, Ids } = STORY[station];
            return (
              <TimelineItem
                key={station}
                state={state}
                title={title}
                aside={
                  at === null ? undefined : (
                    <time className="figures" dateTime={at}>
                      {at.slice(11, 23)} UTC
                    </time>
                  )
                }
              >
                <p>{what}</p>
                {tour !== null && id !== undefined && state === "done" ? (
                  <div className="mt-1.5 text-ink">
                    <Ids tour={tour} id={id} />
                  </div>
                ) : null}
                {state === "failed" ? (
                  <p className="mt-1 text-bad">{tour?.request.history.at(-1)?.message}</p>
                ) : null}
                <p className="mt-1.5 border-l-2 border-line pl-3 text-xs">
                  <strong className="font-medium text-ink">In your integration:</strong> {real} Read{" "}
                  <code className="text-ink">{READ[station]}</code>.
                </p>
              </TimelineItem>
            );
          })}
        </ol>
      </Card>
    </>
  );
};

const Ended = ({ tour }: { readonly tour: Tour }) => {
  const { history } = tour.request;
  const [first, last] = [history[0]?.at, history.at(-1)?.at];
  return (
    <Notice tone="good" title="Done: the caller has the result" className="mt-4">
      {first === undefined || last === undefined
        ? "The caller and the register agree."
        : `From the signed request to the final result in ${durationBetween(first, last)}; the signed callback followed.`}
    </Notice>
  );
};

export default Page;
