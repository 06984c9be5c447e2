/** Gauges of `/metrics` taken from the details of `/health`, so that both agree. */
import { Gauge, type Registry } from "prom-client";
import type { GaugeName, LabelsOf } from "../../telemetry/catalogue.ts";
import { emptied, registered } from "../registered.ts";
import type { Health } from "./health.ts";

/** Adds a gauge of the catalogue; `show` runs at each scrape. */
type AddGauge<Details> = <Name extends GaugeName>(
  name: Name,
  show: (details: Details, set: (labels: LabelsOf<Name>, value: number) => void) => void,
) => void;

/** Gauges of one kind of details; empty while health has none. */
export const healthGauge =
  <Details>(
    registry: Registry,
    health: Health,
    isOurs: (details: unknown) => details is Details,
  ): AddGauge<Details> =>
  (name, show) => {
    new Gauge({
      ...registered(name),
      registers: [registry],
      async collect() {
        emptied(this, name);
        const details = (await health.report()).details;
        if (isOurs(details)) show(details, (given, value) => this.set(given, value));
      },
    });
  };
