/** What `/metrics` shows of subscriptions. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { OpenStreams } from "./open-streams.ts";

export const streamGauges = (registry: Registry, streams: OpenStreams): void => {
  const registers = [registry];
  new Gauge({
    name: "holderbook_graphql_streams_open",
    help: "Subscriptions that are open",
    registers,
    collect() {
      this.set(streams.size);
    },
  });
  new Gauge({
    name: "holderbook_graphql_streams_untaken_bytes",
    help: "Bytes of subscriptions that were written and not yet taken by their callers",
    registers,
    collect() {
      this.set(streams.untakenBytes);
    },
  });
  new Counter({
    name: "holderbook_graphql_streams_cut_total",
    help: "Subscriptions that were cut because their callers did not read them in time",
    registers,
    collect() {
      this.reset();
      this.inc(streams.cuts);
    },
  });
};
