/** `/health` as the page reads it: whether everything keeps up, and what does not and why. */
import { useQuery } from "@tanstack/react-query";
import { fromSeconds, momentText } from "../shown/moment.ts";
import { askPath } from "./ask.ts";
import { again } from "./queries.ts";
import { type Reader, reading } from "./read.ts";

export type State = "ok" | "catching_up" | "stalled" | "unknown";

export type Part = {
  readonly name: string;
  readonly checkpoint: string | null;
  /** Time of that checkpoint, milliseconds. */
  readonly timeMs: number | null;
  /** Checkpoints of work. */
  readonly lag: bigint | null;
  readonly state: State;
  readonly reason: string | null;
  readonly filledThrough: string | null;
};

export type HealthSeen = {
  readonly version: string;
  readonly status: State;
  readonly pipelines: readonly Part[];
  readonly reader: Part & {
    readonly tip: string | null;
    readonly source: {
      readonly source: string;
      readonly silentSeconds: number | null;
      readonly error: string | null;
    } | null;
  };
  readonly evm: {
    readonly chains: readonly EvmChain[];
    readonly records: readonly {
      readonly project: string;
      readonly chainId: number;
      readonly lag: bigint | null;
      readonly state: State;
      readonly reason: string | null;
    }[];
  } | null;
  readonly callbacks: {
    readonly pending: number;
    readonly oldestPendingSeconds: number;
    readonly disabled: number;
    readonly failing: number;
  } | null;
  readonly transferAgent: readonly {
    readonly asset: string;
    readonly queued: number;
    readonly pending: number;
    readonly oldestSeconds: number | null;
    readonly waitingLane: string | null;
  }[];
  readonly integrity: Integrity | null;
  readonly indexing: { readonly state: State; readonly reason: string | null } | null;
  /** Processes that index, where none of them is alive, and the queue: what else can stall. */
  readonly others: readonly {
    readonly name: string;
    readonly state: State;
    readonly reason: string | null;
  }[];
  readonly signers: readonly { readonly asset: string; readonly transactionsLeft: number }[];
  /** Why it cannot be told how things are now: the rest is of before. Null while it can. */
  readonly reason: string | null;
  /** What wants a look and makes no other `status`, not yet or not at all. */
  readonly notes: readonly string[];
  /** How old the answer was when it was given, such as while the database does not answer. */
  readonly ageSeconds: number;
};

export type EvmChain = {
  readonly chainId: number;
  readonly network: string;
  readonly headBlock: string | null;
  readonly nextBlock: string | null;
  readonly headAgeSeconds: number | null;
  readonly state: State;
  readonly reason: string | null;
  readonly warnings: readonly string[];
};

export type Integrity = {
  readonly state: State;
  readonly reason: string | null;
  readonly provenThrough: string | null;
  readonly chainedThrough: string | null;
  readonly signedThrough: string | null;
  readonly log: Checked;
  readonly sums: Checked;
};

export type Checked = {
  readonly through: string | null;
  readonly secondsAgo: number | null;
};

const STATES: readonly State[] = ["ok", "catching_up", "stalled", "unknown"];

const stateOf = (it: Reader): State => {
  const said = it.maybe((one) => one.text());
  return STATES.find((state) => state === said) ?? "unknown";
};

const textOf = (it: Reader) => it.maybe((one) => one.text());
const numberOf = (it: Reader) => it.maybe((one) => one.number());

const partOf = (it: Reader, name: string): Part => ({
  name,
  checkpoint: textOf(it.at("checkpoint")),
  timeMs: it.at("checkpointTimestamp").maybe((time) => fromSeconds(time.text())),
  lag: it.at("lagCheckpoints").maybe((lag) => lag.amount()),
  state: stateOf(it.at("state")),
  reason: textOf(it.at("reason")),
  filledThrough: textOf(it.at("historyFilledThrough")),
});

const checkedOf = (it: Reader): Checked => ({
  through: textOf(it.at("checkedThrough")),
  secondsAgo: numberOf(it.at("checkedSecondsAgo")),
});

const integrityOf = (it: Reader): Integrity => ({
  state: stateOf(it.at("state")),
  reason: textOf(it.at("reason")),
  provenThrough: textOf(it.at("log").at("provenThrough")),
  chainedThrough: textOf(it.at("log").at("chainedThrough")),
  signedThrough: textOf(it.at("log").at("signedThrough")),
  log: checkedOf(it.at("log")),
  sums: checkedOf(it.at("sums")),
});

const chainOf = (it: Reader): EvmChain => ({
  chainId: it.at("chainId").number(),
  network: it.at("network").text(),
  headBlock: textOf(it.at("headBlock")),
  nextBlock: textOf(it.at("nextBlock")),
  headAgeSeconds: numberOf(it.at("headAgeSeconds")),
  state: stateOf(it.at("state")),
  reason: textOf(it.at("reason")),
  warnings: it.at("warnings").maybe((list) => list.list((one) => one.text())) ?? [],
});

const countOf = (it: Reader): number => it.maybe((list) => list.list(() => 1).length) ?? 0;

const healthOf = (it: Reader): HealthSeen => {
  const details = it.at("details").maybe((one) => one);
  const detail = <Value>(name: string, read: (one: Reader) => Value): Value | null =>
    details === null ? null : details.at(name).maybe(read);
  const reader = it.at("reader");
  const processes =
    detail("processes", (one) =>
      one.list((process) => ({
        name: `Process ${process.at("pid").number()} on ${process.at("host").text()}`,
        state: stateOf(process.at("state")),
        reason: textOf(process.at("reason")),
      })),
    ) ?? [];
  const queue = detail("queue", (one) => ({
    name: "The queue",
    state: stateOf(one.at("state")),
    reason: textOf(one.at("reason")),
  }));
  return {
    version: it.at("version").text(),
    status: stateOf(it.at("status")),
    pipelines: it.at("pipelines").list((one) => partOf(one, one.at("pipeline").text())),
    reader: {
      ...partOf(reader, "reader"),
      tip: textOf(reader.at("tip")),
      source: reader.at("source").maybe((one) => ({
        source: one.at("source").text(),
        silentSeconds: numberOf(one.at("silentSeconds")),
        error: textOf(one.at("error")),
      })),
    },
    evm: detail("evm", (one) => ({
      chains: one.at("chains").list(chainOf),
      records: one.at("transferEvents").list((record) => ({
        project: record.at("project").text(),
        chainId: record.at("chainId").number(),
        lag: record.at("lagBlocks").maybe((lag) => lag.amount()),
        state: stateOf(record.at("state")),
        reason: textOf(record.at("reason")),
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
          oldestSeconds: numberOf(asset.at("oldestSeconds")),
          waitingLane: asset.at("waitingLane").maybe((lane) => lane.said()),
        })),
      ) ?? [],
    integrity: detail("integrity", integrityOf),
    indexing: detail("indexing", (one) => ({
      state: stateOf(one.at("state")),
      reason: textOf(one.at("reason")),
    })),
    others: [
      // Beside one that works a silent one is a note.
      ...(processes.every(({ state }) => state === "stalled") ? processes : []),
      ...(queue === null ? [] : [queue]),
    ],
    signers:
      detail("signers", (one) =>
        one.list((signer) => ({
          asset: signer.at("asset").text(),
          transactionsLeft: signer.at("transactionsLeft").number(),
        })),
      ) ?? [],
    reason: textOf(it.at("reason")),
    notes: it.at("notes").maybe((notes) => notes.list(noteOf)) ?? [],
    ageSeconds: numberOf(it.at("ageSeconds")) ?? 0,
  };
};

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
