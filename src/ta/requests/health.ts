/** Open requests of the transfer agent, for `/health` and `/metrics` of any process. */
import { Counter, type Registry } from "prom-client";
import type { Db } from "../../database/connect.ts";
import type { Health, HealthDetail } from "../../http/health/health.ts";
import { healthGauge, registered } from "../../http/metrics.ts";
import type { Assets } from "../../settings/assets.ts";
import { type Deadline, withinDeadline } from "../../waiting/deadline.ts";
import { FAILURE_REASONS } from "./failure-reasons.ts";
import { endedRequests, type OpenRequests, openRequests } from "./figures.ts";

/** A request open for longer is reported: most take seconds. */
const LONG_SECONDS = 60;

type AssetRequests = Omit<OpenRequests, "oldestLane"> & {
  /** Lane of the oldest request, as in logs, when it has waited for over a minute. */
  readonly waitingLane: string | null;
};

type TaDetails = { readonly transferAgent: readonly AssetRequests[] };

/** Always "ok": a request's duration depends on its ledger's finality and its signer. */
export const taDetails = ({ db, assets }: { readonly db: Db; readonly assets: () => Assets }) => {
  return async (): Promise<HealthDetail & { readonly members: TaDetails }> => {
    const open = await openRequests(db, namesOf(assets()));
    const transferAgent = open.map(({ oldestLane, ...counted }) => ({
      ...counted,
      waitingLane: (counted.oldestSeconds ?? 0) > LONG_SECONDS ? `${oldestLane}` : null,
    }));
    return { state: "ok", members: { transferAgent } };
  };
};

const namesOf = ({ projects }: Assets): readonly string[] =>
  projects.flatMap(({ tokens }) =>
    tokens.flatMap(({ name, ta }) => (ta === undefined ? [] : [name])),
  );

/** Health needs most of the two seconds that a scrape may take. */
const COUNTED: Deadline = { ms: 300 };

/** Longer than any transaction that ends a request, so that counted ones are committed. */
const LAG_SECONDS = 60;

/** Adds the figures to `/metrics`, and counts requests that end from now on in any process. */
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
    readonly assets: () => Assets;
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
  // One count at a time: concurrent ones would count twice, and pile up while the database is down.
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
      begin();
      // A late count shows at the next scrape.
      await withinDeadline(count(), COUNTED).catch(() => undefined);
    },
  });
  // Start each series at 0: otherwise its first failure is no increase, and an alarm would miss it.
  const begin = () => {
    for (const asset of namesOf(assets())) {
      for (const reason of FAILURE_REASONS) counter.inc({ asset, status: "FAILED", reason }, 0);
    }
  };
  // Sets the starting point.
  count().catch(() => undefined);
};

const isTaDetails = (details: unknown): details is TaDetails =>
  typeof details === "object" && details !== null && "transferAgent" in details;
