/** How far EVM chains, their records and callbacks are: for `/health` and `/metrics` of any process. */
import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import { type CallbackFigures, callbackFigures } from "../callbacks/figures.ts";
import { bigints, texts } from "../database/column-arrays.ts";
import type { Db } from "../database/connect.ts";
import type { Health, HealthDetail } from "../http/health.ts";
import { createStallWatch, type Judgement, type State } from "../http/stall-watch.ts";
import type { Project } from "../rest/projects.ts";
import type { EvmService } from "./evm.ts";

/** A chain; block numbers are decimal, null before it was first read. */
export type ChainHealth = Judgement & {
  readonly chainId: number;
  readonly network: string;
  readonly headBlock: string | null;
  readonly finalBlock: string | null;
  /** Next block to read, of the token that is furthest behind. */
  readonly nextBlock: string | null;
  /** Of the newest block that is known; null before the first. */
  readonly headAgeSeconds: number | null;
};

/** The records of a project on a chain. */
export type RecordsHealth = Judgement & {
  readonly project: string;
  readonly chainId: number;
  readonly nextBlock: string | null;
  readonly lagBlocks: string | null;
  /** Callbacks of records up to this block are enqueued. */
  readonly notifiedBlock: string | null;
};

export type EvmDetails = {
  readonly evm: {
    readonly chains: readonly ChainHealth[];
    readonly transferEvents: readonly RecordsHealth[];
  };
  readonly callbacks: CallbackFigures;
};

type Watched = {
  readonly db: Db;
  readonly projects: readonly Project[];
  /** What this process knows, when it reads the chains. */
  readonly local?: EvmService | undefined;
};

type Row = {
  readonly chain_id: bigint;
  readonly head_block: bigint | null;
  readonly head_timestamp: bigint | null;
  readonly final_block: bigint;
  readonly next_block: bigint | null;
};

/** Watches from now on; the members of the answer are `EvmDetails`. */
export const evmDetails = ({ db, projects, local }: Watched) => {
  const watch = createStallWatch();
  const tokens = projects.flatMap((project) => project.tokens);
  const networks = new Map(tokens.map(({ chainId, network }) => [chainId, network]));
  const scopes = projects.flatMap((project) =>
    [...new Set(project.tokens.map(({ chainId }) => chainId))].map((chainId) => ({
      project: project.name,
      chainId,
    })),
  );
  const chainIds = bigints([...networks.keys()]);

  const chainHealth = (chainId: number, row: Row | undefined, nowMs: number): ChainHealth => {
    const trouble = local?.troubles.get(chainId);
    const next = row?.next_block ?? null;
    const head = row?.head_block ?? null;
    const known = head === null ? null : head + 1n;
    // While the RPC fails nobody hears of a new head: there is work as long as it does.
    const goal = trouble === undefined ? known : (known ?? 0n) + 1n;
    return {
      chainId,
      network: networks.get(chainId) ?? "",
      headBlock: head?.toString() ?? null,
      finalBlock: row === undefined || row.final_block < 0n ? null : `${row.final_block}`,
      nextBlock: next?.toString() ?? null,
      headAgeSeconds:
        row?.head_timestamp == null
          ? null
          : Math.max(0, Math.floor(nowMs / 1_000 - Number(row.head_timestamp))),
      ...watch.judge({ name: `chain ${chainId}`, next, goal, trouble }, nowMs),
    };
  };

  return async (nowMs: number): Promise<HealthDetail & { readonly members: EvmDetails }> => {
    const [chains, progress, callbacks] = await Promise.all([
      db.sql<Row[]>`
        select c.chain_id, head_block, head_timestamp, final_block,
               (select min(next_block) from evm_tokens t where t.chain_id = c.chain_id) as next_block
        from evm_chains c where c.chain_id = any(${chainIds}::int8[])`,
      db.sql<{ project: string; chain_id: bigint; next_block: bigint; notified_block: bigint }[]>`
        select p.project, p.chain_id, p.next_block, p.notified_block
        from transfer_event_progress p
        where p.project = any(${texts(scopes.map(({ project }) => project))}::text[])`,
      callbackFigures(db),
    ]);
    const chainOf = (chainId: number) => chains.find((row) => Number(row.chain_id) === chainId);
    const read = [...networks.keys()].map((chainId) =>
      chainHealth(chainId, chainOf(chainId), nowMs),
    );
    const made = scopes.map(({ project, chainId }): RecordsHealth => {
      const row = progress.find(
        (each) => each.project === project && Number(each.chain_id) === chainId,
      );
      const status = local?.statuses.get(`${project} ${chainId}`);
      const trouble =
        status?.reason == null
          ? undefined
          : { gaveUp: status.state === "stopped", reason: status.reason };
      const next = row?.next_block ?? null;
      const goal = chainOf(chainId)?.next_block ?? null;
      return {
        project,
        chainId,
        nextBlock: next?.toString() ?? null,
        lagBlocks: next === null || goal === null ? null : `${goal > next ? goal - next : 0n}`,
        notifiedBlock:
          row === undefined || row.notified_block < 0n ? null : `${row.notified_block}`,
        ...watch.judge({ name: `records ${project} ${chainId}`, next, goal, trouble }, nowMs),
      };
    });
    const states = [...read, ...made].map(({ state }) => state);
    return {
      state: worst(states),
      members: { evm: { chains: read, transferEvents: made }, callbacks },
    };
  };
};

const worst = (states: readonly State[]): State =>
  states.find((state) => state === "stalled") ??
  states.find((state) => state === "catching_up") ??
  "ok";

/** Adds gauges of the same to `/metrics`. */
export const evmGauges = (registry: Registry, health: Health): void => {
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    show: (
      details: EvmDetails,
      set: (labels: Record<Label, string>, value: number) => void,
    ) => void,
  ) =>
    new Gauge({
      name: `holderbook_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        const report = await health.report().catch(() => undefined);
        const details = report?.details;
        if (!isEvmDetails(details)) return;
        show(details, (labels, value) => this.set(labels, value));
      },
    });
  const chainGauge = (name: string, help: string, of: (chain: ChainHealth) => string | null) =>
    gauge(name, help, ["chain", "network"], ({ evm }, set) => {
      for (const chain of evm.chains) {
        const value = of(chain);
        if (value !== null) {
          set({ chain: `${chain.chainId}`, network: chain.network }, Number(value));
        }
      }
    });
  chainGauge("evm_head_block", "Newest block known of an EVM chain", (chain) => chain.headBlock);
  chainGauge("evm_next_block", "Next block of an EVM chain to read", (chain) => chain.nextBlock);
  chainGauge("evm_final_block", "Newest final block of an EVM chain", (chain) => chain.finalBlock);
  chainGauge("evm_stalled", "1 while an EVM chain should be read and is not", ({ state }) =>
    state === "stalled" ? "1" : "0",
  );
  gauge(
    "transfer_events_lag_blocks",
    "Blocks read whose transfer events are not made yet",
    ["project", "chain"],
    ({ evm }, set) => {
      for (const { project, chainId, lagBlocks } of evm.transferEvents) {
        if (lagBlocks !== null) set({ project, chain: `${chainId}` }, Number(lagBlocks));
      }
    },
  );
  const figure = (name: string, help: string, of: (figures: CallbackFigures) => number) =>
    gauge(name, help, [], ({ callbacks }, set) => set({}, of(callbacks)));
  figure("callbacks_pending", "Callbacks neither delivered nor given up", ({ pending }) => pending);
  figure(
    "callbacks_oldest_pending_seconds",
    "Age of the oldest of them",
    (figures) => figures.oldestPendingSeconds,
  );
  figure("callback_endpoints_failing", "Addresses that keep failing", (f) => f.failing.length);
  figure("callback_endpoints_disabled", "Addresses that are disabled", (f) => f.disabled.length);
};

const isEvmDetails = (details: unknown): details is EvmDetails =>
  typeof details === "object" && details !== null && "evm" in details && "callbacks" in details;
