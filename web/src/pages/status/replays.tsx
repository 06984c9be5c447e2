/** Replays of pipelines: how far each is, and which rows differed. */
import { Badge, Finding, Line, type Tone } from "../../blocks/blocks.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { again, NOW, useRead } from "../../data/queries.ts";
import { useService } from "../../data/service.tsx";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds, spanText } from "../../shown/moment.ts";
import { Ago } from "../../shown/shown.tsx";

const replaysQuery = graph(`query Replays {
  replays {
    pipeline reason state updatedTimestamp
    progress { checkpoint of ratePerSecond secondsLeft }
    comparison {
      checkpoint timestamp rows
      differences {
        table count
        rows { onlyIn key { name served replayed } columns { name served replayed } }
      }
    }
  }
}`);

type Replay = NonNullable<ResultOf<typeof replaysQuery>["replays"]>[number];
type Comparison = NonNullable<Replay["comparison"]>;
type Table = Comparison["differences"][number];
type Row = Table["rows"][number];
type Column = Row["columns"][number];

/** Intervals of refreshing, milliseconds: while one is under way, and while none is. */
const REFRESH_MS = 2_000;
const IDLE_MS = 60_000;

/** Nothing where no pipeline was ever replayed. */
export const Replays = () => {
  const replays = useRead(NOW, ["replays"], (asking) => ask(replaysQuery, {}, asking), {
    refetchInterval: ({ state }) =>
      again(state.data?.replays?.some(isUnderWay) ? REFRESH_MS : IDLE_MS)({ state }),
  });
  if (replays.data === undefined ? replays.error === null : !replays.data.replays?.length)
    return null;
  return (
    <LinesCard
      title="Replays"
      about="Rows made again from the log, beside the served ones"
      of={replays}
      what="The replays"
      rows={({ replays: rows }) => [
        ...(rows ?? []).filter(isUnderWay),
        ...(rows ?? []).filter((replay) => !isUnderWay(replay)),
      ]}
      empty={{ title: "No replays" }}
    >
      {(replay) => <ReplayLines key={replay.pipeline} replay={replay} />}
    </LinesCard>
  );
};

const isUnderWay = ({ state }: Replay): boolean => state === "running" || state === "comparing";

const STATES: Readonly<Record<string, readonly [tone: Tone, word: string]>> = {
  running: ["accent", "in progress"],
  comparing: ["accent", "comparing"],
  compared: ["plain", "compared"],
  swapped: ["good", "served"],
  dropped: ["plain", "removed"],
  stopped: ["warn", "stopped"],
};

const ReplayLines = ({ replay }: { readonly replay: Replay }) => {
  const { pipeline, reason, state, comparison } = replay;
  const { old } = useService();
  const [tone, word] = STATES[state] ?? ["plain", state];
  return (
    <>
      <Line
        name={
          <span className="inline-flex flex-wrap items-center gap-2">
            <span className="font-mono text-[0.92em]">{pipeline}</span>
            {old ? <Badge>last: {word}</Badge> : <Badge tone={tone}>{word}</Badge>}
            {reason === "upgrade" ? <Badge>upgrade</Badge> : null}
            {reason === "source" ? <Badge>read from the ledger again</Badge> : null}
          </span>
        }
        about={<Progress replay={replay} />}
      >
        {comparison === null ? null : <Compared comparison={comparison} />}
      </Line>
      {comparison?.differences.map((table) => (
        <li key={table.table} className="px-4 py-2">
          <DifferingTable table={table} />
        </li>
      ))}
    </>
  );
};

const Progress = ({
  replay: { state, updatedTimestamp, progress },
}: {
  readonly replay: Replay;
}) => {
  const { old } = useService();
  const { checkpoint, of, ratePerSecond, secondsLeft } = progress;
  if (state !== "running" && state !== "stopped") return <Ago at={fromSeconds(updatedTimestamp)} />;
  const place = `checkpoint ${placeText(checkpoint)} of ${placeText(of)}`;
  if (state === "stopped")
    return (
      <>
        {place}, <Ago at={fromSeconds(updatedTimestamp)} />
      </>
    );
  const left = secondsLeft === null ? "unknown" : spanText(secondsLeft);
  return (
    <span className="figures">
      {place}
      {old ? null : ` · ${countText(Math.round(ratePerSecond))} per second · time left ${left}`}
    </span>
  );
};

/** Before the first checkpoint of the log it is one less. */
const placeText = (checkpoint: string): string =>
  checkpoint.startsWith("-") ? "none" : countText(checkpoint);

const Compared = ({ comparison }: { readonly comparison: Comparison }) => {
  const { checkpoint, rows, differences } = comparison;
  const count = differences.reduce((sum, table) => sum + table.count, 0);
  const at = checkpoint === null ? "" : ` at checkpoint ${countText(checkpoint)}`;
  return count === 0 ? (
    <Finding tone="good" word="identical" className="text-xs">
      {countText(rows)} rows{at}
    </Finding>
  ) : (
    <Finding tone="bad" word={differ(count)} className="text-xs">
      of {countText(rows)}
      {at}
    </Finding>
  );
};

const differ = (count: number): string =>
  count === 1 ? "1 row differs" : `${countText(count)} rows differ`;

const DifferingTable = ({ table: { table, count, rows } }: { readonly table: Table }) => (
  <details>
    <summary className="cursor-pointer font-medium hover:text-accent">
      <span className="font-mono text-[0.92em]">{table}</span>: {differ(count)}
    </summary>
    <ul className="mt-2 max-h-96 divide-y divide-line overflow-auto rounded-lg border border-line text-xs">
      {rows.map((row) => (
        <DifferingRow key={JSON.stringify(row.key)} row={row} />
      ))}
    </ul>
    {rows.length < count ? (
      <p className="mt-1 text-xs text-muted">
        {rows.length === 0 ? "No rows kept" : `First ${countText(rows.length)} shown`}
      </p>
    ) : null}
  </details>
);

const DifferingRow = ({ row: { onlyIn, key, columns } }: { readonly row: Row }) => (
  <li className="space-y-1 px-3 py-2">
    <div className="flex flex-wrap items-center gap-x-3">
      {key.map((column) => (
        <Named key={column.name} name={column.name}>
          <ValueText text={column.served ?? column.replayed} what={column.name} />
        </Named>
      ))}
      {onlyIn === null ? null : (
        <Badge tone="warn">{onlyIn === "served" ? "only served" : "only in the replay"}</Badge>
      )}
    </div>
    <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5">
      {columns.map((column) => (
        <Named key={column.name} name={column.name}>
          <Changed column={column} onlyIn={onlyIn} />
        </Named>
      ))}
    </div>
  </li>
);

const Named = ({
  name,
  children,
}: {
  readonly name: string;
  readonly children: React.ReactNode;
}) => (
  <span className="inline-flex max-w-full flex-wrap items-center gap-1">
    <span className="text-muted">{name}</span>
    {children}
  </span>
);

const Changed = ({
  column: { name, served, replayed },
  onlyIn,
}: {
  readonly column: Column;
  readonly onlyIn: Row["onlyIn"];
}) =>
  onlyIn === null ? (
    <>
      <ValueText text={served} what={`${name}, served`} />
      <span className="text-muted">served,</span>
      <ValueText text={replayed} what={`${name}, replayed`} />
      <span className="text-muted">replayed</span>
    </>
  ) : (
    <ValueText text={served ?? replayed} what={name} />
  );

/** Longer texts are ids. */
const SHORT = 24;

const ValueText = ({ text, what }: { readonly text: string | null; readonly what: string }) =>
  text === null ? (
    <span className="text-muted">none</span>
  ) : text.length > SHORT ? (
    <LongId text={text} what={what} />
  ) : (
    <span className="figures font-medium">{text}</span>
  );
