/** `/health` as the page reads it: whether everything keeps up, and what does not and why. */
import { useQuery } from "@tanstack/react-query";
import { fromSeconds, momentText } from "../shown/moment.ts";
import { askPath } from "./ask.ts";
import { again } from "./queries.ts";
import { number, type Reader, reading, text } from "./read.ts";

export type State = "ok" | "catching_up" | "stalled" | "unknown";

const STATES: readonly State[] = ["ok", "catching_up", "stalled", "unknown"];

const stateOf = (it: Reader): State => {
  const said = it.maybe(text);
  return STATES.find((state) => state === said) ?? "unknown";
};

const partOf = (it: Reader) => ({
  checkpoint: it.at("checkpoint").maybe(text),
  /** Time of that checkpoint, milliseconds. */
  timeMs: it.at("checkpointTimestamp").maybe((seconds) => fromSeconds(seconds.text())),
  /** Checkpoints of work. */
  lag: it.at("lagCheckpoints").maybe((lag) => lag.amount()),
  ...standing(it),
});

/** How a part is, and why where it is not well. */
const standing = (it: Reader) => ({
  state: stateOf(it.at("state")),
  reason: it.at("reason").maybe(text),
});

const integrityOf = (it: Reader) => {
  const log = it.at("log");
  return {
    ...standing(it),
    provenThrough: log.at("provenThrough").maybe(text),
    chainedThrough: log.at("chainedThrough").maybe(text),
    signedThrough: log.at("signedThrough").maybe(text),
    logCheckedSecondsAgo: log.at("checkedSecondsAgo").maybe(number),
    sumsCheckedSecondsAgo: it.at("sums").at("checkedSecondsAgo").maybe(number),
  };
};
export type Integrity = ReturnType<typeof integrityOf>;

const chainOf = (it: Reader) => ({
  chainId: it.at("chainId").number(),
  network: it.at("network").text(),
  headBlock: it.at("headBlock").maybe(text),
  nextBlock: it.at("nextBlock").maybe(text),
  ...standing(it),
  warnings: it.at("warnings").maybe((warnings) => warnings.list(text)) ?? [],
});

const countOf = (it: Reader): number => it.maybe((list) => list.list(() => 1).length) ?? 0;

const healthOf = (it: Reader) => {
  const details = it.at("details").maybe((one) => one);
  const detail = <Value>(name: string, read: (one: Reader) => Value): Value | null =>
    details === null ? null : details.at(name).maybe(read);
  const reader = it.at("reader");
  const processes =
    detail("processes", (one) =>
      one.list((process) => ({
        name: `Process ${process.at("pid").number()} on ${process.at("host").text()}`,
        ...standing(process),
      })),
    ) ?? [];
  const queue = detail("queue", (one) => ({ name: "The queue", ...standing(one) }));
  /** Processes that index, where none of them is alive, and the queue: what else can stall. */
  const others: readonly (typeof processes)[number][] = [
    // Beside one that works a silent one is a note.
    ...(processes.every(({ state }) => state === "stalled") ? processes : []),
    ...(queue === null ? [] : [queue]),
  ];
  return {
    version: it.at("version").text(),
    status: stateOf(it.at("status")),
    pipelines: it.at("pipelines").list((one) => ({
      name: one.at("pipeline").text(),
      ...partOf(one),
      filledThrough: one.at("historyFilledThrough").maybe(text),
    })),
    reader: {
      ...partOf(reader),
      tip: reader.at("tip").maybe(text),
      source: reader.at("source").maybe((one) => ({
        source: one.at("source").text(),
        silentSeconds: one.at("silentSeconds").maybe(number),
        error: one.at("error").maybe(text),
      })),
    },
    evm: detail("evm", (one) => ({
      chains: one.at("chains").list(chainOf),
      records: one.at("transferEvents").list((record) => ({
        project: record.at("project").text(),
        ...standing(record),
      })),
    })),
    callbacks: detail("callbacks", (one) => ({
      pending: one.at("pending").number(),
      oldestPendingSeconds: one.at("oldestPendingSeconds").number(),
      disabled: countOf(one.at("disabled")),
      failing: countOf(one.at("failing")),
    })),
    transferAgent:
      detail("transferAgent", (one) =>
        one.list((asset) => ({
          asset: asset.at("asset").text(),
          queued: asset.at("queued").number(),
          pending: asset.at("pending").number(),
          oldestSeconds: asset.at("oldestSeconds").maybe(number),
          waitingLane: asset.at("waitingLane").maybe((lane) => lane.said()),
        })),
      ) ?? [],
    integrity: detail("integrity", integrityOf),
    indexing: detail("indexing", standing),
    others,
    signers:
      detail("signers", (one) =>
        one.list((signer) => ({
          asset: signer.at("asset").text(),
          transactionsLeft: signer.at("transactionsLeft").number(),
        })),
      ) ?? [],
    /** Why it cannot be told how things are now: the rest is of before. Null while it can. */
    reason: it.at("reason").maybe(text),
    /** What wants a look and makes no other `status`, not yet or not at all. */
    notes: it.at("notes").maybe((notes) => notes.list(noteOf)) ?? [],
    /** How old the answer was when it was given, such as while the database does not answer. */
    ageSeconds: it.at("ageSeconds").maybe(number) ?? 0,
  };
};
export type HealthSeen = ReturnType<typeof healthOf>;

const noteOf = (it: Reader): string => {
  const sinceMs = it.at("since").maybe((since) => Date.parse(since.text()));
  const reason = it.at("reason").text();
  return sinceMs === null ? reason : `${reason}, since ${momentText(sinceMs)}`;
};

/** For `GET /health`. */
export const readHealth = reading("health", healthOf);

/** Everything that is stalled, first what stops the others; `stalled` as a whole has one at least. */
export const stalledParts = ({
  status,
  reason: whole,
  reader,
  pipelines,
  integrity,
  indexing,
  evm,
  others,
}: HealthSeen): readonly { readonly name: string; readonly reason: string | null }[] => {
  const parts = [
    { name: "The service", state: whole === null ? undefined : status, reason: whole },
    { name: "The process that indexes", state: indexing?.state, reason: indexing?.reason ?? null },
    { name: "The reader", state: reader.state, reason: reader.reason },
    ...pipelines.map(({ name, state, reason }) => ({ name: `Pipeline ${name}`, state, reason })),
    { name: "Integrity", state: integrity?.state, reason: integrity?.reason ?? null },
    ...(evm?.chains ?? []).map((one) => ({ ...one, name: `Chain ${one.network}` })),
    ...(evm?.records ?? []).map((one) => ({ ...one, name: `Transfer events of ${one.project}` })),
    ...others,
  ].filter(({ state }) => state === "stalled");
  // One that this page does not know yet.
  return parts.length === 0 && status === "stalled"
    ? [{ name: "The service", reason: null }]
    : parts.map(({ name, reason }) => ({ name, reason }));
};

/** `/health` answers within two seconds whatever its database does; then nobody is there. Milliseconds. */
const DEADLINE_MS = 6_000;

/** Without its database the service tells what it knows in a 503. */
const isReport = (body: unknown): boolean =>
  typeof body === "object" && body !== null && "pipelines" in body;

/** `/health`, asked again every `everyMs`, also while nobody looks: what is seen next must not be old. */
export const useHealth = (everyMs = 2_000) => {
  const every = again(everyMs);
  return useQuery({
    queryKey: ["path", "/health"],
    queryFn: ({ signal }) =>
      askPath("/health", readHealth, { signal, deadlineMs: DEADLINE_MS, isAnswer: isReport }),
    retry: false,
    refetchInterval: ({ state }) => (state.error === null ? every({ state }) : FAILED_AGAIN_MS),
    refetchIntervalInBackground: true,
  });
};

const FAILED_AGAIN_MS = 1_500;
