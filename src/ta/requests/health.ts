/** Where the transfer agent's requests stand: for `/health` and `/metrics` of any process. */
import { Counter, type Registry } from "prom-client";
import type { Db } from "../../database/connect.ts";
import type { Health, HealthDetail } from "../../http/health/health.ts";
import { healthGauge } from "../../http/health/health-gauge.ts";
import { registered } from "../../http/registered.ts";
import type { Assets } from "../../settings/assets.ts";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { FAILURE_REASONS } from "./failure-reasons.ts";
import { endedRequests, type OpenRequests, openRequests } from "./figures.ts";

/** A request is named that has been open for longer: most take seconds. */
const LONG_SECONDS = 60;

/** The requests of an asset. */
export type AssetRequests = Omit<OpenRequests, "oldest"> & {
  /** Age of the oldest open one; null while none is open. */
  readonly oldestSeconds: number | null;
  /** Its investor's lane, by the number that logs name, when it has waited for longer than a minute. */
  readonly waitingLane: string | null;
};

export type TaDetails = { readonly transferAgent: readonly AssetRequests[] };

/**
 * Members of the answer are `TaDetails`. It never judges: how long a request may take depends on when
 * its ledger is final, and on whether a signer is configured at all.
 */
export const taDetails = ({ db, assets }: { readonly db: Db; readonly assets: Assets }) => {
  const names = namesOf(assets);
  return async (): Promise<HealthDetail & { readonly members: TaDetails }> => {
    const open = await openRequests(db, names);
    const transferAgent = open.map(({ oldest, ...counted }) => ({
      ...counted,
      oldestSeconds: oldest?.ageSeconds ?? null,
      waitingLane: oldest !== null && oldest.ageSeconds > LONG_SECONDS ? `${oldest.lane}` : null,
    }));
    return { state: "ok", members: { transferAgent } };
  };
};

/** Of the assets that requests are taken for. */
const namesOf = ({ projects }: Assets): readonly string[] =>
  projects.flatMap(({ tokens }) =>
    tokens.flatMap(({ name, ta }) => (ta === undefined ? [] : [name])),
  );

/** Health has most of the two seconds in which figures are answered. */
const COUNTED: Deadline = { ms: 300 };

/** Longer than any transaction that ends a request: what it counts is committed by then. */
const LAG_SECONDS = 60;

/** Adds figures of the same to `/metrics`, and counts what ends from now on, whichever process ends it. */
export const taMetrics = (
  registry: Registry,
  {
    health,
    db,
    assets,
    lagSeconds = LAG_SECONDS,
  }: {
    readonly health: Health;
    readonly db: Db;
    readonly assets: Assets;
    readonly lagSeconds?: number;
  },
): void => {
  const gauge = healthGauge(registry, health, isTaDetails);
  gauge("holderbook_ta_requests_open", ({ transferAgent }, set) => {
    for (const { asset, queued, pending } of transferAgent) {
      set({ asset, status: "QUEUED" }, queued);
      set({ asset, status: "PENDING" }, pending);
    }
  });
  gauge("holderbook_ta_oldest_open_request_seconds", ({ transferAgent }, set) => {
    for (const { asset, oldestSeconds } of transferAgent) set({ asset }, oldestSeconds ?? 0);
  });

  let since: string | null = null;
  const counted = async () => {
    const { until, ended } = await endedRequests(db, since, lagSeconds);
    since = until;
    for (const { asset, status, reason, requests } of ended) {
      counter.inc({ asset, status, reason: reason ?? "" }, requests);
    }
  };
  let counting: Promise<void> | undefined;
  // One at a time: two at once would both count the same, and many would wait for a database that is away.
  const count = () => {
    counting ??= counted().finally(() => {
      counting = undefined;
    });
    return counting;
  };
  const counter = new Counter({
    ...registered("holderbook_ta_requests_ended_total"),
    registers: [registry],
    async collect() {
      // One that is late is counted when it is there, and shown the next time.
      await withinDeadline(count(), COUNTED).catch(() => undefined);
    },
  });
  // A series that begins at its first failure has no increase: an alarm would miss that one.
  for (const asset of namesOf(assets)) {
    for (const reason of FAILURE_REASONS) counter.inc({ asset, status: "FAILED", reason }, 0);
  }
  // Where it begins.
  count().catch(() => undefined);
};

const isTaDetails = (details: unknown): details is TaDetails =>
  typeof details === "object" && details !== null && "transferAgent" in details;
