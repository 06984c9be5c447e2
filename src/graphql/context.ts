/** What resolvers are given: the statements that their field declares, and what a process shares. */
import type { Readers, Reads, Snapshot } from "../database/readers.ts";
import type { MaybePromise } from "../database/short-cache.ts";
import type { LabelKeys } from "../labels/read.ts";
import type { FindSummaries } from "../projections/asking.ts";
import { type CapTables, createCapTables } from "../projections/cap-tables.ts";
import { type GuardedReads, guardedReads } from "../projections/guarded-reads.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import type { Reach } from "../projections/reach.ts";
import { createCoins, type RequestCoins } from "./coins.ts";
import type { UnlimitedList } from "./field-reads.ts";
import { createLeftOut, type LeftOut } from "./left-out.ts";
import type { ReadPlan } from "./read-plan.ts";
import type { RequestScope } from "./request.ts";
import { type AgentNames, createShownLabels, NO_LABELS, type ShownLabels } from "./shown-labels.ts";
import type { Pace } from "./streams/catch-up.ts";
import { createWatcher, type Watcher } from "./streams/watcher.ts";
import { createTurns } from "./turns.ts";

/** What the API is made over; the same for all requests. */
export type GraphSources = {
  /** Readers of queries and coin types; read-only, with a statement timeout. */
  readonly readers: {
    for(...request: Parameters<Readers["for"]>): Reads;
    snapshot(...request: Parameters<Readers["snapshot"]>): Reads & Pick<Snapshot, "end">;
  };
  /** For what is shared by requests, and for subscriptions; those of `readers` unless given. */
  readonly lookUps?: Reads | undefined;
  /** Addresses of the security-token package as the log knows them: roles of these types have bits. */
  readonly packages: () => MaybePromise<readonly string[]>;
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly ProgressTables[];
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Cached registers, shared by their readers in this process; created unless given. */
  readonly capTables?: CapTables | undefined;
  /**
   * Calls `onNotify` after every append to the log, until `signal` aborts; some may be missed. Without it
   * subscriptions poll every few seconds.
   */
  readonly onAppend?: ((onNotify: () => void, signal: AbortSignal) => void) | undefined;
  /** Waits for checkpoints that requests need (`X-Min-Checkpoint`); without it they are not waited for. */
  readonly reach?: Reach | undefined;
  /** Finds checkpoints between those that were read; without it they are NOT_YET_INDEXED. */
  readonly findSummaries?: FindSummaries | undefined;
  /** Opens sealed labels; without it they have no text. */
  readonly labelKeys?: LabelKeys | undefined;
  /** For operators' keys, beside labels. */
  readonly agentNames?: AgentNames | undefined;
  /** Called with each failure of reading for subscriptions, which is retried. */
  readonly onTrouble?: ((error: Error) => void) | undefined;
};

/** What a subscription follows logs with. */
export type Subscriber = {
  readonly watcher: Watcher;
  readonly pace: Pace;
  /** Aborts when the subscription is over. */
  readonly signal: AbortSignal;
  /** `Last-Event-ID` of a reconnection, which replaces the argument `after`. */
  readonly lastEventId: string | undefined;
  /** Called with the place where a subscription without `after` begins, in the form of `after`. */
  readonly beganAt: (place: string) => void;
};

/** What the resolvers of one request share, and what each reads with. */
export type GraphContext = Pick<GraphSources, "packages" | "pipelines" | "now"> &
  RequestCoins & {
    /** The context of a field that reads these pipelines, see `ReadingContext`. */
    readsOf(pipelines: readonly ProgressTables[]): GraphContext;
    /** Set for subscriptions only. */
    readonly subscriber?: Subscriber | undefined;
    /** Cached for all requests of a process. */
    readonly capTables: CapTables;
    /**
     * Statements over the pipelines that the field declares, refused while one of them is rebuilt. They end when
     * the caller hangs up.
     */
    readonly reads: GuardedReads;
    /** As `reads`, for statements that may take long although their answer is small. */
    longReads(): GuardedReads;
    /** Statements about the log and the watermarks alone. */
    readonly watermarkReads: Reads;
    readonly leftOut: LeftOut;
    readonly labels: ShownLabels;
    readonly labelKeys: LabelKeys;
    /**
     * Reads a list without a limit: like a page if it was short last time, else one at a time of all requests.
     * @throws HttpError (503) when it cannot wait, or waited in vain
     */
    unlimited<Row>(
      list: UnlimitedList,
      rowsOn: (reads: GuardedReads) => Promise<readonly Row[]>,
    ): Promise<readonly Row[]>;
  };

/** The context of a request whose resolvers are about to run. */
type OpenContext = {
  readonly context: GraphContext;
  /** Call it when the execution has ended, however it ended. */
  end(): void;
};

/** Coin types are read by key: one row each. */
const LOOK_UP_WEIGHT = 1;

/** The statements of a request, and its turn for lists without a limit. */
type RequestReads = {
  readonly reads: Reads;
  readonly longReads: Reads;
  alone<Made>(work: () => Promise<Made>): Promise<Made>;
};

type QueryScope = Pick<RequestScope, "key" | "seesLabels" | "isOperator" | "signal">;

/** Makes the contexts of queries and of subscriptions. */
export const createContexts = (sources: GraphSources) => {
  const { readers, packages, pipelines, now, capTables = createCapTables() } = sources;
  const { labelKeys = async () => undefined } = sources;
  const { lookUps = readers.for(undefined, LOOK_UP_WEIGHT) } = sources;
  const coins = createCoins(lookUps);
  const turns = createTurns();
  const watcher = createWatcher({
    reads: lookUps,
    packages,
    pipelines,
    onAppend: sources.onAppend ?? (() => undefined),
    onTrouble: sources.onTrouble ?? (() => undefined),
  });

  const contextOver = (
    { reads, longReads, alone }: RequestReads,
    scope: Pick<RequestScope, "seesLabels" | "isOperator"> & Pick<GraphContext, "subscriber">,
  ): GraphContext => {
    const shared: GraphContext = {
      ...coins.forRequest(),
      leftOut: createLeftOut(),
      labels: scope.seesLabels
        ? createShownLabels(reads, labelKeys, scope.isOperator ? sources.agentNames : undefined)
        : NO_LABELS,
      labelKeys,
      packages,
      pipelines,
      now,
      capTables,
      subscriber: scope.subscriber,
      watermarkReads: reads,
      reads: UNDECLARED,
      longReads: undeclared,
      unlimited: undeclared,
      readsOf: (needed) => {
        if (needed.length === 0) return shared;
        const own = guardedReads(reads, needed);
        const ownLong = () => guardedReads(longReads, needed);
        return {
          ...shared,
          reads: own,
          longReads: ownLong,
          unlimited: async (list, rowsOn) => {
            const rows = turns.lengths.isShort(list)
              ? await rowsOn(own)
              : await alone(() => rowsOn(ownLong()));
            turns.lengths.set(list, rows.length);
            return rows;
          },
        };
      },
    };
    return shared;
  };

  /** One snapshot for all statements. What may take long waits before it is taken, not inside. */
  const openSnapshot = async (
    scope: QueryScope,
    weight: number | undefined,
    plan: ReadPlan,
  ): Promise<OpenContext> => {
    const { key, signal } = scope;
    const turn = await turns.enter(plan, key, signal);
    const reads = turn.isLong ? readers.snapshot(signal) : readers.snapshot(signal, weight);
    return {
      context: contextOver({ reads, longReads: reads, alone: (work) => work() }, scope),
      end: () => {
        reads.end();
        turn.leave();
      },
    };
  };

  return {
    introspect: turns.introspect,
    /**
     * @param weight of the request, see `Admission`; a long one unless given
     * @param plan one statement unless given
     */
    openQuery: (scope: QueryScope, weight?: number, plan?: ReadPlan): MaybePromise<OpenContext> => {
      if (plan?.several) return openSnapshot(scope, weight, plan);
      const { signal } = scope;
      const [reads, longReads] = [readers.for(signal, weight), readers.for(signal)];
      const alone: RequestReads["alone"] = (work) => turns.alone(work, signal);
      return { context: contextOver({ reads, longReads, alone }, scope), end: () => undefined };
    },
    /** The context of a subscription, for as long as it lasts: all of them read together, so none sees labels. */
    ofSubscription: (subscriber: Omit<Subscriber, "watcher">): GraphContext =>
      contextOver(
        { reads: lookUps, longReads: lookUps, alone: (work) => work() },
        { subscriber: { ...subscriber, watcher } },
      ),
  };
};

const undeclared = (): never => {
  throw new Error("the field declares no pipelines in `reads`, so it has no statements");
};

/** What a field without declared pipelines reads with. */
const UNDECLARED: GuardedReads = {
  sql: { unsafe: async () => undeclared() },
  committed: async () => undeclared(),
  at: undeclared,
  ofCoin: undeclared,
  upToHolds: undeclared,
  allowsStale: false,
};
