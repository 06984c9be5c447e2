/** A walk of the whole circle on the demo ledger: a request, its transaction, the register, the callback. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { AsOf } from "../../blocks/answered.tsx";
import { Card, Empty, Failed, Loading, Notice, PageHead } from "../../blocks/blocks.tsx";
import { durationText } from "../../blocks/office.tsx";
import { Timeline, TimelineItem } from "../../blocks/timeline.tsx";
import { buttonClass } from "../../controls/button.tsx";
import { useDoing } from "../../controls/doing.tsx";
import { AskError, askPath } from "../../data/ask.ts";
import { again } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";
import { useSettings } from "../../data/settings.ts";
import { Place, STORY } from "./story.tsx";
import {
  isOver,
  type Passed,
  passedOf,
  READ,
  readStarted,
  readTour,
  STATIONS,
  settledOf,
  type Tour,
  upTo,
} from "./tour.ts";

/** While it goes on, milliseconds. */
const POLL_MS = 500;
/** Stations are shown no faster than one can read where one is. */
const STRIDE_MS = 1_100;
/** Then something is wrong with the machine, not with the reader's patience. */
const SLOW_MS = 60_000;

const Page = () => {
  const { demo } = useSettings();
  if (demo?.tour !== true) {
    return (
      <>
        <PageHead title="Guided tour" />
        <Empty title="The tour is part of the demo">
          It whitelists a wallet of nobody on a simulated ledger, which exists only where{" "}
          <code>npm start</code> runs without settings.
        </Empty>
      </>
    );
  }
  return <Guided />;
};

const Guided = () => {
  const { tour: id } = useSearch({ strict: false });
  const { key } = useSession();
  const navigate = useNavigate();
  const { busy: starting, fault, during } = useDoing();
  // Only one that began here is walked; one from a link is shown as it ended.
  const [begun, setBegun] = useState<string | null>(null);
  const start = () =>
    during(async () => {
      const next = await askPath("/demo/tour", readStarted, { body: {}, key });
      setBegun(next);
      await navigate({ to: "/tour", search: (now: object) => ({ ...now, tour: next }) });
    });
  return (
    <>
      <PageHead
        title="Whitelist a wallet"
        about="A guided tour of the whole circle: from a caller's signed request to the register, and back to the caller."
      >
        <button
          type="button"
          disabled={starting}
          className={buttonClass(id === undefined ? "strong" : "plain")}
          onClick={() => void start()}
        >
          {starting ? "Signing…" : id === undefined ? "Start the tour" : "Run again"}
        </button>
      </PageHead>
      {fault === null ? null : (
        <div className="mb-4">
          <Notice tone="bad" title="The tour could not start">
            {fault}
          </Notice>
        </div>
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
  atMs: null,
}));

const Followed = ({ id, walked }: { readonly id: string; readonly walked: boolean }) => {
  const { key } = useSession();
  const asked = useQuery({
    queryKey: ["tour", id],
    queryFn: ({ signal }) =>
      askPath(`/demo/tour/${encodeURIComponent(id)}`, readTour, { key, signal }),
    refetchInterval: (query) =>
      query.state.data !== undefined && isOver(query.state.data) ? false : again(POLL_MS)(query),
  });
  const passed = asked.data === undefined ? AHEAD : passedOf(asked.data);
  const shown = useStride(settledOf(passed), walked);
  const slow = useSlow(asked.data !== undefined && !isOver(asked.data));
  if (asked.data === undefined) {
    const gone = asked.error instanceof AskError && asked.error.status === 404;
    return gone ? (
      <Empty title="This tour is over">
        The service does not know it: it was of another demo. Start a new one.
      </Empty>
    ) : asked.error === null ? (
      <Loading lines={8} />
    ) : (
      <Failed error={asked.error} what="The tour" onRetry={() => void asked.refetch()} />
    );
  }
  return (
    <>
      <AsOf of={asked} flush />
      {slow ? (
        <div className="mb-4">
          <Notice tone="warn" title="This takes longer than it should">
            The machine is busy, or the service is behind. Status says which part waits; the tour
            goes on by itself.
          </Notice>
        </div>
      ) : null}
      <Walk id={id} tour={asked.data} passed={upTo(passed, shown)} />
    </>
  );
};

/** Follows a count one by one, calmly; at once for who wants no motion, and for what is over. */
const useStride = (count: number, walked: boolean): number => {
  const calm = walked && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const [shown, setShown] = useState(0);
  useEffect(() => {
    if (!calm || shown >= count) return;
    const timer = setTimeout(() => setShown(shown + 1), shown === 0 ? 300 : STRIDE_MS);
    return () => clearTimeout(timer);
  }, [calm, shown, count]);
  return calm ? Math.min(shown, count) : count;
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
        under={tour === null ? "not begun" : done ? "all the way round" : "under way"}
      />
      {tour !== null && done ? <Ended tour={tour} /> : null}
      <Card className="mt-4">
        <Timeline label="Stations of the tour">
          {passed.map(({ station, state, atMs }) => {
            const { title, what, real, Ids } = STORY[station];
            return (
              <TimelineItem
                key={station}
                state={state}
                title={title}
                aside={
                  atMs === null ? undefined : (
                    <time className="figures" dateTime={new Date(atMs).toISOString()}>
                      {new Date(atMs).toISOString().slice(11, 23)} UTC
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
                  <p className="mt-1 text-bad">{tour?.history.at(-1)?.message}</p>
                ) : null}
                <p className="mt-1.5 border-l-2 border-line pl-3 text-xs">
                  <strong className="font-medium text-ink">In your integration:</strong> {real} Read{" "}
                  <code className="text-ink">{READ[station]}</code>.
                </p>
              </TimelineItem>
            );
          })}
        </Timeline>
      </Card>
    </>
  );
};

const Ended = ({ tour }: { readonly tour: Tour }) => {
  const [first, last] = [tour.history[0]?.atMs, tour.history.at(-1)?.atMs];
  return (
    <div className="mt-4">
      <Notice tone="good" title="Done: the caller has the result">
        {first === undefined || last === undefined
          ? "The caller and the register agree."
          : `From the signed request to a final result in ${durationText(last - first)}; its signed callback followed at once.`}
      </Notice>
    </div>
  );
};

export default Page;
