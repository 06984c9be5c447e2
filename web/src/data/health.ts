/** `/health`: whether everything keeps up, and what does not and why. */
import { useQuery } from "@tanstack/react-query";
import type {
  HealthReport,
  Judgement,
  Note,
  QuarantinedCoin,
} from "../../../src/http/health/report.ts";
import { mostOf } from "../shown/amount.ts";
import { momentText } from "../shown/moment.ts";
import { askPath } from "./ask.ts";
import { isMoving, type PipelineStatus } from "./live.ts";
import { again } from "./queries.ts";

/** What parts of the service add to the report, as far as this page shows it. */
type Details = {
  readonly evm?: {
    readonly chains: readonly (Judgement & {
      readonly chainId: number;
      readonly network: string;
      readonly headBlock: string | null;
      readonly nextBlock: string | null;
      readonly warnings: readonly string[];
    })[];
    readonly transferEvents: readonly (Judgement & { readonly project: string })[];
  };
  readonly callbacks?: {
    readonly pending: number;
    readonly oldestPendingSeconds: number;
    readonly disabled: readonly unknown[];
    readonly failing: readonly unknown[];
  };
  readonly transferAgent?: readonly {
    readonly asset: string;
    readonly queued: number;
    readonly pending: number;
    readonly oldestSeconds: number | null;
    readonly waitingLane: string | null;
  }[];
  readonly integrity?: Judgement & {
    readonly log: {
      readonly provenThrough: string | null;
      readonly chainedThrough: string | null;
      readonly signedThrough: string | null;
      readonly checkedSecondsAgo: number | null;
    };
    readonly sums: { readonly checkedSecondsAgo: number | null };
  };
  readonly indexing?: Judgement;
  readonly processes?: readonly (Judgement & { readonly pid: number; readonly host: string })[];
  readonly queue?: Judgement;
  readonly signers?: readonly { readonly asset: string; readonly transactionsLeft: number }[];
};

export type Health = Omit<HealthReport, "details"> & { readonly details?: Details };

export const noteText = ({ reason, since }: Note): string =>
  `${reason}, since ${momentText(Date.parse(since))}`;

type Held = { readonly coins: readonly QuarantinedCoin[]; readonly isIncomplete: boolean };

/** Tokens in quarantine, and incomplete ones: from which checkpoint on, and why, by each pipeline that holds them. */
export const quarantinesOf = ({ pipelines, incomplete }: Health) => [
  ...byToken({
    coins: pipelines.flatMap(({ quarantined }) => quarantined?.first ?? []),
    isIncomplete: false,
  }),
  ...byToken({ coins: incomplete?.first ?? [], isIncomplete: true }),
];

const byToken = ({ coins, isIncomplete }: Held) =>
  [...Map.groupBy(coins, ({ coinType }) => coinType)].map(([coinType, each]) => ({
    coinType,
    isIncomplete,
    checkpoint: each
      .map(({ checkpoint }) => BigInt(checkpoint))
      .toSorted((a, b) => (a < b ? -1 : 1))[0],
    reasons: [...new Set(each.map(({ reason }) => reason))],
  }));

type Part = {
  readonly name: string;
  readonly state?: string | undefined;
  readonly reason?: string | undefined;
};

/** Every stalled part, first what stops the others; at least one when `status` is stalled. */
export const stalledParts = ({
  status,
  reason,
  reader,
  pipelines,
  details = {},
}: Health): readonly { readonly name: string; readonly reason: string | null }[] => {
  const { indexing, integrity, evm, processes = [], queue } = details;
  const parts: readonly Part[] = [
    ...(reason === undefined ? [] : [{ name: "The service", state: status, reason }]),
    { name: "The process that indexes", ...indexing },
    { ...reader, name: "The reader" },
    ...pipelines.map((one) => ({ ...one, name: `Pipeline ${one.pipeline}` })),
    { ...integrity, name: "Integrity" },
    ...(evm?.chains ?? []).map((one) => ({ ...one, name: `Chain ${one.network}` })),
    ...(evm?.transferEvents ?? []).map((one) => ({
      ...one,
      name: `Transfer events of ${one.project}`,
    })),
    // Beside one that works, a silent process is a note.
    ...(processes.every(({ state }) => state === "stalled")
      ? processes.map((one) => ({ ...one, name: `Process ${one.pid} on ${one.host}` }))
      : []),
    { ...queue, name: "The queue" },
  ];
  const stalled = parts.filter(({ state }) => state === "stalled");
  // The stalled part may be one that this page does not know.
  if (stalled.length === 0 && status === "stalled") return [{ name: "The service", reason: null }];
  return stalled.map((part) => ({ name: part.name, reason: part.reason ?? null }));
};

/**
 * The report with newer checkpoints that the subscription sent: a pipeline is never beyond the log, nor the log beyond
 * the chain's end. What neither knows stays null.
 */
export const withNewer = (
  health: Health,
  newer:
    | readonly (Pick<PipelineStatus, "pipeline" | "checkpoint"> & Partial<PipelineStatus>)[]
    | null
    | undefined,
): Health => {
  const { reader } = health;
  const pipelines = health.pipelines.map((part) => {
    const sent = newer?.find(({ pipeline }) => pipeline === part.pipeline);
    if (sent?.checkpoint == null) return part;
    if (BigInt(sent.checkpoint) <= BigInt(part.checkpoint ?? -1)) return part;
    const { checkpoint, checkpointTimestamp = null } = sent;
    return { ...part, checkpoint, checkpointTimestamp };
  });
  const checkpoint = newestOf([reader.checkpoint, ...pipelines.map((part) => part.checkpoint)]);
  const tip = reader.tip === null ? null : newestOf([reader.tip, checkpoint]);
  return { ...health, pipelines, reader: { ...reader, checkpoint, tip } };
};

const newestOf = (checkpoints: readonly (string | null | undefined)[]): string | null => {
  const known = checkpoints.filter((one) => one != null).map(BigInt);
  return known.length === 0 ? null : String(mostOf(known));
};

/** `/health` answers within two seconds, whatever its database does. Milliseconds. */
const TIMEOUT_MS = 6_000;

/** Without its database the service reports what it knows in a 503. */
const isReport = (body: unknown): boolean =>
  typeof body === "object" && body !== null && "pipelines" in body;

const FAILED_AGAIN_MS = 1_500;

/** Intervals of reading it: while something is behind or stalled, while all is well, and while the stream shows that. */
const TROUBLED_MS = 5_000;
const WELL_MS = 15_000;
const MOVING_MS = 20_000;

/**
 * `/health`, also in the background: what is seen next must not be old. Rarely while all is well, as the stream then
 * shows that the service indexes.
 * @param mostMs longest interval, milliseconds
 */
export const useHealth = (mostMs = MOVING_MS) => {
  const everyMs = (health: Health | undefined) => {
    if (health?.status === "catching_up" || health?.status === "stalled") return TROUBLED_MS;
    return health?.status === "ok" && isMoving() ? MOVING_MS : WELL_MS;
  };
  const every = ({
    state,
  }: {
    readonly state: { error: Error | null; data: Health | undefined };
  }) => again(Math.min(mostMs, everyMs(state.data)))({ state });
  return useQuery({
    queryKey: ["path", "/health"],
    queryFn: ({ signal }) =>
      askPath<Health>("/health", { signal, timeoutMs: TIMEOUT_MS, isAnswer: isReport }),
    retry: false,
    refetchInterval: ({ state }): number | false =>
      state.error === null ? every({ state }) : FAILED_AGAIN_MS,
    refetchIntervalInBackground: true,
  });
};
