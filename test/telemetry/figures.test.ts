import { expect, test } from "vitest";
import { exposition } from "../../src/telemetry/exposition.ts";
import { createFigures } from "../../src/telemetry/figures.ts";
import { batchSampler } from "../../src/telemetry/sampling.ts";
import { batchTrace, requestTrace } from "../../src/telemetry/tracing.ts";

test("figures become Prometheus text: counters, gauges, and histograms with all their buckets", () => {
  const figures = createFigures();
  figures.count("holderbook_reader_facts_total", {}, 3);
  figures.count("holderbook_reader_facts_total", {}, 4);
  figures.set("holderbook_lanes_working", { queue: 'a "b"\\\nc' }, 2);
  for (const seconds of [0.001, 0.002, 0.3, 11]) {
    figures.observe("holderbook_pipeline_batch_seconds", { pipeline: "p" }, seconds);
  }
  const text = exposition(figures.look());
  expect(text).toContain("# TYPE holderbook_reader_facts_total counter\n");
  expect(text).toContain("\nholderbook_reader_facts_total 7\n");
  expect(text).toContain('\nholderbook_lanes_working{queue="a \\"b\\"\\\\\\nc"} 2\n');
  const buckets = [...text.matchAll(/_bucket\{pipeline="p",le="([^"]+)"\} (\d+)/g)];
  expect(buckets.map(([, bound, count]) => `${bound}: ${count}`)).toEqual([
    ...["0.001: 1", "0.0025: 2", "0.005: 2", "0.01: 2", "0.025: 2", "0.05: 2", "0.1: 2"],
    ...["0.25: 2", "0.5: 3", "1: 3", "2.5: 3", "5: 3", "10: 3", "+Inf: 4"],
  ]);
  expect(text).toContain('_sum{pipeline="p"} 11.303\n');
  expect(text).toContain('_count{pipeline="p"} 4\n');
});

test("a counter starts visible at 0, and a snapshot does not change later", () => {
  const figures = createFigures();
  figures.begin("holderbook_reader_retries_total", {});
  const before = figures.look();
  figures.count("holderbook_reader_retries_total", {});
  expect(exposition(before)).toContain("\nholderbook_reader_retries_total 0\n");
  expect(exposition(figures.look())).toContain("\nholderbook_reader_retries_total 1\n");
});

test("the figures of two processes become one text, with equal series added up", () => {
  const [one, other] = [createFigures(), createFigures()];
  one.count("holderbook_lane_troubles_total", { queue: "callbacks" }, 2);
  other.count("holderbook_lane_troubles_total", { queue: "callbacks" }, 3);
  other.observe("holderbook_reader_append_seconds", {}, 1);
  const text = exposition(one.look(), other.look(), [
    { name: "holderbook_of_another_version_total", labels: [], values: [1] },
  ]);
  expect(text).toContain('holderbook_lane_troubles_total{queue="callbacks"} 5\n');
  expect(text).toContain("holderbook_reader_append_seconds_count 1\n");
  expect(text.match(/# TYPE/g)).toHaveLength(2);
  expect(text).not.toContain("another_version");
});

test("an unbounded label does not exhaust memory: further values share one series", () => {
  const figures = createFigures();
  for (let each = 0; each < 5_000; each += 1) {
    figures.count("holderbook_source_errors_total", { error: `Error${each}` });
  }
  const series = figures.look();
  expect(series).toHaveLength(501);
  const counted = series.reduce((sum, { values }) => sum + (values[0] ?? 0), 0);
  expect(counted).toBe(5_000);
  expect(exposition(series)).toContain('{error="other"} 4500\n');
});

test("at the chain's end every batch is traced, far from it one in ten seconds", () => {
  let now = 1_000_000_000;
  const isSampled = batchSampler(() => now);
  const fresh = Array.from({ length: 15 }, () => isSampled(BigInt(now)));
  expect(fresh).toEqual(fresh.map(() => true));
  // Whatever the chain does, twenty a second.
  const flood = Array.from({ length: 100 }, () => isSampled(BigInt(now)));
  expect(flood.filter(Boolean)).toHaveLength(5);
  const old = BigInt(now - 3_600_000);
  let traced = 0;
  for (let ms = 0; ms < 60_000; ms += 100) {
    now += 100;
    if (isSampled(old)) traced += 1;
  }
  expect(traced).toBe(6);
});

test("trace ids derive from their subject, and are unique to it", () => {
  const id = "6f1c0d3e-0000-4000-8000-000000000001";
  expect(requestTrace(id)).toEqual(requestTrace(id));
  expect(requestTrace(id).traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(requestTrace(id).rootId).toMatch(/^[0-9a-f]{16}$/);
  expect(batchTrace(id)).not.toEqual(requestTrace(id));
});
