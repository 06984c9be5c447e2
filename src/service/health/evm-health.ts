/** Progress of EVM chains, their records and callbacks, for `/health` of any process. */
import type { Registry } from "prom-client";
import { type CallbackFigures, callbackFigures } from "../../callbacks/figures.ts";
import type { Db } from "../../database/connect.ts";
import { type AgedChainNote, chainNotes } from "../../evm/log/chain-notes.ts";
import { type ChainLog, chainLogs, nextBlocks } from "../../evm/log/progress.ts";
import type { EndpointHealth } from "../../evm/rpc/endpoint-health.ts";
import { type Health, type HealthDetail, restOf, worst } from "../../http/health/health.ts";
import type { Judgement } from "../../http/health/report.ts";
import { createStallWatch, STALL_AFTER_MS } from "../../http/health/stall-watch.ts";
import { healthGauge } from "../../http/metrics.ts";
import { activePauses } from "../../pauses/pauses.ts";
import type { EvmToken } from "../../settings/assets.ts";
import { type Hold, holdsOf } from "../../transfers/holds.ts";
import { recordsProgress } from "../../transfers/progress.ts";
import { type Project, TRANSFER_EVENTS } from "../../transfers/projects.ts";
import { lowest } from "../../values/bigints.ts";
import { type ChainReading, type EvmReading, recordsKey } from "./snapshot.ts";

/** A chain; block numbers are decimal, null before the first read. */
type ChainHealth = Judgement & {
  readonly chainId: number;
  readonly network: string;
  readonly headBlock: string | null;
  readonly finalBlock: string | null;
  /** Next block of the token furthest behind. */
  readonly nextBlock: string | null;
  /** Age of the newest known block; null before the first. */
  readonly headAgeSeconds: number | null;
  /** Replaced final blocks; null while there are none. */
  readonly finalReplaced: {
    readonly times: number;
    /** Newest surviving block and time (ISO 8601) of the last replacement. */
    readonly toBlock: string;
    readonly at: string;
  } | null;
  /** In order of preference; empty while no process reads the chain. */
  readonly endpoints: readonly EndpointHealth[];
  /** For an operator to check; never a reason to be stalled. */
  readonly warnings: readonly string[];
};

type RecordsHealth = Judgement & {
  readonly project: string;
  readonly chainId: number;
  readonly nextBlock: string | null;
  readonly lagBlocks: string | null;
  /** Callbacks of records up to this block are enqueued. */
  readonly notifiedBlock: string | null;
  /** Since when an operator pauses these records, ISO 8601; absent while none does. */
  readonly pausedSince?: string;
  /** Tokens in quarantine, of any number; absent without. They change no state. */
  readonly quarantined?: { readonly tokens: number; readonly first: readonly QuarantinedToken[] };
};

type QuarantinedToken = {
  /** As the assets file names it. */
  readonly name: string;
  readonly address: string;
  /** First block whose records of the token are missing, decimal. */
  readonly block: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

/** Tokens in quarantine that a scope lists. */
const MOST_LISTED = 10;

type EvmDetails = {
  readonly evm: {
    readonly chains: readonly ChainHealth[];
    readonly transferEvents: readonly RecordsHealth[];
  };
  readonly callbacks: CallbackFigures;
};

type Watched = {
  readonly db: Db;
  readonly projects: readonly Project[];
  /** What the process that reads the chains knows, if it is this one or reports to this one. */
  readonly local?: ((nowMs: number) => EvmReading) | undefined;
};

export const evmDetails = ({ db, projects, local }: Watched) => {
  const watch = createStallWatch(undefined, "block");
  const tokens = projects.flatMap((project) => project.tokens);
  const chainIds = [...new Set(tokens.map(({ chainId }) => chainId))];
  const scopes = projects.flatMap((project) =>
    [...new Set(project.tokens.map(({ chainId }) => chainId))].map((chainId) => ({
      project: project.name,
      chainId,
      tokens: project.tokens.filter((token) => token.chainId === chainId),
    })),
  );

  const chainHealth = (
    chainId: number,
    row: ChainLog | undefined,
    next: bigint | null,
    { local: here, note }: ChainSources,
    nowMs: number,
  ): ChainHealth => {
    const own = tokens.filter((token) => token.chainId === chainId);
    const known = reads(here) ? here : currentNote(note);
    const trouble = known?.trouble;
    const head = row?.headBlock ?? null;
    const afterHead = head === null ? null : head + 1n;
    // While the RPC fails the head is unknown: assume work.
    const goal = trouble === undefined ? afterHead : (afterHead ?? 0n) + 1n;
    const sinceHead =
      row?.headTimestamp == null ? null : Math.floor(nowMs / 1_000 - Number(row.headTimestamp));
    const headAgeSeconds = sinceHead === null ? null : Math.max(0, sinceHead);
    const replaced = row?.finalReplaced ?? null;
    return {
      chainId,
      network: own[0]?.network ?? "",
      headBlock: head?.toString() ?? null,
      finalBlock: row === undefined || row.finalBlock < 0n ? null : `${row.finalBlock}`,
      nextBlock: next?.toString() ?? null,
      headAgeSeconds,
      finalReplaced: replaced && { ...replaced, toBlock: `${replaced.toBlock}` },
      endpoints: known?.endpoints ?? [],
      warnings: [
        ...(row?.headBlock == null ? [NEVER_READ] : missingReader(known, note)),
        ...oldHead(own[0]?.finality, headAgeSeconds),
        ...headAhead(sinceHead),
        ...own.flatMap(({ address }) => known?.doubts.get(address) ?? []),
      ],
      ...watch.judge({ name: `chain ${chainId}`, next, goal, trouble }, nowMs),
    };
  };

  return async (nowMs: number): Promise<HealthDetail & { readonly members: EvmDetails }> => {
    const [chains, notes, nextOf, records, callbacks, holds, pauses] = await Promise.all([
      chainLogs(db, chainIds),
      chainNotes(db, chainIds),
      nextBlocks(db, tokens),
      recordsProgress(
        db,
        projects.map(({ name }) => name),
      ),
      callbackFigures(db),
      holdsOf(db),
      activePauses(db),
    ]);
    const paused = pauses.find(({ kind, name }) => kind === "pipeline" && name === TRANSFER_EVENTS);
    const pausedSince = paused?.since ?? null;
    /** Next block of the token furthest behind; null if one was never read. */
    const nextOfAll = (some: readonly EvmToken[]): bigint | null => {
      const found = some.map(nextOf);
      const [first, ...others] = found.filter((next) => next !== undefined);
      if (first === undefined || others.length + 1 < some.length) return null;
      return lowest(first, ...others);
    };
    const here = local?.(nowMs);
    const read = chainIds.map((chainId) => {
      const row = chains.find((each) => each.chainId === chainId);
      const own = tokens.filter((token) => token.chainId === chainId);
      const sources = { local: here?.chains.get(chainId), note: notes.get(chainId) };
      return chainHealth(chainId, row, nextOfAll(own), sources, nowMs);
    });
    const made = scopes.map(({ project, chainId, tokens: own }): RecordsHealth => {
      const row = records.find((each) => each.project === project && each.chainId === chainId);
      const trouble = here?.records.get(recordsKey(project, chainId));
      const next = row?.nextBlock ?? null;
      const goal = nextOfAll(own);
      return {
        project,
        chainId,
        nextBlock: next?.toString() ?? null,
        lagBlocks: next === null || goal === null ? null : `${goal > next ? goal - next : 0n}`,
        notifiedBlock: row === undefined || row.notifiedBlock < 0n ? null : `${row.notifiedBlock}`,
        ...quarantinedOf(
          holds.filter((hold) => hold.project === project && hold.chainId === chainId),
          own,
        ),
        ...(pausedSince !== null && { pausedSince }),
        ...watch.judge(
          {
            ...{ name: `records ${project} ${chainId}`, next, goal, trouble },
            doing: restOf({ pausedSince }, nowMs),
          },
          nowMs,
        ),
      };
    });
    const states = [...read, ...made].map(({ state }) => state);
    return {
      state: worst(states),
      members: { evm: { chains: read, transferEvents: made }, callbacks },
    };
  };
};

const quarantinedOf = (holds: readonly Hold[], tokens: readonly EvmToken[]) =>
  holds.length > 0 && {
    quarantined: {
      tokens: holds.length,
      first: holds.slice(0, MOST_LISTED).map(({ token, block, reason, since }) => ({
        name: tokens.find(({ address }) => address === token)?.name ?? token,
        address: token,
        block: `${block}`,
        reason,
        since,
      })),
    },
  };

type ChainSources = {
  readonly local: ChainReading | undefined;
  readonly note: AgedChainNote | undefined;
};

/** Whether this process reads; a standby has asked no endpoint. */
const reads = (here: ChainReading | undefined): boolean =>
  here?.trouble !== undefined || (here?.endpoints.some(({ state }) => state !== "unused") ?? false);

/** A note that still holds: recent, or of a reader that gave up. */
const currentNote = (note: AgedChainNote | undefined): ChainReading | undefined =>
  note !== undefined && (note.trouble?.gaveUp || note.noteAgeMs < STALL_AFTER_MS)
    ? note
    : undefined;

const missingReader = (
  known: ChainReading | undefined,
  note: AgedChainNote | undefined,
): readonly string[] =>
  known !== undefined || note === undefined
    ? []
    : [`not read for ${Math.floor(note.noteAgeMs / 1_000)} s: no process reads it (start, index)`];

const NEVER_READ =
  "never read: either no process reads it (start, index), or its RPC does not answer";

/** Behind `safe` and `finalized` validators vote in rounds, so blocks come even when empty. */
const OLD_VOTED_HEAD_SECONDS = 600;

/** Other chains may only make blocks for transactions. */
const OLD_HEAD_SECONDS = 3_600;

const oldHead = (
  finality: EvmToken["finality"] | undefined,
  ageSeconds: number | null,
): readonly string[] => {
  const voted = finality === "safe" || finality === "finalized";
  if (ageSeconds === null || ageSeconds < (voted ? OLD_VOTED_HEAD_SECONDS : OLD_HEAD_SECONDS)) {
    return [];
  }
  return [`no block for ${ageSeconds} s: either the chain is quiet, or its RPC is stuck`];
};

/** Most chains refuse blocks some seconds ahead; roll-ups allow their sequencer up to an hour. */
const HEAD_AHEAD_SECONDS = 3_600;

/** A warning, no error: a development chain's clock is set at will. */
const headAhead = (sinceHead: number | null): readonly string[] =>
  sinceHead === null || -sinceHead <= HEAD_AHEAD_SECONDS
    ? []
    : [
        `the newest block is ${-sinceHead} s ahead of this machine's clock: either this clock or the chain's is wrong, or its RPC is`,
      ];

/** Adds the same figures to `/metrics`. */
export const evmGauges = (registry: Registry, health: Health): void => {
  const gauge = healthGauge(registry, health, isEvmDetails);
  const chainGauge = (name: OfChain, of: (chain: ChainHealth) => string | null) =>
    gauge(name, ({ evm }, set) => {
      for (const chain of evm.chains) {
        const value = of(chain);
        if (value !== null) {
          set({ chain: `${chain.chainId}`, network: chain.network }, Number(value));
        }
      }
    });
  chainGauge("holderbook_evm_head_block", (chain) => chain.headBlock);
  chainGauge("holderbook_evm_next_block", (chain) => chain.nextBlock);
  chainGauge("holderbook_evm_final_block", (chain) => chain.finalBlock);
  chainGauge("holderbook_evm_stalled", ({ state }) => (state === "stalled" ? "1" : "0"));
  chainGauge(
    "holderbook_evm_final_blocks_replaced",
    ({ finalReplaced }) => `${finalReplaced?.times ?? 0}`,
  );
  chainGauge("holderbook_evm_warnings", ({ warnings }) => `${warnings.length}`);
  gauge("holderbook_evm_endpoint_usable", ({ evm }, set) => {
    for (const { chainId, network, endpoints } of evm.chains) {
      for (const { endpoint, state } of endpoints) {
        const usable = state === "good" || state === "unused";
        set({ chain: `${chainId}`, network, endpoint }, Number(usable));
      }
    }
  });
  gauge("holderbook_transfer_events_lag_blocks", ({ evm }, set) => {
    for (const { project, chainId, lagBlocks } of evm.transferEvents) {
      if (lagBlocks !== null) set({ project, chain: `${chainId}` }, Number(lagBlocks));
    }
  });
  gauge("holderbook_evm_quarantined_tokens", ({ evm }, set) => {
    for (const { project, chainId, quarantined } of evm.transferEvents) {
      set({ project, chain: `${chainId}` }, quarantined?.tokens ?? 0);
    }
  });
  gauge("holderbook_evm_quarantined_seconds", ({ evm }, set) => {
    for (const { project, chainId, quarantined } of evm.transferEvents) {
      for (const { name: token, since } of quarantined?.first ?? []) {
        const labels = { project, chain: `${chainId}`, token };
        set(labels, (Date.now() - Date.parse(since)) / 1_000);
      }
    }
  });
  const figure = (name: OfCallbacks, of: (figures: CallbackFigures) => number) =>
    gauge(name, ({ callbacks }, set) => set({}, of(callbacks)));
  figure("holderbook_callbacks_pending", ({ pending }) => pending);
  figure("holderbook_callbacks_oldest_pending_seconds", (f) => f.oldestPendingSeconds);
  figure("holderbook_callback_endpoints_failing", (f) => f.failing.length);
  figure("holderbook_callback_endpoints_disabled", (f) => f.disabled.length);
};

type OfChain =
  `holderbook_evm_${"head_block" | "next_block" | "final_block" | "stalled" | "final_blocks_replaced" | "warnings"}`;

type OfCallbacks =
  | `holderbook_callbacks_${"pending" | "oldest_pending_seconds"}`
  | `holderbook_callback_endpoints_${"failing" | "disabled"}`;

const isEvmDetails = (details: unknown): details is EvmDetails =>
  typeof details === "object" && details !== null && "evm" in details && "callbacks" in details;
