/** Gauges of `/metrics` that show what `/health` tells in its details, so that both say the same. */
import { Gauge, type Registry } from "prom-client";
import type { Health } from "./health.ts";

/** Adds one gauge `holderbook_<name>`; `show` is called with the details each time it is asked for. */
export type AddGauge<Details> = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[],
  show: (details: Details, set: (labels: Record<Label, string>, value: number) => void) => void,
) => Gauge<Label>;

/** For details of one kind; while health has none of it, or cannot be told, the gauges are empty. */
export const healthGauge =
  <Details>(
    registry: Registry,
    health: Health,
    isOurs: (details: unknown) => details is Details,
  ): AddGauge<Details> =>
  (name, help, labelNames, show) =>
    new Gauge({
      name: `holderbook_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        const details = (await health.report().catch(() => undefined))?.details;
        if (isOurs(details)) show(details, (labels, value) => this.set(labels, value));
      },
    });
