/** What operators paused, for `/health` and `/metrics` of any process. */
import type { Registry } from "prom-client";
import type { Db } from "../../database/connect.ts";
import type { Health, HealthDetail } from "../../http/health/health.ts";
import { healthGauge } from "../../http/metrics.ts";
import { activePauses, type Pause } from "../../pauses/pauses.ts";

/** Without the operators' words. */
type PauseDetails = { readonly paused: readonly Pick<Pause, "kind" | "name" | "since">[] };

/** A pause is no fault: it changes no state. */
export const pauseDetails =
  ({ db }: { readonly db: Db }) =>
  async (): Promise<HealthDetail & { readonly members: PauseDetails }> => {
    const pauses = await activePauses(db);
    return {
      state: "ok",
      members: { paused: pauses.map(({ kind, name, since }) => ({ kind, name, since })) },
      notes: pauses.map(({ kind, name, since }) => ({
        reason: `${kind} ${name} is paused by an operator`,
        since,
      })),
    };
  };

export const pauseGauges = (registry: Registry, health: Health): void => {
  const gauge = healthGauge(registry, health, isPauseDetails);
  gauge("holderbook_paused", ({ paused }, set) => {
    for (const { kind, name } of paused) set({ kind, name }, 1);
  });
};

const isPauseDetails = (details: unknown): details is PauseDetails =>
  typeof details === "object" && details !== null && "paused" in details;
