/** Gauges of `/metrics` that show what `/health` tells in its details, so that both say the same. */
import { Gauge, type Registry } from "prom-client";
import type { GaugeName, LabelsOf } from "../../telemetry/catalogue.ts";
import { emptied, registered } from "../registered.ts";
import type { Health } from "./health.ts";

/** Adds a gauge of the catalogue; `show` is called with the details each time it is asked for. */
export type AddGauge<Details> = <Name extends GaugeName>(
  name: Name,
  show: (details: Details, set: (labels: LabelsOf<Name>, value: number) => void) => void,
) => void;

/** For details of one kind; while health has none of it the gauges are empty. */
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
