/** Results of the integrity checks, for `/health` and `/metrics` of any process. */
import type { Registry } from "prom-client";
import { readWatchResults, type WatchResults } from "../../audit/watch/results.ts";
import type { Db } from "../../database/connect.ts";
import type { Health, HealthDetail } from "../../http/health/health.ts";
import { healthGauge } from "../../http/metrics.ts";

/** `integrity` of the health report: `stalled` once stored data proves false. */
type IntegrityDetails = {
  readonly integrity: WatchResults & {
    readonly state: "ok" | "stalled";
    /** The fault and its remedy; absent without one. */
    readonly reason?: string;
  };
};

const reasonOf = ({ log, sums, rows, roots }: WatchResults): string | undefined => {
  if (log.fault !== null) {
    return `the log was changed: ${log.fault}; run holderbook verify --log for details, and mend it (--mend) or restore a backup`;
  }
  const [first] = [...sums.findings, ...rows.findings];
  if (first === undefined) {
    const [fault] = roots.faults;
    return fault && `no daily root was signed: ${fault}`;
  }
  return `the register does not add up: ${first}; run holderbook reconcile for details, holderbook rebuild to rebuild it from the log`;
};

export const integrityDetails =
  ({ db }: { readonly db: Db }) =>
  async (): Promise<HealthDetail & { readonly members: IntegrityDetails }> => {
    const results = await readWatchResults(db);
    const reason = reasonOf(results);
    const state = reason === undefined ? "ok" : "stalled";
    const integrity = { state, ...(reason !== undefined && { reason }), ...results } as const;
    return { state, members: { integrity } };
  };

const isIntegrityDetails = (details: unknown): details is IntegrityDetails =>
  typeof details === "object" && details !== null && "integrity" in details;

/** Adds the same results to `/metrics`. */
export const integrityGauges = (registry: Registry, health: Health): void => {
  const gauge = healthGauge(registry, health, isIntegrityDetails);
  const figure = (name: OfIntegrity, of: (results: WatchResults) => number | null) =>
    gauge(name, ({ integrity }, set) => {
      const value = of(integrity);
      if (value !== null) set({}, value);
    });
  const checkpoint = (text: string | null) => (text === null ? null : Number(text));
  figure("holderbook_log_changed", ({ log }) => (log.fault === null ? 0 : 1));
  figure("holderbook_log_proven_checkpoint", ({ log }) => checkpoint(log.provenThrough));
  figure("holderbook_log_chain_checkpoint", ({ log }) => checkpoint(log.chainedThrough));
  figure("holderbook_log_signed_checkpoint", ({ log }) => checkpoint(log.signedThrough));
  figure("holderbook_log_checked_checkpoint", ({ log }) => checkpoint(log.checkedThrough));
  figure("holderbook_log_check_age_seconds", ({ log }) => log.checkedSecondsAgo);
  figure("holderbook_sums_findings", ({ sums }) => sums.findings.length);
  figure("holderbook_sums_age_seconds", ({ sums }) => sums.checkedSecondsAgo);
  figure("holderbook_rows_findings", ({ rows }) => rows.findings.length);
  figure("holderbook_rows_age_seconds", ({ rows }) => rows.checkedSecondsAgo);
  figure("holderbook_daily_roots_age_seconds", ({ roots }) => roots.madeSecondsAgo);
  figure("holderbook_daily_roots_faults", ({ roots }) => roots.faults.length);
};

type OfIntegrity =
  | `holderbook_log_${"changed" | "proven_checkpoint" | "chain_checkpoint" | "signed_checkpoint" | "checked_checkpoint" | "check_age_seconds"}`
  | `holderbook_${"sums" | "rows"}_${"findings" | "age_seconds"}`
  | `holderbook_daily_roots_${"age_seconds" | "faults"}`;
