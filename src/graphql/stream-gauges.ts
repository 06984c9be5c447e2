/** What `/metrics` shows of subscriptions. */
import { Counter, Gauge, type Registry } from "prom-client";
import { registered } from "../http/registered.ts";
import type { OpenStreams } from "./open-streams.ts";

export const streamGauges = (registry: Registry, streams: OpenStreams): void => {
  const registers = [registry];
  new Gauge({
    ...registered("holderbook_graphql_streams_open"),
    registers,
    collect() {
      this.set(streams.size);
    },
  });
  new Gauge({
    ...registered("holderbook_graphql_streams_untaken_bytes"),
    registers,
    collect() {
      this.set(streams.untakenBytes);
    },
  });
  new Counter({
    ...registered("holderbook_graphql_streams_cut_total"),
    registers,
    collect() {
      this.reset();
      this.inc(streams.cuts);
    },
  });
};
