import { expect, test } from "vitest";
import { showMetrics } from "../../src/http/metrics-port.ts";
import { createFigures } from "../../src/telemetry/figures.ts";
import { watchProcess } from "../../src/telemetry/process-figures.ts";

test("a process without interfaces exposes its metrics, and nothing else, on its own port", async () => {
  const figures = createFigures();
  using _watched = watchProcess(figures, { process: "indexing", dataDir: import.meta.dirname });
  figures.count("holderbook_reader_facts_total", {}, 12);
  await using shown = await showMetrics(figures, { host: "127.0.0.1", port: 0 });
  const ask = (path: string, method = "GET") =>
    fetch(`http://127.0.0.1:${shown.port}${path}`, { method });
  const text = async () => (await ask("/metrics")).text();
  expect(await text()).toContain("\nholderbook_reader_facts_total 12\n");
  await expect.poll(text).toMatch(/\nholderbook_data_disk_free_bytes [1-9]/);
  await expect
    .poll(text)
    .toMatch(/holderbook_event_loop_lag_seconds_count\{process="indexing"\} [1-9]/);
  expect((await ask("/metrics")).headers.get("x-content-type-options")).toBe("nosniff");
  for (const [path, method] of [
    ["/", "GET"],
    ["/health", "GET"],
    ["/metrics", "POST"],
  ] as const) {
    expect((await ask(path, method)).status).toBe(404);
  }
});
